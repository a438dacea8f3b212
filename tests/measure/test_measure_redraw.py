"""The same comparison made again: chances that follow the rule itself, and tasks that would tell."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.measure.odds import Word
from evalkit.measure.paired import bonett_price, sign_flip
from evalkit.measure.redraw import Drop


def judged(gains: np.ndarray, drop: Drop) -> Word:
    """The verdict of the rule itself on some gains."""
    low, _ = bonett_price(gains, confidence=drop.confidence, sides=1)
    if low > -drop.bound:
        return "pass"
    p = sign_flip(gains, side="less").p * drop.tests
    return "fail" if p <= 1.0 - drop.confidence else "inconclusive"


@pytest.mark.parametrize(
    ("gains", "needed"),
    [([-1.0] * 3, 6), ([-1.0, -1.0, 0.0], 11), ([-1.0] * 3 + [0.0] * 2, 12), ([0.0] * 3, 45), ([-0.5] * 4, 6)],
)
def test_so_few_tasks_never_fail_so_another_run_says_the_same_and_more_tasks_are_wanted(
    gains: list[float], needed: int
) -> None:
    drop = Drop(bound=0.05, kind="lower", confidence=0.95, tests=2)
    found = np.array(gains)
    assert judged(found, drop) == "inconclusive"
    assert drop.flips(found, "inconclusive") < 0.01
    assert drop.needed(found) == pytest.approx(needed, abs=1)


def test_of_six_tasks_that_all_break_a_fail_is_found_and_stands() -> None:
    drop = Drop(bound=0.05, kind="lower", confidence=0.95, tests=2)
    found = np.full(6, -1.0)
    assert judged(found, drop) == "fail"
    assert judged(np.full(5, -1.0), drop) == "inconclusive"
    assert drop.needed(np.full(5, -1.0)) == 6
    assert 0.1 < drop.flips(found, "fail") < 0.6, "one task that does not differ, and nothing can be found"


@pytest.mark.parametrize("tasks", [30, 60])
@pytest.mark.parametrize("rates", [(0.3, 0.1), (0.1, 0.1), (0.02, 0.02)])
def test_the_chance_is_how_often_the_rule_judges_drawn_tasks_otherwise(tasks: int, rates: tuple[float, float]) -> None:
    rng = np.random.default_rng(tasks)
    drop = Drop(bound=0.10, kind="lower", confidence=0.95)
    gains = np.repeat((-1.0, 1.0, 0.0), [round(tasks * rates[0]), round(tasks * rates[1]), tasks])[:tasks]
    values, weights = np.append(gains, (1.0, -1.0)), np.append(np.ones(tasks), (0.5, 0.5))
    again = [judged(rng.choice(values, tasks, p=weights / weights.sum()), drop) for _ in range(600)]
    verdict = judged(gains, drop)
    same = again.count(verdict) / len(again)
    assert drop.flips(gains, verdict) == pytest.approx(1.0 - same, abs=0.08)


def test_each_kind_of_rule_has_its_own_verdicts() -> None:
    gains = np.array([-1.0, -1.0] + [0.0] * 10)
    assert Drop(bound=0.05, kind="point", confidence=0.95).flips(gains, "fail") < 0.3
    assert Drop(bound=0.05, kind="not-worse", confidence=0.95).flips(gains, "pass") < 0.1
    assert Drop(bound=0.05, kind="point", confidence=0.95).flips(gains, "inconclusive") == 1.0


def test_where_the_truth_lies_on_the_margin_no_number_of_tasks_tells() -> None:
    gains = np.array([-1.0, 1.0] * 20)
    assert Drop(bound=0.0, kind="lower", confidence=0.95).needed(gains) is None


def test_the_same_gains_give_the_same_digits() -> None:
    gains = np.array([-0.3, 0.2, 0.0, -0.1])
    drop = Drop(bound=0.1, kind="lower", confidence=0.95)
    assert drop.flips(gains, "inconclusive") == drop.flips(gains[::-1], "inconclusive")
