"""Estimates: the mean over all planned tasks with its interval, or the reason why there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_tables import a_row, a_table, table_of

from evalkit.core.errors import ConfigurationError
from evalkit.measure.estimate import estimate
from evalkit.measure.interval import clopper_pearson, suite_interval

CELLS = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def test_a_suite_of_four_tasks() -> None:
    table = a_table({"x": [8, 7, 4, 0]})
    found = estimate(table, "pass^2", "x")
    assert found.value == found.worst == found.best == pytest.approx(55 / 112)
    assert (found.k, found.tasks, found.trials, found.hits) == (2, 4, (8, 8), None)
    assert (found.confidence, found.scope, found.method, found.why) == (0.95, "population", "gaffke", "")
    assert estimate(table, "pass@4", "x").value == pytest.approx(209 / 280)


def test_with_n_equal_to_k_the_interval_is_that_of_the_tasks_that_always_passed() -> None:
    found = estimate(a_table({"x": [8] * 25 + [7, 6, 3, 0, 0]}), "pass^8", "x")
    assert found.hits == 25
    assert (found.low, found.high) == pytest.approx((0.652788, 0.943578), abs=1e-6)
    one = estimate(a_table({"x": [8] * 25 + [7, 6, 3, 0, 0]}), "pass^8", "x", sides=1)
    assert one.low == pytest.approx(0.681029, abs=1e-6)


def test_each_task_counts_with_its_own_number_of_trials() -> None:
    found = estimate(a_table({"x": [(8, 0, 0, 0), (9, 1, 0, 0), (15, 1, 0, 0)]}), "pass^8", "x")
    assert found.value == pytest.approx(17 / 30)
    assert found.trials == (8, 16)


def test_tasks_that_a_variant_is_not_tried_on_are_no_tasks_of_its() -> None:
    table = table_of(
        [a_row(("s", "a"), "x", 1, "passed")],
        tasks=[("s", "a"), ("s", "b")],
        variants=["x", "y"],
        planned=[[1, 1], [0, 1]],
    )
    assert estimate(table, "pass^1", "x").tasks == 1
    assert estimate(table, "pass^1", "x").value == 1.0


def test_too_few_trials_for_k_leave_the_value_undefined() -> None:
    table = a_table({"x": [(8, 0, 0, 0), (5, 0, 0, 0), (4, 0, 0, 0)]})
    found = estimate(table, "pass^8", "x")
    assert (found.value, found.low, found.high, found.worst, found.best) == (None,) * 5
    assert found.why == "k=8 needs 8 trials a task, task t1 has 5, and 1 more have too few"
    assert found.undefined == ("t1", "t2")
    assert estimate(table, "pass^4", "x").value == 1.0


def test_unknown_trials_leave_the_value_undefined_between_two_readings() -> None:
    found = estimate(a_table({"x": [8, (7, 0, 1, 0), (6, 1, 0, 1), 0]}), "pass^8", "x")
    assert found.value is found.low is found.high is None
    assert (found.worst, found.best) == (0.25, 0.5)
    assert found.undefined == ("t1", "t2")
    assert found.why == "2 of 32 trials are missing or in error, in 2 of 4 tasks: t1, t2"
    assert found.method == "none"


def test_worst_is_the_worse_reading_whatever_a_hit_means() -> None:
    found = estimate(a_table({"x": [(6, 0, 1, 1), 8]}), "cap_rate(turns)", "x")
    assert (found.worst, found.best) == (2 / 16, 0.0)


def test_an_error_is_known_to_the_error_rate() -> None:
    assert estimate(a_table({"x": [(6, 0, 2, 0), 8]}), "error_rate", "x").value == 1 / 8
    assert estimate(a_table({"x": [(6, 0, 1, 1), 8]}), "error_rate", "x").value is None


def test_no_tasks_have_no_value() -> None:
    found = estimate(a_table({"x": []}), "pass^8", "x")
    assert (found.value, found.tasks, found.trials, found.why) == (None, 0, (0, 0), "no task is planned")


@pytest.mark.parametrize(
    ("cells", "ends"), [([8], (0.025, 1.0)), ([7], (0.0, 0.975)), ([8] * 3, (0.025 ** (1 / 3), 1.0))]
)
def test_one_task_all_pass_and_all_fail_have_intervals_with_width(cells: list[int], ends: tuple[float, float]) -> None:
    found = estimate(a_table({"x": cells}), "pass^8", "x")
    assert (found.low, found.high) == pytest.approx(ends)


def test_the_interval_of_one_named_task_is_that_of_its_chance_to_the_k() -> None:
    table = a_table({"x": [8, 6]})
    low, high = clopper_pearson(6, 8)
    found = estimate(table, "pass^2", "x", task="t1")
    assert found.value == pytest.approx(15 / 28)
    assert (found.low, found.high) == pytest.approx((low**2, high**2))
    assert (found.scope, found.method, found.tasks, found.hits, found.task) == ("task", "clopper-pearson", 1, 6, "t1")
    at = estimate(table, "pass@2", "x", task=1)
    assert (at.low, at.high) == pytest.approx((1 - (1 - low) ** 2, 1 - (1 - high) ** 2))


def test_an_interval_holds_its_estimate_even_where_the_unbiased_one_is_low() -> None:
    found = estimate(a_table({"x": [7]}), "pass^8", "x", task="t0")
    assert found.value == found.low == 0.0


def test_the_suite_itself_is_known_better_than_its_kind() -> None:
    table = a_table({"x": [(16, 0, 0, 0)] * 20 + [(15, 1, 0, 0)] * 6 + [(14, 2, 0, 0)] * 3 + [(0, 16, 0, 0)]})
    suite, kind = estimate(table, "pass^8", "x", scope="suite"), estimate(table, "pass^8", "x")
    assert (suite.low, suite.high) == pytest.approx((0.646069, 0.895226), abs=2e-6)
    assert suite.value == kind.value == pytest.approx(0.79)
    assert suite.low is not None
    assert kind.low is not None
    assert suite.low > kind.low
    assert (suite.scope, suite.method) == ("suite", "effective-clopper-pearson")


def test_pass_at_of_the_suite_is_pass_hat_of_the_failures_turned_round() -> None:
    found = estimate(a_table({"x": [8, 6, 1]}), "pass@2", "x", scope="suite")
    low, high = suite_interval(np.array([8, 8, 8]), np.array([0, 2, 7]), np.array([1, 1, 1]), 2)
    assert (found.low, found.high) == pytest.approx((1 - high, 1 - low))


def test_a_price_has_no_interval() -> None:
    found = estimate(a_table({"x": [8, 0]}), "usd_per_reliable_success", "x")
    assert found.value == pytest.approx(0.16)
    assert (found.low, found.high, found.method, found.k) == (None, None, "none", None)


def test_names_and_confidence_are_checked() -> None:
    table = a_table({"react": [8]})
    for metric, variant, task, confidence in (
        ("pass^8", "raect", None, 0.95),
        ("pass^8", "react", "t7", 0.95),
        ("pass", "react", None, 0.95),
        ("pass^8", "react", None, 1.0),
        ("usd_per_reliable_success", "react", None, 95.0),
    ):
        with pytest.raises(ConfigurationError):
            estimate(table, metric, variant, task=task, confidence=confidence)


@settings(max_examples=40, deadline=None)
@given(
    CELLS,
    st.integers(1, 6),
    st.sampled_from(["pass^", "pass@"]),
    st.sampled_from(["population", "suite"]),
    st.integers(0, 9),
)
def test_laws_of_estimates(cells: list[int], k: int, sign: str, scope: str, seed: int) -> None:
    """The value lies in its interval, rises with every pass, and neither depends on the order of tasks."""
    found = estimate(a_table({"x": cells}, n=6), f"{sign}{k}", "x", scope=scope)  # type: ignore[arg-type]  # drawn from the scopes
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    shuffled = [cells[place] for place in np.random.default_rng(seed).permutation(len(cells))]
    again = estimate(a_table({"x": shuffled}, n=6), f"{sign}{k}", "x", scope=scope)  # type: ignore[arg-type]  # the same
    assert (again.value, again.low, again.high) == (found.value, found.low, found.high)
    better = estimate(a_table({"x": [min(6, c + 1) for c in cells]}, n=6), f"{sign}{k}", "x")
    assert better.value is not None
    assert better.value >= found.value


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6),
    st.integers(1, 3),
)
def test_the_readings_enclose_whatever_the_unknown_trials_would_have_been(
    cells: list[tuple[int, int, int]], k: int
) -> None:
    """Filling the unknown trials in any way gives a value between worst and best."""
    whole = [(p, f + 3, e, 0) for p, f, e in cells]
    found = estimate(a_table({"x": whole}), f"pass^{k}", "x")
    halves = estimate(
        a_table({"x": [(p + math.ceil(e / 2), f + e // 2, 0, 0) for p, f, e, _ in whole]}), f"pass^{k}", "x"
    )
    assert found.worst is not None
    assert found.best is not None
    assert halves.value is not None
    assert found.worst - 1e-12 <= halves.value <= found.best + 1e-12
