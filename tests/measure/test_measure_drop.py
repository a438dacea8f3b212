"""Rules on a drop from a baseline: proven harmless, found harmful, or neither."""

from __future__ import annotations

import numpy as np
import pytest
from measure_tables import Cells, a_table

from evalkit.core.plan import Gate
from evalkit.measure.gate import judge, together
from evalkit.measure.paired import bonett_price, sign_flip
from evalkit.measure.rule import Kind
from evalkit.measure.ruling import Ruling

BASE = [8] * 22 + [7] * 4 + [3] * 2 + [0] * 2


def only(base: Cells, other: Cells, drop: float, metric: str = "pass^8", kind: Kind = "lower") -> Ruling:
    """Judge a drop of b from a."""
    table = a_table({"a": base, "b": other}, failed_stop="cap:turns")
    found = judge(table, [Gate(metric=metric, baseline="a", max_drop=drop)], kind=kind)
    assert len(found.rules) == 1, "the baseline is not compared with itself"
    return found.rules[0]


def moved(count: int, to: int) -> Cells:
    """The base with so many of its perfect tasks changed."""
    return [to] * count + [8] * (22 - count) + list(BASE[22:])


def test_an_unchanged_suite_passes_where_the_margin_is_wider_than_the_luck() -> None:
    found = only(list(BASE), list(BASE), 0.10)
    assert (found.verdict, found.value, found.threshold, found.baseline) == ("pass", 0.0, -0.10, "a")
    assert (found.low, found.high) == pytest.approx(bonett_price(np.zeros(30), sides=1))
    assert only(list(BASE), list(BASE), 0.05).verdict == "inconclusive"


def test_a_large_drop_fails_with_its_p() -> None:
    found = only(list(BASE), moved(8, 7), 0.10)
    assert found.verdict == "fail"
    assert "pass^8 of b against a: −0.267 (30 tasks, n=8)" in found.sentence
    assert "significantly worse in pass^8 (p=.0039 one-sided, Holm), pass@1 (p=.0039 one-sided, Holm)" in found.sentence


def test_a_drop_that_shows_in_pass_at_1_alone_fails_a_rule_on_pass_hat() -> None:
    """Seven tasks that never passed every time lose more, so that pass^8 does not move."""
    base: Cells = [8] * 10 + [7] * 7
    found = only(base, [8] * 10 + [2] * 7, 0.05)
    assert (found.verdict, found.value) == ("fail", 0.0)
    assert "pass@1" in found.sentence
    assert "significantly worse in pass^8" not in found.sentence


def test_a_middling_drop_is_neither() -> None:
    found = only(list(BASE), moved(4, 7), 0.10)
    assert found.verdict == "inconclusive"
    assert found.needed is not None
    assert found.flips is not None
    assert "tasks would tell" in found.sentence


@pytest.mark.parametrize(
    ("count", "kind", "verdict"),
    [
        (3, "point", "pass"),
        (4, "point", "fail"),
        (4, "not-worse", "pass"),
        (8, "not-worse", "fail"),
        (0, "not-worse", "pass"),
    ],
)
def test_other_kinds_have_two_verdicts(count: int, kind: Kind, verdict: str) -> None:
    assert only(list(BASE), moved(count, 7), 0.10, kind=kind).verdict == verdict


def test_a_rise_of_what_should_be_low_is_a_drop() -> None:
    found = only([8] * 30, [6] * 30, 0.10, "cap_rate(turns)")
    assert (found.verdict, found.value, found.threshold) == ("fail", 0.25, 0.10)
    assert "cap_rate(turns) of b against a: 0.250" in found.sentence
    assert "may rise 0.1" in found.sentence
    assert only([6] * 30, [8] * 30, 0.10, "cap_rate(turns)").verdict == "pass"


def test_all_tests_of_a_gate_are_one_family() -> None:
    """Five differing tasks: p = 1/32 by itself, twice that where another variant is tested too."""
    base: Cells = [8] * 9
    worse: Cells = [7] * 5 + [8] * 4
    alone = judge(a_table({"a": base, "b": worse}), [Gate(metric="cap_rate(any)", baseline="a", max_drop=0.0)])
    assert sign_flip(np.repeat([-1.0, 0.0], [5, 4]), side="less").p == 1 / 32
    table = a_table({"a": base, "b": worse, "c": worse}, failed_stop="cap:usd")
    rule = Gate(metric="cap_rate(any)", baseline="a", max_drop=0.0)
    assert [one.verdict for one in judge(table, [rule]).rules] == ["inconclusive", "inconclusive"]
    single = judge(a_table({"a": base, "b": worse}, failed_stop="cap:usd"), [rule])
    assert [one.verdict for one in single.rules] == ["fail"]
    assert alone.verdict == "inconclusive", "nothing was capped"
    twice = judge(a_table({"a": base, "b": worse}, failed_stop="cap:usd"), [rule, rule])
    assert [one.verdict for one in twice.rules] == ["fail", "fail"], "the same test asked twice is one test"


def test_unknown_trials_leave_a_drop_inconclusive_however_large() -> None:
    found = only([8] * 30, [*[0] * 29, (7, 0, 1, 0)], 0.10)
    assert (found.verdict, found.value) == ("inconclusive", None)
    assert (
        "is undefined: 1 of 30 tasks with trials missing or in error: t29; may drop 0.1: INCONCLUSIVE" in found.sentence
    )


def test_the_chance_of_another_verdict_is_small_far_from_the_margin_and_large_near_it() -> None:
    same = only(list(BASE), list(BASE), 0.3)
    near = only(list(BASE), moved(1, 7), 0.12)
    assert same.flips is not None
    assert near.flips is not None
    assert same.flips < 0.01
    assert 0.2 < near.flips < 0.8


@pytest.mark.parametrize(("count", "said"), [(1, True), (4, True), (5, False)])
def test_too_few_differing_tasks_to_show_a_drop_are_told(count: int, said: bool) -> None:
    tasks = [8] * 12
    found = only(tasks, [4] * count + tasks[count:], 0.10, kind="not-worse")
    differ = "1 task differs" if count == 1 else f"{count} tasks differ"
    assert (f"only {differ}, so that no change of pass^8 could be significant" in found.sentence) is said


def test_judgements_together_have_all_rules_and_the_worst_verdict() -> None:
    table = a_table({"a": [8] * 12, "b": [0] * 12})
    good, bad = judge(table, ["pass^8[a]>=0.1"]), judge(table, ["pass^8[b]>=0.9"])
    found = together([good, bad])
    assert (found.verdict, len(found.rules), set(found.unmeasured)) == ("fail", 2, {"a", "b"})
    assert together([good]) == good
    with pytest.raises(ValueError, match="no judgement"):
        together([])
