"""What would change a verdict, against going through every possible run."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from measure_tables import a_table
from scipy.stats import binom

from evalkit.measure.estimate import Ask, conclude, read
from evalkit.measure.odds import Bar, Odds, normal_chance, odds, units_needed
from evalkit.measure.rule import Kind

ONE_SIDED = Ask(sides=1)


def judged(cells: list[int], bar: Bar, metric: str = "pass^8", task: int | None = None) -> tuple[str, Odds]:
    """Give the verdict on a suite and what would change it."""
    reading = read(a_table({"x": cells}), metric, "x", task=task)
    found = conclude(reading, ONE_SIDED)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return bar.verdict(found.value, found.low, found.high), odds(reading, found, bar, ONE_SIDED)


@pytest.mark.parametrize("kind", ["lower", "point", "not-worse"])
@pytest.mark.parametrize(("sense", "bound"), [(">=", 0.7), ("<=", 0.7), (">=", 0.0), ("<=", 1.0), (">=", 1.0)])
def test_counts_and_chances_are_those_of_every_possible_run(
    kind: Kind, sense: Literal[">=", "<="], bound: float
) -> None:
    bar = Bar(sense=sense, bound=bound, kind=kind)
    words = [judged([8] * hits + [0] * (12 - hits), bar)[0] for hits in range(13)]
    for hits in (0, 5, 9, 12):
        verdict, found = judged([8] * hits + [0] * (12 - hits), bar)
        passing = [count for count, word in enumerate(words) if word == "pass"]
        failing = [count for count, word in enumerate(words) if word == "fail"]
        upward = sense == ">="
        assert found.pass_at == ((min(passing) if upward else max(passing)) if passing else None)
        assert found.fail_at == ((max(failing) if upward else min(failing)) if failing else None)
        chances = binom.pmf(np.arange(13), 12, (hits + 0.5) / 13)
        same = sum(chance for word, chance in zip(words, chances, strict=True) if word == verdict)
        assert found.flips == pytest.approx(1.0 - same, abs=1e-9)
        assert found.exact


@pytest.mark.parametrize(
    ("tasks", "pass_at", "fail_at"), [(10, 10, 4), (30, 26, 16), (50, 41, 29), (100, 78, 61), (200, 152, 128)]
)
def test_counts_that_pass_and_fail_at_seven_in_ten(tasks: int, pass_at: int, fail_at: int) -> None:
    """From the Clopper-Pearson bounds, one-sided 95%."""
    _, found = judged([8] * tasks, Bar(sense=">=", bound=0.7, kind="lower"))
    assert (found.pass_at, found.fail_at) == (pass_at, fail_at)


@pytest.mark.parametrize(("hits", "tasks", "about"), [(24, 30, 119), (75, 100, 501), (18, 30, 144)])
def test_tasks_needed_are_about_those_of_the_normal_formula(hits: int, tasks: int, about: int) -> None:
    """((1.645 sqrt(b (1 - b)) + 0.842 sqrt(v (1 - v))) / (v - b))^2 for a value v and a bound b of 0.7."""
    verdict, found = judged([8] * hits + [0] * (tasks - hits), Bar(sense=">=", bound=0.7, kind="lower"))
    assert verdict == "inconclusive"
    assert found.needed == pytest.approx(about, rel=0.12)


def test_all_pass_needs_the_tasks_that_make_its_bound_high_enough() -> None:
    """0.05^(1 / N) >= 0.9 from N = 29 on."""
    assert judged([8] * 10, Bar(sense=">=", bound=0.9, kind="lower"))[1].needed == 29


def test_a_bound_that_no_number_of_tasks_can_show_needs_no_number() -> None:
    verdict, found = judged([8] * 10, Bar(sense=">=", bound=1.0, kind="lower"))
    assert (verdict, found.pass_at, found.needed) == ("inconclusive", None, None)


def test_one_task_is_counted_in_trials() -> None:
    bar = Bar(sense=">=", bound=0.65, kind="lower")
    verdict, found = judged([8], bar, "pass@1", task=0)
    assert (verdict, found.unit, found.pass_at, found.fail_at) == ("pass", "trials", 8, 2)
    assert found.flips == pytest.approx(1.0 - (8.5 / 9) ** 8)


def test_values_between_0_and_1_are_taken_as_normal() -> None:
    bar = Bar(sense=">=", bound=0.7, kind="lower")
    verdict, found = judged([8] * 22 + [7] * 4 + [3] * 2 + [0] * 2, bar, "pass@1")
    assert (verdict, found.exact, found.pass_at) == ("pass", False, None)
    assert found.flips is not None
    assert 0.05 < found.flips < 0.5


def test_a_point_rule_at_its_bound_is_a_coin() -> None:
    _, found = judged([8] * 21 + [0] * 9, Bar(sense=">=", bound=0.7, kind="point"))
    assert found.flips == pytest.approx(0.5, abs=0.12)
    assert normal_chance("pass", 0.7, 0.1, 0.7, 0.7) == 0.5


def test_chances_of_the_three_verdicts_are_one_together() -> None:
    chances = [normal_chance(word, 0.7, 0.1, 0.8, 0.5) for word in ("pass", "inconclusive", "fail")]
    assert sum(chances) == pytest.approx(1.0)
    assert normal_chance("pass", 0.7, 0.0, 0.5, 0.5) == 1.0


def test_a_value_on_its_bound_needs_more_tasks_than_there_are() -> None:
    assert units_needed(30, 0.0, 0.1, 0.95) is None
    assert units_needed(30, 1e-9, 0.1, 0.95) is None
    assert units_needed(30, 0.1, 0.1, 0.95) == 186
