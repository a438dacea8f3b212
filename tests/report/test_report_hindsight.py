"""What the page tells from traces: tighter caps, idle turns, first divergences; each trace read once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from report_json import a_summary, a_task_row, a_variant_summary, an_about
from report_pages import HOSTILE, VARIANTS, a_page, hostile_record, keeper
from report_records import CAP, a_run, a_table, bare
from test_report_page import outline

from evalkit.core.plan import WrapUp
from evalkit.core.record import TrialRecord
from evalkit.report import hindsight as subject
from evalkit.report.about import About
from evalkit.report.gallery import gallery
from evalkit.report.hindsight import CLUSTERS, Hindsight, unread
from evalkit.report.summary import summarise, task_rows
from evalkit.report.trials import listed


def a_whole_page(records: Sequence[TrialRecord], about: About | None = None, **changes: Any) -> str:
    """The page of records as a run would have it, with its numbers."""
    table = a_table(records)
    names = about or an_about(*table.variants)
    given: dict[str, Any] = {"summary": summarise(table, names), "tasks": task_rows(table), "about": names}
    return a_page(records, **(given | {"table": table, "comparisons": [], "gate": None} | changes))


@pytest.fixture(scope="module")
def records() -> list[TrialRecord]:
    """A run of two variants."""
    return list(a_run(4, VARIANTS))


@pytest.fixture(scope="module")
def told(records: list[TrialRecord]) -> dict[str, Any]:
    """What its traces tell."""
    hindsight = Hindsight(a_table(records))
    for record in records:
        hindsight.add(record)
    return hindsight.told(listed(records))


def test_each_meter_has_its_limits_and_ends_with_the_run_as_it_was(
    told: dict[str, Any], records: list[TrialRecord]
) -> None:
    table = a_table(records)
    summary = summarise(table, an_about(*VARIANTS))
    assert [section["meter"] for section in told["caps"]][:2] == ["turns", "tokens"]
    for section in told["caps"]:
        assert section["k"] == 8
        assert section["figure"].startswith("<svg ")
        last = section["rows"][-1]
        assert last["limit"] == "as run"
        for name, cell in zip(VARIANTS, last["cells"], strict=True):
            assert cell["hat"]["value"] == summary["variants"][name]["pass_hat"]["8"]["value"]
            assert cell["usd"] == summary["variants"][name]["usd"]["per_trial"]
            assert cell["cap_rate"] == pytest.approx(summary["variants"][name]["cap_rate"]["value"])


def test_idle_turns_are_those_of_capped_trials(told: dict[str, Any], records: list[TrialRecord]) -> None:
    for one in told["idle"]:
        capped = [row for row in records if row.key.variant == one["name"] and row.stop.reason == "cap:turns"]
        assert one["found"].trials == len(capped)
        assert one["found"].turns == CAP * len(capped)


def test_every_failing_trial_is_in_a_cluster_or_has_nothing_to_be_held_against(
    told: dict[str, Any], records: list[TrialRecord]
) -> None:
    failed = sum(row.outcome == "failed" for row in records)
    assert told["diverged"] + told["alone"] == failed
    assert sum(one["trials"] for one in told["clusters"]) + told["left_out"] == told["diverged"]
    assert len(told["clusters"]) <= CLUSTERS


def test_an_example_leads_to_its_own_trial(told: dict[str, Any], records: list[TrialRecord]) -> None:
    listing = listed(records)
    for one in told["clusters"]:
        row = listing[one["row"]]
        assert (row.key.task, row.key.index, row.outcome) == (one["task"], one["index"], "failed")
        assert sum(one["variants"].values()) == one["trials"]


def test_a_page_reads_each_trace_once_whatever_fits_into_it(records: list[TrialRecord]) -> None:
    give = keeper(records)
    for budget in (10_000_000, 810_000):
        drawn: list[str] = []

        def trace(row: TrialRecord, drawn: list[str] = drawn) -> TrialRecord:
            drawn.append(row.key.digest)
            return give(row)

        html = a_whole_page(records, trace=trace, budget=budget)
        assert sorted(drawn) == sorted(row.key.digest for row in records)
        assert len(html) <= budget
        assert 'id="caps"' in html
        assert 'id="beginnings"' in html


def test_without_a_table_the_page_is_as_it_was(records: list[TrialRecord]) -> None:
    html = a_page(records)
    assert 'id="caps"' not in html
    assert "#beginnings" not in html


def test_the_sections_are_whole_html_and_their_links_lead_somewhere(records: list[TrialRecord]) -> None:
    html = a_whole_page(records)
    found = outline(html)
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in found.of("a"):
        target = (link["href"] or "").removeprefix("#")
        assert target in ids or re.fullmatch(r"trials/\d+/\d+|(trial|pair)/\d+", target)
    assert all(header.get("scope") in ("col", "row") for header in found.of("th"))
    assert "None" not in html.replace("application", "")
    for text in (
        "Had the caps been tighter",
        "Cap on turns",
        "as run",
        "Where failures begin",
        "gave other arguments to",
    ):
        assert text in html


def test_hostile_names_add_no_element() -> None:
    records = [hostile_record(text, 1) for text in HOSTILE]
    records += [replace(hostile_record(text, 2), outcome="passed") for text in HOSTILE]
    html = a_whole_page(records)
    found = outline(html)
    assert len(found.of("style")) == 1
    assert not found.of("img")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", html)
    assert 'id="beginnings"' in html


def test_a_run_without_trials_still_has_its_sections() -> None:
    html = a_whole_page([], summary=a_summary({}), tasks=[])
    for name in ("curves", "cost", "spread", "caps", "beginnings"):
        assert f'id="{name}"' not in html, "a section that has nothing to say"
        assert f'href="#{name}"' not in html
    for name in ("variants", "stops", "tasks", "trials", "quality", "method"):
        assert f'id="{name}"' in html


def test_where_no_task_has_both_there_is_nothing_to_hold_failures_against(records: list[TrialRecord]) -> None:
    failing = [row for row in records if row.outcome == "failed"]
    html = a_whole_page(failing)
    assert "No task has both passing and failing trials" in html
    assert "No trial passed that a tighter cap could have ended." in html


def test_trials_without_a_trace_are_told_of(records: list[TrialRecord]) -> None:
    bared = [bare(row) for row in records]
    html = a_whole_page(bared)
    failed = sum(row.outcome == "failed" for row in records)
    assert f"Of {failed} failing trials no trace was kept" in html
    assert 'id="caps"' in html


def test_too_many_traces_are_not_read_and_the_page_says_so(records: list[TrialRecord]) -> None:
    html = a_page(records, table=None)
    assert "too many" not in html
    summary = a_summary({"react": a_variant_summary()})
    told = unread(1_000_000)
    assert told["caps"] == []
    assert subject.TRACES < 1_000_000
    many = [bare(row) for row in records] * (subject.TRACES // len(records) + 1)
    drawn: list[TrialRecord] = []
    give = keeper(records)

    def trace(row: TrialRecord) -> TrialRecord:
        drawn.append(row)
        return give(row)

    html = a_page(
        records,
        summary=summary,
        tasks=[a_task_row("t", react=8)],
        table=a_table(records),
        rows=many,
        trace=trace,
        budget=900_000,
    )
    assert f"{len(many):,} traces are too many to be read for a page" in html
    assert len(drawn) < len(many)


def test_variants_that_are_told_of_their_turns_say_so(records: list[TrialRecord]) -> None:
    about = an_about(*VARIANTS)
    variants = tuple(replace(one, wrap_up=WrapUp()) if one.name == "plan" else one for one in about.variants)
    html = a_whole_page(records, replace(about, variants=variants))
    assert "<bdi>plan</bdi>: its agent is told when its turns run out" in html
    assert "<bdi>react</bdi>: its agent" not in html


@pytest.mark.parametrize("number", [1, 8, 12])
def test_many_variants_do_not_make_the_sections_long(number: int) -> None:
    names = [f"variant-{place}" for place in range(number)]
    records = list(a_run(3, names))
    html = a_whole_page(records, table=a_table(records, baseline=names[-1]))
    section = html[html.index('id="caps"') : html.index('id="beginnings"')]
    assert len(outline(html).elements) - len(outline(a_whole_page(records, table=None)).elements) < 1_800
    assert ("4 more variants are not shown here" in section) == (number == 12)
    assert names[-1] in section
    assert section.count(" <bdi>") <= 4 * 8


def test_the_gallery_holds_the_figures_of_the_page_with_their_legends(records: list[TrialRecord]) -> None:
    table, about = a_table(records), an_about(*VARIANTS)
    read: list[str] = []

    def whole() -> Any:
        for record in records:
            read.append(record.key.digest)
            yield record

    names = [sketch.name for sketch in gallery(summarise(table, about), table, about, whole())]
    assert names[:3] == ["decay", "stops", "tradeoff"]
    assert {"spread-turns", "cap-turns", "cap-tokens"} <= set(names)
    assert len(read) == len(records)
    nothing = a_table([])
    assert list(gallery(summarise(nothing, about), nothing, about, [])) == []


def test_a_trace_that_cannot_be_read_is_no_silent_gap(records: list[TrialRecord]) -> None:
    def broken(row: TrialRecord) -> TrialRecord:
        raise OSError("the trace cannot be read")

    with pytest.raises(OSError, match="cannot be read"):
        a_whole_page(records, trace=broken)
