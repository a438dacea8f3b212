"""What reliability costs: the page shows the summary's own numbers, and figures draw what is known."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from report_json import a_summary, a_variant_summary, an_about, an_estimate
from report_pages import VARIANTS
from report_records import a_run, a_table
from test_report_hindsight import a_whole_page

from evalkit.core.plan import Caps
from evalkit.report.charts import Box, Spot, boxes, tradeoff
from evalkit.report.figures import FORMATS, drawn, saved
from evalkit.report.gallery import gallery
from evalkit.report.numbers import UNDEFINED
from evalkit.report.spending import DRAWN, cost_sketch, spending
from evalkit.report.summary import summarise

HOSTILE = "</text><script>alert(1)</script>"


def lines(drawing: str, kind: str) -> list[str]:
    """The paths of a class."""
    return re.findall(rf'<path [^>]*class="{kind}"[^>]*>', drawing)


def test_the_front_is_told_and_joined() -> None:
    variants = {
        "cheap": a_variant_summary(0.7, usd={"total": 1.0, "per_trial": 0.01, "per_reliable_success": 0.1}),
        "dear": a_variant_summary(0.95, usd={"total": 4.0, "per_trial": 0.04, "per_reliable_success": 0.2}),
        "beaten": a_variant_summary(
            0.6, usd={"total": 2.0, "per_trial": 0.02, "per_reliable_success": 0.4}, front=False
        ),
        "unknown": a_variant_summary(
            0.9, usd={"total": None, "per_trial": None, "per_reliable_success": None}, front=None
        ),
    }
    cost = spending(a_summary(variants), an_about(*variants))["cost"]
    assert [row["name"] for row in cost["rows"]] == ["cheap", "beaten", "dear", "unknown"]
    assert cost["k"] == 8
    assert cost["figure"].count("stroke-dasharray") >= 1
    rings = [one for one in re.findall(r"<use [^>]*>", cost["figure"]) if "line-ink" in one]
    assert len(rings) == 2, "a ring each for the two on the front"


def test_without_a_cost_there_is_no_figure() -> None:
    usd = {"total": None, "per_trial": None, "per_reliable_success": None}
    summary = a_summary({"one": a_variant_summary(usd=usd, front=None)})
    assert cost_sketch(summary) is None
    assert spending(summary, an_about("one"))["cost"]["figure"] == ""
    assert cost_sketch(a_summary({"one": a_variant_summary(pass_hat={"8": an_estimate(None)})})) is None


def test_what_was_used_is_told_for_each_outcome_with_its_cap() -> None:
    records = list(a_run(6, VARIANTS))
    table, about = a_table(records), an_about(*VARIANTS)
    summary = summarise(table, about)
    told = spending(summary, about)
    assert [section["meter"] for section in told["spreads"]] == ["turns", "tokens", "time", "dollars"]
    turns = told["spreads"][0]
    react = turns["rows"][0]
    assert react["cap"] == "6"
    passed = sorted(r.tally.turns for r in records if r.key.variant == "react" and r.outcome == "passed")
    assert react["sides"][0]["trials"] == len(passed)
    assert react["sides"][0]["middle"] == str(passed[(len(passed) + 1) // 2 - 1])
    assert told["spreads"][1]["rows"][0]["cap"] == ""
    assert {"full" in word or "hollow" in word for word in re.findall(r'aria-label="([^"]*)"', turns["figure"])} == {
        True
    }


def test_full_and_hollow_boxes_and_caps_are_drawn() -> None:
    rows = [
        Box(label=HOSTILE, values=[1, 2, 3, 4, 5], place=0, filled=True, cap=6.0),
        Box(label="✗", values=[1, 2, 3, 4, 5], place=0, filled=False, cap=6.0),
        Box(label="far ✓", values=[1, 2, 3, 4, 5], place=1, filled=True, cap=500.0),
        Box(label="✗", values=None, place=1, filled=False, cap=500.0),
    ]
    drawing = drawn(boxes(rows, "turns", "{:.0f}".format, "x"))
    assert len(lines(drawing, "fill-s0 line-s0")) == 1, "what passed is full"
    hollow = [one for one in re.findall(r"<path [^>]*>", drawing) if 'class="line-s0"' in one and 'fill="none"' in one]
    assert hollow, "what failed is hollow"
    assert drawing.count("stroke-dasharray") >= 2
    assert "turns of a trial; dashed: the cap; cap 500 →" in drawing
    assert "<script" not in drawing
    for form in FORMATS:
        assert saved(boxes(rows, "turns", str, "x"), form) == saved(boxes(rows, "turns", str, "x"), form)


@pytest.mark.parametrize("number", [0, 1, 9])
def test_any_number_of_spots_and_boxes_is_drawn(number: int) -> None:
    spot = Spot(cost=0.0, value=0.5, low=None, high=None, front=True, place=number)
    box = Box(label="x", values=[0, 0, 0, 0, 0], place=number, filled=True, cap=None)
    assert drawn(tradeoff([spot] * number, 1, str, "x")).startswith("<svg ")
    assert drawn(boxes([box] * number, "turns", str, "x")).startswith("<svg ")


def test_many_variants_are_cut_and_counted_and_the_baseline_stays() -> None:
    names = [f"variant-{place}" for place in range(DRAWN + 3)]
    summary = a_summary(dict.fromkeys(names, a_variant_summary()))
    told = spending(summary, replace(an_about(*names), baseline=names[-1]))
    assert told["not_shown"] == 3
    assert [row["name"] for row in told["spreads"][0]["rows"]][-1] == names[-1]
    assert len(told["cost"]["rows"]) == len(names)


def test_bounds_of_a_median_stand_below_it_and_nothing_where_there_are_none() -> None:
    bounded = a_variant_summary(turns={"p50": 4.0, "p50_low": 3.0, "p50_high": None, "p95": None})
    told = spending(a_summary({"one": bounded}), an_about("one"))["medians"][0]
    assert told["cells"][0] == {"value": "4", "ends": "3 – …"}
    assert told["cells"][1] == {"value": UNDEFINED, "ends": ""}


def test_the_page_and_the_gallery_have_them() -> None:
    records = list(a_run(3, VARIANTS))
    html = a_whole_page(records)
    assert html.index('id="stops"') < html.index('id="cost"') < html.index('id="spread"') < html.index('id="caps"')
    table = a_table(records)
    about: Any = an_about(*VARIANTS)
    about = replace(about, variants=tuple(replace(one, caps=Caps(turns=6)) for one in about.variants))
    names = [sketch.name for sketch in gallery(summarise(table, about), table, about, records)]
    assert {"tradeoff", "spread-turns", "spread-tokens", "spread-time", "spread-dollars"} <= set(names)
