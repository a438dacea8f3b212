"""Rules of the kind `anytime`: what is weighed, in which order, and what counts for neither side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from measure_tables import Cell, Cells, a_table

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Gate
from evalkit.measure.gate import judge, settled
from evalkit.measure.rule import gate_rules
from evalkit.measure.ruling import Ruling
from evalkit.measure.table import Table, of_variant

UNPLAYED: Cell = (0, 0, 0, 8)


def ruled(cells: Cells, rule: str = "pass^8>=0.7", **changes: object) -> Ruling:
    """Judge one rule on one variant."""
    table: Table = replace(a_table({"react": cells}), **changes)  # type: ignore[arg-type]  # fields by name
    return judge(table, [rule], kind="anytime").rules[0]


def test_thirteen_tasks_that_never_fail_show_more_than_seven_in_ten() -> None:
    found = ruled([8] * 13 + [UNPLAYED] * 40)
    assert (found.verdict, found.value, found.method, found.tasks) == ("pass", None, "e-process", 53)
    assert "after 13 of 53 tasks in the order of play, n=8" in found.sentence
    assert ruled([8] * 12 + [UNPLAYED] * 41).verdict == "inconclusive"
    assert ruled([7] * 13 + [UNPLAYED] * 40).verdict == "fail"


def test_tasks_are_weighed_in_the_order_of_play_up_to_the_first_that_is_open() -> None:
    cells: Cells = [UNPLAYED, *[8] * 20]
    assert ruled(cells).verdict == "inconclusive", "the open one would have been played first"
    last = np.roll(np.arange(21), 1)
    last[0] = 20
    assert ruled(cells, order=last).verdict == "pass"
    partly: Cells = [(3, 0, 0, 5), *[8] * 20]
    assert ruled(partly).verdict == "inconclusive"
    table = replace(a_table({"react": cells, "other": cells}), order=last)
    assert judge(of_variant(table, "other"), ["pass^8>=0.7"], kind="anytime").verdict == "pass"


def test_a_trial_in_error_counts_against_both_verdicts() -> None:
    assert ruled([8] * 13).verdict == "pass"
    assert ruled([(7, 0, 1, 0), *[8] * 12]).verdict == "inconclusive"
    assert ruled([(7, 0, 1, 0), *[8] * 22]).verdict == "pass"
    assert ruled([7] * 4).verdict == "fail"
    assert ruled([(6, 1, 1, 0), *[7] * 3]).verdict == "fail", "failed whatever the error hides"
    assert ruled([(7, 0, 1, 0), *[7] * 3]).verdict == "inconclusive" == ruled([8, *[7] * 3]).verdict


def test_only_errors_are_over_the_budget_since_what_is_to_come_is_no_loss() -> None:
    assert ruled([8] * 13 + [UNPLAYED] * 40).verdict == "pass"
    assert ruled([8] * 13 + [(0, 0, 8, 0)] * 2).verdict == "invalid"


def test_fractions_of_a_pass_are_weighed_where_more_trials_were_run_than_asked_about() -> None:
    found = ruled([7] * 100, "pass^1>=0.7")
    assert (found.verdict, found.value) == ("pass", 0.875)
    assert ruled([7] * 100, "pass^1<=0.7").verdict == "fail"
    assert ruled([2] * 40, "pass^1<=0.7").verdict == "pass"


def test_a_run_is_settled_by_evidence_long_before_nothing_could_change_the_bound() -> None:
    table = a_table({"react": [8] * 13 + [UNPLAYED] * 40})
    assert settled(table, [Gate(min=0.7, rule="anytime")]) == "pass"
    assert settled(table, [Gate(min=0.7)]) is None
    assert settled(table, [Gate(min=0.7, rule="anytime"), Gate(metric="pass^1", min=0.7)]) is None


def test_a_gate_has_a_rule_of_its_own_which_a_kind_that_is_given_overrules() -> None:
    gate = Gate(min=0.7, rule="anytime")
    assert gate_rules(gate)[0].kind == "anytime"
    assert gate_rules(gate, kind="point")[0].kind == "point"


@pytest.mark.parametrize(
    ("gate", "what"),
    [
        (Gate(baseline="react", max_drop=0.1), "a drop from a baseline"),
        (Gate(metric="usd_per_reliable_success", max=2.0), "no share"),
        (Gate(task="t1", min=0.5), "a single task"),
        (Gate(min=1.0), "a bound of 1"),
        (Gate(max=0.0), "a bound of 0"),
    ],
)
def test_what_evidence_cannot_judge_is_refused(gate: Gate, what: str) -> None:
    with pytest.raises(ConfigurationError, match=what):
        gate_rules(gate, kind="anytime")
    with pytest.raises(ConfigurationError, match="a single task"):
        judge(a_table({"react": [8]}), ["pass^8>=0.5"], kind="anytime", per_task=True)
