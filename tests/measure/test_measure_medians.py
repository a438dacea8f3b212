"""Quantiles of amounts: bounded by tasks, not by trials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from measure_tables import a_row, a_table, table_of
from scipy.stats import t as student

from evalkit.core.errors import ConfigurationError
from evalkit.measure.amounts import spread
from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.medians import FEWEST_FOR_P95, quantile, woodruff


def a_sample(tasks: int, n: int, seed: int, trial: float = 0.4) -> tuple[Floats, Ints]:
    """Amounts that differ more between tasks than within them."""
    random = np.random.default_rng(seed)
    logs = 0.8 * random.normal(size=(tasks, 1)) + trial * random.normal(size=(tasks, n))
    return np.exp(logs).ravel(), np.repeat(np.arange(tasks), n)


def test_the_bounds_are_the_sample_quantiles_at_the_shares_that_the_tasks_leave_open() -> None:
    amounts, tasks = a_sample(20, 8, 1)
    value, low, high = woodruff(amounts, tasks, 0.5)
    z = (amounts.reshape(20, 8) <= value).mean(axis=1)
    reach = student.ppf(0.975, 19) * z.std(ddof=1) / math.sqrt(20)
    assert low == np.quantile(amounts, 0.5 - reach, method="inverted_cdf")
    assert high == np.quantile(amounts, 0.5 + reach, method="inverted_cdf")
    assert {value, low, high} <= set(amounts)
    assert low < value < high


def test_the_order_of_trials_and_the_names_of_tasks_do_not_matter() -> None:
    amounts, tasks = a_sample(12, 5, 2)
    order = np.random.default_rng(3).permutation(amounts.size)
    assert woodruff(amounts[order], 7 * tasks[order] + 100, 0.5) == woodruff(amounts, tasks, 0.5)


def test_more_trials_of_the_same_tasks_buy_little_and_more_tasks_buy_much() -> None:
    def width(tasks: int, n: int) -> float:
        """The mean width of the median's interval."""
        found = [woodruff(*a_sample(tasks, n, seed), 0.5) for seed in range(40)]
        return float(np.mean([high - low for _, low, high in found]))

    few, longer, more = width(16, 4), width(16, 64), width(64, 4)
    assert longer > 0.8 * few
    assert more < 0.6 * few


@pytest.mark.parametrize("tasks", [10, 30])
def test_the_median_is_held_as_often_as_is_said(tasks: int) -> None:
    runs, held = 300, 0
    for seed in range(runs):
        _, low, high = woodruff(*a_sample(tasks, 8, seed), 0.5)
        held += low <= 1.0 <= high
    assert held / runs >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / runs)


def test_tasks_that_all_have_the_same_share_below_still_leave_a_width() -> None:
    amounts = np.tile([1.0, 2.0, 3.0, 4.0], 10)
    value, low, high = woodruff(amounts, np.repeat(np.arange(10), 4), 0.5)
    assert low <= value < high


def test_a_bound_beyond_the_sample_is_undefined_and_not_made_up() -> None:
    amounts, tasks = a_sample(3, 8, 4)
    value, low, high = woodruff(amounts, tasks, 0.5)
    assert value in amounts
    assert math.isnan(low)
    assert math.isnan(high)
    assert math.isnan(woodruff(amounts, np.zeros_like(tasks), 0.5)[1])
    assert np.isnan(woodruff(np.empty(0), np.empty(0, dtype=np.int64), 0.5)).all()
    assert np.isnan(woodruff(np.array([1.0, math.nan]), np.array([0, 1]), 0.5)).all()


def test_a_tail_is_bounded_only_with_enough_tasks() -> None:
    few, many = (a_table({"x": [8] * tasks}) for tasks in (FEWEST_FOR_P95 - 1, FEWEST_FOR_P95))
    assert quantile(few, "x", "turns", 0.95).low is None
    assert quantile(many, "x", "turns", 0.95).low is not None
    assert quantile(few, "x", "turns").low is not None
    assert quantile(few, "x", "turns", 0.95).value == spread(few, "x", "turns").p95


def test_only_trials_that_speak_of_the_agent_count_and_unknown_dollars_are_unknown() -> None:
    rows = [a_row(("s", f"t{task}"), "x", index, "passed", turns=task + index) for task in range(8) for index in (1, 2)]
    rows.append(a_row(("s", "t0"), "x", 3, "error", turns=1000))
    table = table_of(rows, tasks=[("s", f"t{task}") for task in range(8)], variants=["x"], planned=3)
    found = quantile(table, "x", "turns")
    assert (found.tasks, found.trials) == (8, 16)
    assert found.value == spread(table, "x", "turns").p50
    rows[0]["usd"] = None
    unpriced = table_of(rows, tasks=table.tasks, variants=["x"], planned=3)
    assert quantile(unpriced, "x", "usd").value is None
    assert quantile(table, "x", "usd").value == 0.01


def test_nothing_measured_and_nonsense() -> None:
    empty = table_of([], tasks=[("s", "a")], variants=["x"], planned=3)
    found = quantile(empty, "x", "tokens")
    assert (found.value, found.low, found.high, found.trials) == (None, None, None, 0)
    with pytest.raises(ConfigurationError):
        quantile(empty, "y", "turns")
    with pytest.raises(ConfigurationError):
        quantile(empty, "x", "turns", confidence=0.0)
    with pytest.raises(ValueError, match="no quantile"):
        quantile(empty, "x", "turns", 1.0)
