"""The sections made from traces in a real browser: seen, read, narrow, dark, without a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_chromium import CHROMIUM, a_browser
from report_records import a_key, a_record, a_run, a_table
from test_report_browser import CONTRAST
from test_report_hindsight import a_whole_page

from evalkit.core.message import ToolCall, ToolResult
from evalkit.core.record import Acted, Asked, Outcome, TrialRecord
from evalkit.measure.table import Table

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")]

VARIANTS = ("react", "plan", "ladder")


def same_calls() -> list[TrialRecord]:
    """Trials of three tasks, one passing and one failing each: with the same calls, without any, and one that ends a call earlier."""
    kept = []
    for name, many in (("same", (2, 2)), ("none", (0, 0)), ("earlier", (1, 2))):
        for index, calls in enumerate(many, 1):
            record = a_record(a_key(name, index=index), 1.0)
            turn = next(event for event in record.events if isinstance(event, Asked))
            acts = [
                Acted(
                    turn=1,
                    call=ToolCall(id=str(at), name="look_up", input={"at": at}),
                    result=ToolResult(tool_use_id=str(at), content="found"),
                    at=0.0,
                    seconds=0.1,
                )
                for at in range(calls)
            ]
            outcome: Outcome = "failed" if index == 1 else "passed"
            kept.append(replace(record, outcome=outcome, events=(turn, *acts, record.events[-2])))
    return kept


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    with a_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An ordinary page, one of four thousand trials, and one of several variants with long names."""
    folder = tmp_path_factory.mktemp("pages")
    paths = {}
    runs = {
        "ordinary": list(a_run(6, VARIANTS)),
        "large": list(a_run(250, VARIANTS[:2])),
        "alike": same_calls(),
        "several": list(a_run(2, ("react", "react-window", "react-tight-caps", "react-generic-errors"))),
    }
    for name, records in runs.items():
        table: Table = a_table(records, baseline="react")
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(a_whole_page(records, table=table), encoding="utf-8")
    return paths


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Any]:
    """Open a page; anything that it says or breaks on fails the test."""
    contexts, faults = [], []

    def opened(name: str, **options: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        shown = context.new_page()
        shown.on("console", lambda message: faults.append(message.text))
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.goto(files[name].as_uri())
        if options.get("java_script_enabled", True):
            shown.wait_for_selector("#status:not(:empty)")
        return shown

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def test_the_first_cap_is_open_and_the_others_open_without_a_script(visit: Any) -> None:
    shown = visit("ordinary", java_script_enabled=False)
    details = shown.locator("#caps details")
    assert details.count() >= 3
    assert shown.locator("svg.figure-cap-turns").is_visible()
    second = details.nth(1)
    assert not second.locator("table").is_visible()
    second.locator("summary").click()
    assert second.locator("table").is_visible()
    assert shown.locator("table.beginnings tbody tr").count() > 0
    assert shown.locator("#caps h3").is_visible()


def test_an_example_opens_its_trace(visit: Any) -> None:
    shown = visit("ordinary")
    link = shown.locator("table.beginnings a").first
    name = link.inner_text()
    link.click()
    shown.wait_for_selector(".story.failed")
    title = shown.locator(".story h3").inner_text()
    task, number = name.split(" #")
    assert title.startswith(task)
    assert title.endswith(f"trial {number}")


def test_the_sections_fit_a_small_screen(visit: Any) -> None:
    shown = visit("ordinary", viewport={"width": 360, "height": 740})
    for place in range(shown.locator("#caps details").count()):
        details = shown.locator("#caps details").nth(place)
        if details.get_attribute("open") is None:
            details.locator("summary").click()
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_their_text_stands_out_in_the_light_and_in_the_dark(visit: Any, scheme: str) -> None:
    shown = visit("ordinary", color_scheme=scheme)
    assert shown.evaluate(CONTRAST) == []


def test_the_keyboard_opens_a_cap(visit: Any) -> None:
    shown = visit("ordinary")
    summary = shown.locator("#caps details summary").nth(1)
    summary.focus()
    shown.keyboard.press("Enter")
    assert shown.locator("#caps details").nth(1).locator("table").is_visible()


def test_four_thousand_trials_stay_light(visit: Any, files: dict[str, Path]) -> None:
    shown = visit("large")
    assert files["large"].stat().st_size <= 10_000_000
    assert shown.evaluate("document.querySelectorAll('*').length") <= 5_000


def test_no_table_beside_a_figure_is_cut_on_an_ordinary_screen(visit: Any) -> None:
    shown = visit("several")
    while shown.locator("details:not([open])").count():
        shown.locator("details:not([open]) > summary").first.click()
    cut = "[...document.querySelectorAll('.pair .scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.ariaLabel)"
    assert shown.evaluate(cut) == []


def test_cost_and_use_are_seen_without_a_script_and_told_without_colour(visit: Any) -> None:
    shown = visit("ordinary", java_script_enabled=False)
    assert shown.locator("svg.figure-tradeoff").is_visible()
    assert shown.locator("table.cost tbody tr").count() == len(VARIANTS)
    assert "◎ yes" in shown.locator("table.cost").inner_text()
    assert shown.locator("svg.figure-spread-turns").is_visible()
    text = shown.locator("table.spread").first.inner_text()
    assert "✓ passed" in text
    assert "✗ failed" in text


def test_a_failing_trial_is_held_beside_a_passing_one_and_told_where_they_part(visit: Any) -> None:
    shown = visit("ordinary")
    link = shown.locator("table.beginnings a[href^='#pair/']").first
    link.focus()
    shown.keyboard.press("Enter")
    shown.wait_for_selector("#pair .parting")
    assert shown.evaluate("document.activeElement.id") == "pair"
    heads = shown.locator("#pair .head h3").all_inner_texts()
    assert len(heads) == 2
    assert heads[0].rsplit(" · ", 1)[0] == heads[1].rsplit(" · ", 1)[0], "one task under one variant"
    assert (
        shown.locator("#pair .heads .story.failed").count() == shown.locator("#pair .heads .story.passed").count() == 1
    )
    assert re.search(r"part at the first tool call|the same \d+ tool call", shown.locator("#pair-lede").inner_text())
    assert "turns 6 of 6" in shown.locator("#pair").inner_text() or shown.locator("#pair meter").count() >= 4
    shown.keyboard.press("Escape")
    assert not shown.locator("#pair").is_visible()
    assert shown.evaluate("document.activeElement.className") == "read"


@pytest.mark.parametrize(
    ("task", "sentence", "heading"),
    [
        (
            "same",
            "They make the same 2 tool calls and no other: they differ only in what they said",
            "What is left of each",
        ),
        ("none", "Neither of them called a tool: they differ only in what they said", "What is left of each"),
        (
            "earlier",
            "They make the same 1 tool call; then the failing one ends, and the passing one goes on.",
            "Here they part",
        ),
    ],
)
def test_where_two_trials_part_is_claimed_only_where_they_do(
    visit: Any, task: str, sentence: str, heading: str
) -> None:
    shown = visit("alike")
    shown.locator("table.beginnings tr", has_text=f"{task} #1").locator("a[href^='#pair/']").click()
    shown.wait_for_selector("#pair .parting")
    assert shown.locator("#pair-lede").inner_text().startswith(sentence)
    assert heading in shown.locator("#pair .parting").inner_text()


def test_a_trace_leads_to_its_pair_whose_halves_hold_all_of_both(visit: Any) -> None:
    shown = visit("ordinary")
    shown.locator("table.beginnings a[href^='#trial/']").first.click()
    shown.wait_for_selector(".story.failed")
    steps = shown.locator(".story.failed .step").count()
    shown.locator(".story.failed a[href^='#pair/']").click()
    shown.wait_for_selector("#pair .parting")
    assert shown.locator("#pair .side:nth-child(1) .step").count() == steps
    shared = shown.locator("#pair details .side")
    if shared.count():
        calls = [side.locator(".step.call").all_inner_texts() for side in shared.all()]
        assert calls[0] == calls[1]


def test_a_passing_trial_leads_to_the_failing_one_too(visit: Any) -> None:
    shown = visit("ordinary")
    shown.locator("table.beginnings a[href^='#pair/']").first.click()
    shown.wait_for_selector("#pair .parting")
    heads = shown.locator("#pair .head h3").all_inner_texts()
    task, variant, _ = heads[1].split(" · ")
    shown.locator("#pair-close").click()
    shown.fill("#f-task", task)
    shown.select_option("#f-variant", label=variant)
    shown.select_option("#f-outcome", label="passed")
    for button in shown.locator("button.read").all():
        button.click()
    stories = shown.locator(".story.passed")
    shown.locator(".story.passed a[href^='#pair/']").first.wait_for()
    links = {story.locator("h3").inner_text(): story.locator("a").inner_text() for story in stories.all()}
    assert links[heads[1]] == f"Hold it beside {heads[0].split(' · ')[2]}, which failed"
    others = [text for head, text in links.items() if head != heads[1]]
    assert all(re.fullmatch(r"(Hold it beside|See where) trial \d+, which failed.*", text) for text in others)
    shown.locator(".story.passed a[href^='#pair/']").first.click()
    shown.wait_for_selector("#pair .parting")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pair_fits_a_small_screen_and_stands_out(visit: Any, scheme: str) -> None:
    shown = visit("ordinary", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    shown.locator("table.beginnings a[href^='#pair/']").first.click()
    shown.wait_for_selector("#pair .parting")
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    assert shown.evaluate(CONTRAST) == []


def test_tries_of_a_call_are_folded(visit: Any) -> None:
    shown = visit("ordinary")
    for button in shown.locator("button.read").all()[:12]:
        button.click()
    retry = shown.locator(".step.retry").first
    retry.wait_for()
    assert not retry.locator("pre").is_visible()
    retry.locator("summary").click()
    assert "rate limited" in retry.locator("pre").inner_text()
