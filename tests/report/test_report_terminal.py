"""Tables in a terminal: the numbers of the JSON, within the width, harmless."""

from __future__ import annotations

import re
from typing import Any

import pytest
from report_json import a_comparison, a_gate, a_summary, a_task_row, a_variant_summary, an_estimate

from evalkit.report.layout import columns
from evalkit.report.terminal import compare_text, gate_text, headline, task_table

HOSTILE = "\x1b]0;owned\x07" + "x" * 300
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def compared(*comparisons: dict[str, Any]) -> dict[str, Any]:
    """A comparison as `compare --json` prints it."""
    return {"baseline": "react", "comparisons": list(comparisons), "stops": [], "configs": {"differs": ["/loop/kind"]}}


def test_the_headline_holds_the_sentence_the_caveat_the_numbers_and_the_stops() -> None:
    lines = headline(a_summary()).split("\n")
    assert lines[0].startswith("react passes all 8 of 8 attempts")
    assert any(line.startswith("Simulated model:") for line in lines)
    assert "variant pass@1 pass^2 pass^4 pass^8    interval  caps err $/trial $/reliable" in lines
    assert "react    0.900  0.850  0.750  0.550 0.450–0.650 10.4%   0 $0.0125     $0.190" in lines
    assert lines[-2] == "react: finished 172 (150) · cap:turns 20 (4)"


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("name", ["react", "a-rather-long-name-of-a-variant", "日本語の変種", HOSTILE])
def test_everything_fits_its_width_and_is_harmless(width: int, name: str) -> None:
    summary = a_summary({name: a_variant_summary(stops={name: 192}), "other": a_variant_summary()}, suite=name)
    rule = {**a_gate()["rules"][0], "rule": name, "variant": name, "task": name, "sentence": name}
    one = a_comparison(variant=name, sentence=name)
    texts = [
        headline(summary, width),
        gate_text({"verdict": "fail", "rules": [rule]}, width),
        compare_text({**compared(one), "baseline": name, "configs": {"differs": [name]}}, width),
        task_table([a_task_row(name, suite=name, react=3), a_task_row("b", react=8)], width),
    ]
    for text in texts:
        assert not CONTROL.search(text)
        for line in text.split("\n"):
            assert columns(line) <= width or line.startswith(("variant", "task")) or "  " in line
    assert all(columns(line) <= width for line in texts[0].split("\n") if width >= 80)


def test_a_name_that_is_too_long_for_its_column_stands_above_its_numbers_in_full() -> None:
    name = "a-rather-long-name-of-a-variant"
    lines = headline(a_summary({name: a_variant_summary()})).split("\n")
    place = lines.index(name)
    assert lines[place + 1].split()[:4] == ["0.900", "0.850", "0.750", "0.550"]


def test_what_is_undefined_is_a_dash_with_its_reason() -> None:
    hats = {"1": an_estimate(0.5), "2": an_estimate(None, why="3 of 24 tasks have fewer than 2 judged trials")}
    variant = a_variant_summary(
        pass_hat=hats, errors=5, usd={"total": None, "per_trial": None, "per_reliable_success": None}
    )
    lines = headline(a_summary({"react": variant})).split("\n")
    row = next(line for line in lines if line.startswith("react  "))
    assert row.split() == ["react", "0.500", "–", "–", "10.4%", "5", "–", "–"]
    assert "react: pass^2 undefined, 3 of 24 tasks have fewer than 2 judged trials" in lines


def test_an_empty_run_is_said_to_be_empty() -> None:
    assert headline(a_summary({})).startswith("No trial has been measured.")
    assert task_table([]) == "No task."


def test_the_task_table_counts_passes_of_judged_trials_and_says_what_is_lacking() -> None:
    row = a_task_row("refund", react=8, plan=3)
    row["variants"]["plan"] |= {"failed": 3, "errors": 1, "missing": 1}
    assert task_table([row, a_task_row("b", react=0)]).split("\n") == [
        "task    react       plan",
        "refund    8/8  3/6 !1 ?1",
        "b         0/8          –",
        "",
        "! trials in error, ? missing trials",
    ]


def test_many_variants_make_several_tables() -> None:
    names = [f"variant-{number:02d}" for number in range(20)]
    cell = {"passed": 8, "failed": 0, "errors": 0, "missing": 0}
    text = task_table([{"suite": "s", "task": "refund", "variants": dict.fromkeys(names, cell)}], 80)
    assert all(columns(line) <= 80 for line in text.split("\n"))
    assert all(name in text for name in names)


def test_tasks_of_several_suites_carry_their_suite() -> None:
    text = task_table([a_task_row("a", suite="one", react=1), a_task_row("a", suite="two", react=2)])
    assert "one / a" in text
    assert "two / a" in text


def test_the_gate_says_its_verdict_and_each_rule_with_its_sentence() -> None:
    lines = gate_text(a_gate("inconclusive")).split("\n")
    assert lines[0] == "? gate: INCONCLUSIVE"
    assert lines[1] == "  ✓ cap_rate(turns) <= 0.2 · react: PASS"
    assert lines[3] == "  ? pass^8 >= 0.60 · react: INCONCLUSIVE"
    assert lines[4] == "    react: pass^8 is 0.550, and 0.600 lies inside its bounds."


def test_a_gate_without_rules_says_why() -> None:
    text = gate_text({"verdict": "invalid", "exit_code": 4, "rules": [], "why": "no trial is planned"})
    assert text == "! gate: INVALID\n  no trial is planned"


def test_the_comparison_says_its_sentences_its_numbers_and_what_differs() -> None:
    chance = a_comparison(metric="pass@1", difference=0.05, p_adjusted=0.4, sentence="about the same.")
    gain = a_comparison(difference=0.2, low=0.1, high=0.3, sentence="better.")
    unknown = a_comparison(difference=None, low=None, high=None, p=None, p_adjusted=None, sentence="unknown.")
    lines = compare_text(compared(a_comparison(), chance, gain, unknown)).split("\n")
    assert [line[0] for line in lines[:4]] == ["▼", "=", "▲", "?"]
    assert "difference to react, paired by task; tasks that got better +, worse −, equal =" in lines
    assert "plan     pass^8      −0.250  −0.420 to −0.060   0.012  +1 −7 =16" in lines
    assert lines[-1] == "configs differ in: /loop/kind"


def test_one_variant_alone_is_compared_with_nothing() -> None:
    assert compare_text(compared()).startswith("Nothing to compare")


def test_a_comparison_of_stops_is_said() -> None:
    with_stops = {**compared(a_comparison()), "stops": [{"sentence": "plan is capped more often."}]}
    assert "stops: plan is capped more often." in compare_text(with_stops)


def test_colour_says_nothing_that_the_text_does_not() -> None:
    for draw, value in ((headline, a_summary()), (gate_text, a_gate()), (compare_text, compared(a_comparison()))):
        coloured = re.sub("\x1b\\[[0-9]*m", "", draw(value, color=True))
        assert coloured == draw(value)
