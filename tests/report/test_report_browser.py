"""The page in a real browser: hostile text is inert, traces open, everybody can read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report_chromium import CHROMIUM, a_browser
from report_json import a_summary, a_task_row
from report_pages import HOSTILE, VARIANTS, a_hostile_page, a_page
from report_records import a_run

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    with a_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages as files."""
    folder = tmp_path_factory.mktemp("pages")
    many = [a_task_row(f"task-{number:03d}", react=8, plan=5) for number in range(250)]
    pages = {
        "ordinary": a_page(list(a_run(5, VARIANTS))),
        "hostile": a_hostile_page(),
        "large": a_page(list(a_run(250, VARIANTS)), tasks=many, summary=a_summary()),
    }
    paths = {}
    for name, html in pages.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(html, encoding="utf-8")
    return paths


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Open]:
    """Open a page; anything that it asks for, says or breaks on fails the test."""
    contexts, faults = [], []

    def opened(name: str, fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        shown = context.new_page()
        url = files[name].as_uri()
        shown.on("request", lambda request: None if request.url.startswith(url) else faults.append(request.url))
        shown.on("console", lambda message: faults.append(message.text))
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.on("dialog", lambda dialog: faults.append(dialog.message))
        shown.goto(url + fragment)
        if options.get("java_script_enabled", True):
            shown.wait_for_selector("#status:not(:empty)")
        return shown

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def count(shown: Any, selector: str, number: int) -> None:
    """Wait until there are so many elements (by selector: the page's policy forbids to evaluate text)."""
    from playwright.sync_api import expect  # noqa: PLC0415  # the browser's fixture has found it

    expect(shown.locator(selector)).to_have_count(number)


def read_first(shown: Any) -> Any:
    """Open the first trace of the list."""
    shown.locator("button.read").first.click()
    shown.wait_for_selector(".story")
    return shown.locator(".story").first


def test_hostile_text_is_shown_and_does_nothing(visit: Open) -> None:
    shown = visit("hostile")
    buttons = shown.locator("button.read")
    assert buttons.count() == len(HOSTILE) + 1
    for place in range(buttons.count()):
        buttons.nth(place).click()
    count(shown, ".story", len(HOSTILE) + 1)
    assert shown.evaluate("window.pwned") is None
    assert shown.locator("img, iframe, object, meta[http-equiv=refresh]").count() == 0
    assert shown.locator("style").count() == 1
    assert shown.locator("h1").is_visible()
    text = shown.locator("body").inner_text()
    assert "<script>window.pwned=1</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "\\u2028\\u2029\\ud800\\x00\\e[2J\\u202e" in text


def test_a_trace_opens_and_tells_the_trial(visit: Open) -> None:
    shown = visit("ordinary")
    story = read_first(shown)
    text = story.inner_text()
    assert re.search(r"task-00\d · (react|plan) · trial \d", text)
    assert "● model" in text
    assert "→ look_up" in text
    assert "grader state: fail" in text
    assert story.locator("li.turn").count() >= 2
    shown.locator("button.read").first.click()
    assert shown.locator(".story").count() == 0


def test_a_failing_and_a_passing_trace_can_be_open_together(visit: Open) -> None:
    shown = visit("ordinary")
    read_first(shown)
    shown.locator("tr:has(td.outcome.passed) button.read").first.click()
    count(shown, ".story", 2)
    assert shown.locator(".story.failed").count() == 1
    assert shown.locator(".story.passed").count() == 1


def test_trials_are_chosen_by_outcome_variant_stop_and_task(visit: Open) -> None:
    shown = visit("ordinary")
    rows = shown.locator("#rows tr")
    shown.select_option("#f-outcome", label="failed")
    failed = rows.count()
    assert failed == shown.locator("#rows td.outcome.failed").count() > 0
    shown.select_option("#f-variant", label="plan")
    assert 0 < rows.count() < failed
    shown.select_option("#f-stop", label="cap:turns")
    assert set(shown.locator("#rows tr td:nth-child(5)").all_inner_texts()) == {"cap:turns"}
    shown.fill("#f-task", "no such task")
    assert rows.count() == 0
    assert shown.locator("#status").inner_text() == "0 of 0 chosen trials shown"
    shown.get_by_role("button", name="Clear").click()
    count(shown, "#rows tr", 40)
    shown.get_by_role("button", name="Show more").click()
    assert rows.count() == 80


def test_a_number_of_the_task_table_leads_to_its_trials_and_an_address_to_a_trace(visit: Open) -> None:
    shown = visit("ordinary")
    link = shown.locator("table.tasks a").first
    link.click()
    count(shown, "#rows tr", 8)
    task = shown.locator("table.tasks tbody th").first.inner_text()
    assert set(shown.locator("#rows th").all_inner_texts()) == {task}
    assert "trials of" in shown.locator("#status").inner_text()
    direct = visit("ordinary", "#trial/0")
    direct.wait_for_selector(".story")
    assert direct.locator(".story.failed").count() == 1


def test_the_keyboard_is_enough(visit: Open) -> None:
    shown = visit("ordinary")
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.textContent") == "Skip to the results"
    shown.locator("button.read").first.focus()
    shown.keyboard.press("Enter")
    shown.wait_for_selector(".story")
    assert shown.evaluate("document.activeElement.className").startswith("story")


def test_without_a_script_everything_but_the_traces_is_there(visit: Open) -> None:
    shown = visit("ordinary", java_script_enabled=False)
    for selector in (".verdict .sentence", "table.headline", "svg.figure-decay", "svg.figure-stops", "table.tasks"):
        assert shown.locator(selector).first.is_visible()
    assert shown.locator("#rows tr").count() == 40
    assert not shown.locator("#filters").is_visible()
    assert "opens the trace" not in shown.locator("#trials .lede").inner_text()
    assert "Without JavaScript" in shown.locator("noscript").inner_text()


@pytest.mark.parametrize("kind", ["ordinary", "hostile"])
def test_a_small_screen_never_scrolls_sideways(visit: Open, kind: str) -> None:
    shown = visit(kind, viewport={"width": 360, "height": 740})
    read_first(shown)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360


CONTRAST = """() => {
  const channel = (part) => { const s = part / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || ["SCRIPT", "NOSCRIPT", "OPTION"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const svg = element.namespaceURI.endsWith("svg");
    if (svg && element.classList.contains("fill-onpart")) continue;
    const pair = [light(numbers(svg ? style.fill : style.color)), light(behind(element))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)} ${element.textContent.slice(0, 30)}`);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(visit: Open, scheme: str) -> None:
    shown = visit("ordinary", color_scheme=scheme)
    read_first(shown)
    assert shown.evaluate(CONTRAST) == []


def test_dark_and_light_are_different_down_to_the_figures(visit: Open) -> None:
    seen = set()
    for scheme in ("light", "dark"):
        shown = visit("ordinary", color_scheme=scheme)
        seen.add(
            shown.evaluate(
                "[getComputedStyle(document.documentElement).backgroundColor,"
                " getComputedStyle(document.querySelector('.figure .line-s0')).stroke].join()"
            )
        )
    assert len(seen) == 2


def test_four_thousand_trials_stay_light(visit: Open, files: dict[str, Path]) -> None:
    shown = visit("large")
    assert files["large"].stat().st_size <= 10_000_000
    assert shown.evaluate("document.querySelectorAll('*').length") <= 5_000
    assert "40 of 4,000 chosen trials shown" in shown.locator("#status").inner_text()
    read_first(shown)


def test_on_paper_there_are_no_controls(visit: Open) -> None:
    shown = visit("ordinary")
    shown.emulate_media(media="print")
    assert not shown.locator("nav").is_visible()
    assert not shown.locator("#filters").is_visible()
    assert shown.locator("table.headline").is_visible()
