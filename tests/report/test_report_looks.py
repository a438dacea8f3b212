"""How pages of unusual runs look in a real browser: nothing cut, covered or empty, one colour a variant, fit for a small screen and for paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_chromium import CHROMIUM, a_browser
from report_json import an_about
from report_pages import a_hostile_page
from report_records import a_run, a_table, bare
from test_report_browser import CONTRAST
from test_report_hindsight import a_whole_page

from evalkit.core.record import Stop, TrialRecord
from evalkit.report.summary import summarise, task_rows

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

Open = Callable[..., Any]

MANY = (*(f"variant-{number}" for number in range(9)), "the-baseline")

PAPER = 688
"""CSS pixels between the margins of a sheet of A4."""


def passed(record: TrialRecord) -> TrialRecord:
    """The same trial, passed."""
    return replace(record, outcome="passed", graded="pass", stop=Stop(reason="finished"), error="")


def broken(record: TrialRecord) -> TrialRecord:
    """The same trial, broken by our own world."""
    return replace(record, outcome="error", graded=None, stop=Stop(reason="error:provider"), error="gone")


def stopped(record: TrialRecord) -> TrialRecord:
    """The same trial, ended by a cap when its graders were content already."""
    return replace(record, outcome="failed", graded="pass", stop=Stop(reason="cap:turns"))


def a_page_of(records: list[TrialRecord], baseline: str | None = None) -> str:
    """The page of a run with that baseline."""
    table = a_table(records, baseline=baseline)
    return a_whole_page(records, an_about(*table.variants, baseline=baseline), table=table)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    with a_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages as files."""
    folder = tmp_path_factory.mktemp("pages")
    run = list(a_run(2, ("react", "react-generic-errors")))
    one = passed(next(iter(a_run(1, ("react",), 1))))
    single = a_table([one], planned=1)
    pages = {
        "ordinary": a_page_of(run, baseline="react"),
        "passed": a_page_of([passed(record) for record in run]),
        "broken": a_page_of([broken(record) for record in run]),
        "stopped": a_page_of([stopped(record) for record in run]),
        "single": a_whole_page(
            [one], table=single, summary=summarise(single, an_about("react")), tasks=task_rows(single)
        ),
        "many": a_page_of(list(a_run(1, MANY)), baseline="the-baseline"),
        "bare": a_page_of([bare(record) for record in run]),
        "hostile": a_hostile_page(),
    }
    paths = {}
    for name, html in pages.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(html, encoding="utf-8")
    return paths


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Open]:
    """Open a page with all that is folded unfolded; anything that it says or breaks on fails the test."""
    contexts, faults = [], []

    def opened(name: str, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        shown = context.new_page()
        shown.on("console", lambda message: faults.append(message.text))
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.goto(files[name].as_uri())
        shown.wait_for_selector("#status:not(:empty)")
        shown.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        return shown

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


FIGURES = """() => {
  const channel = (part) => { const s = part / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  const found = [];
  for (const figure of document.querySelectorAll("svg.figure")) {
    const name = figure.getAttribute("class");
    const edge = figure.getBoundingClientRect();
    const shapes = [...figure.querySelectorAll("path, rect")].filter((one) => !one.closest("defs"));
    const texts = [...figure.querySelectorAll("text")].map((one) => [one, one.getBoundingClientRect()]);
    texts.forEach(([text, box], place) => {
      if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.bottom > edge.bottom + 1) {
        found.push(`${name}: ${text.textContent} is cut`);
      }
      for (const [other, next] of texts.slice(place + 1)) {
        const wide = Math.min(box.right, next.right) - Math.max(box.left, next.left);
        const high = Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top);
        if (wide > 0.5 && high > 2) found.push(`${name}: ${text.textContent} and ${other.textContent} overlap`);
      }
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      let behind = getComputedStyle(document.documentElement).backgroundColor;
      for (const shape of shapes) {
        const style = getComputedStyle(shape);
        const area = shape.getBoundingClientRect();
        const below = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (!below || style.fill === "none" || Number(style.fillOpacity) < 0.9) continue;
        if (area.left <= x && area.right >= x && area.top <= y && area.bottom >= y) behind = style.fill;
      }
      const pair = [light(getComputedStyle(text).fill), light(behind)].sort((a, b) => b - a);
      const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
      if (ratio < 4.5) found.push(`${name}: ${text.textContent} has a contrast of ${ratio.toFixed(2)}`);
    });
  }
  return found;
}"""


@pytest.mark.parametrize("name", ["ordinary", "passed", "many"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_no_text_of_a_figure_is_cut_or_covered(visit: Open, name: str, width: int, scheme: str) -> None:
    assert visit(name, width, color_scheme=scheme).evaluate(FIGURES) == []


def test_a_variant_has_one_colour_in_all_charts(visit: Open) -> None:
    shown = visit("many")
    looks = {}
    for table in ("headline", "caps", "spread", "cost"):
        cell = shown.locator(f"table.{table} th", has_text="the-baseline").first
        looks[table] = (
            cell.locator("svg.swatch line").first.get_attribute("class"),
            cell.locator("path").first.get_attribute("d"),
        )
    assert len(set(looks.values())) == 1, looks
    stroke = looks["headline"][0].split()[0]
    assert shown.locator(f"svg.figure-cap-turns .{stroke}").count() > 0


def test_what_a_trial_costs_has_room_below_the_edge_of_its_chart(visit: Open) -> None:
    shown = visit("ordinary")
    top = """() => {
      const figure = document.querySelector("svg.figure-cap-turns");
      const clip = [...figure.querySelectorAll("clipPath rect")].map((one) => Number(one.getAttribute("y"))).sort((a, b) => a - b)[1];
      const lines = [...figure.querySelectorAll("path.line-s0, path.line-s1")].flatMap((one) => [...one.getAttribute("d").matchAll(/[ML] ?[\\d.]+ ([\\d.]+)/g)]);
      return [clip, Math.min(...lines.map((one) => Number(one[1])).filter((y) => y >= clip - 1))];
    }"""
    clip, highest = shown.evaluate(top)
    assert highest >= clip + 4


def test_a_page_of_errors_warns_and_has_no_empty_sections(visit: Open) -> None:
    shown = visit("broken")
    assert "warn" in shown.locator("section.verdict").get_attribute("class")
    ids = set(shown.evaluate("[...document.querySelectorAll('section[id]')].map((one) => one.id)"))
    assert not ids & {"curves", "cost", "spread", "caps", "beginnings"}
    links = shown.evaluate("[...document.querySelectorAll('nav a')].map((one) => one.hash.slice(1))")
    assert set(links) <= ids


def test_where_all_passed_no_row_is_kept_for_failures(visit: Open) -> None:
    shown = visit("passed")
    assert shown.locator("table.spread .failed").count() == 0
    assert "✗" not in shown.locator("svg.figure-spread-turns").text_content()
    assert "those that failed first" not in shown.locator("#trials .lede").inner_text()
    assert "Every judged trial passed" in shown.locator("#spread .lede").inner_text()


def test_capped_trials_are_not_said_to_have_passed(visit: Open) -> None:
    shown = visit("stopped")
    cells = shown.locator("table.stops tbody td small").all_inner_texts()
    assert cells
    assert all(re.fullmatch(r"graders passed \d+", cell) for cell in cells)
    assert "not passed by the graders" in shown.locator("svg.figure-stops").text_content()


def test_one_of_everything_is_said_in_the_singular(visit: Open) -> None:
    shown = visit("single")
    text = shown.locator("body").inner_text()
    assert re.findall(r"\b1 (?:more )?(?:trials|tasks|variants|traces|rules|chosen trials)\b", text) == []
    assert "1 of 1 chosen trial shown" in text
    assert shown.locator("svg.figure-decay").count() == 0, "a curve of one point says nothing"
    assert shown.get_by_text("On the front").count() == 0, "no variant is ahead of no other"


def test_a_trial_without_a_trace_says_so(visit: Open) -> None:
    shown = visit("bare")
    shown.locator("button.read").first.click()
    shown.wait_for_selector(".story")
    assert "No trace of this trial was kept." in shown.locator(".story").inner_text()


def test_a_story_fits_a_small_screen(visit: Open) -> None:
    shown = visit("stopped", 360)
    shown.locator("button.read").first.click()
    shown.wait_for_selector(".story")
    assert (
        shown.evaluate(
            "(() => { const box = document.querySelector('.story'); return box.scrollWidth - box.clientWidth; })()"
        )
        <= 1
    )


def test_a_stop_is_written_in_one_line_beside_long_names(visit: Open) -> None:
    shown = visit("stopped", 360)
    high = "[...document.querySelectorAll('#rows td.word')].map((one) => { const line = document.createRange(); line.selectNodeContents(one); return line.getClientRects().length; })"
    assert set(shown.evaluate(high)) == {1}


@pytest.mark.parametrize("name", ["ordinary", "many", "hostile"])
def test_on_paper_nothing_is_cut_and_ink_is_dark(visit: Open, name: str) -> None:
    shown = visit(name, PAPER, color_scheme="dark")
    shown.emulate_media(media="print", color_scheme="dark")
    assert shown.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert shown.evaluate(CONTRAST) == []


def test_every_column_of_medians_names_its_meter(visit: Open) -> None:
    heads = visit("ordinary").locator("table.medians thead th").all_inner_texts()
    assert [head.split()[0] for head in heads[1:]] == [
        meter for meter in ("Turns", "Tokens", "Time", "Dollars") for _ in range(2)
    ]
