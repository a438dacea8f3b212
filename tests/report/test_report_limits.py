"""What a comparison cannot show."""

from __future__ import annotations

from typing import Any

import pytest
from report_json import a_comparison

from evalkit.report.limits import limits, ways_out


def test_what_cannot_reach_five_percent_is_said_once_with_its_metrics() -> None:
    few = {"better": 0, "worse": 3, "p_within": 0.04}
    ones = [a_comparison(variant=name, metric=metric, **few) for name in ("a", "b") for metric in ("pass^8", "pass@1")]
    stops = [{"variant": "a", "variation": 0.1, "differing": 2}, {"variant": "b", "variation": 0.1, "differing": 9}]
    assert list(limits(ones, stops)) == [
        "Fewer than 6 tasks differ in pass^8 and pass@1 of every variant; in the stops of a: no such test can then reach 5%, whatever the difference.",
        "Another question, are the two identical on these very tasks (trials permuted within tasks, not adjusted): a pass^8 p 0.040, pass@1 p 0.040; b pass^8 p 0.040, pass@1 p 0.040.",
    ]
    assert not list(limits([a_comparison()]))
    assert not list(limits([a_comparison(difference=None, better=0, worse=0)]))
    assert list(limits([a_comparison(better=0, worse=0, p_within=None)])) == [
        "Fewer than 6 tasks differ in pass^8 of plan: no such test can then reach 5%, whatever the difference."
    ]


def test_another_confidence_wants_another_number_of_tasks() -> None:
    five = {"better": 0, "worse": 5, "p_within": None}
    assert list(limits([a_comparison(confidence=0.95, **five)]))
    assert not list(limits([a_comparison(confidence=0.9, **five)]))
    (said,) = limits([a_comparison(confidence=0.99, better=0, worse=7, p_within=None)])
    assert said.startswith("Fewer than 8 tasks differ")
    assert "reach 1%" in said


def test_one_task_and_one_trial_a_task_are_told() -> None:
    said = " ".join(limits([a_comparison(tasks=1, n=[1, 1], better=1, worse=0, p_within=None)]))
    assert "One task: its difference is that of these trials" in said
    assert "One trial a task: pass@1 alone can be compared" in said


def a_rule(**changes: Any) -> dict[str, Any]:
    """An undecided rule on few tasks."""
    rule = {"verdict": "inconclusive", "kind": "lower", "scope": "population", "baseline": None, "task": None}
    return {**rule, "value": 0.5, "tasks": 3, **changes}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"tasks": 30}, False),
        ({"verdict": "pass"}, False),
        ({"scope": "suite"}, False),
        ({"task": "a"}, False),
        ({"baseline": "b"}, False),
        ({"value": None}, False),
        ({"kind": "anytime"}, False),
    ],
)
def test_few_tasks_that_decide_nothing_of_others_are_told_what_can_be_asked_of_them(
    changes: dict[str, Any], told: bool
) -> None:
    found = list(ways_out({"rules": [a_rule(verdict="pass"), a_rule(**changes), a_rule(**changes)]}))
    assert [("--scope suite" in one, "--per-task" in one) for one in found] == ([(True, True)] if told else [])
