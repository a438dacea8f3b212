"""Intervals against published ones, against other implementations, and against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from statsmodels.stats.proportion import proportion_confint

from evalkit.core.errors import ConfigurationError
from evalkit.measure.interval import clopper_pearson, gaffke, jeffreys, suite_interval, tail, trial_variance
from evalkit.measure.passing import pass_hat_k, pass_hat_table

TWO = np.array([0.0, 1.0])

SUITES = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(1, 40)), min_size=1, max_size=8)


def of_counts(c: dict[int, int], n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and numbers of tasks from {passes: tasks}."""
    return pass_hat_k(n, np.array(list(c)), k), np.array(list(c.values()))


@pytest.mark.parametrize(
    ("hits", "tasks"), [(0, 3), (3, 3), (0, 1), (1, 1), (7, 10), (25, 30), (30, 30), (78, 100), (999_999, 1_000_000)]
)
def test_gaffke_of_hits_and_misses_is_clopper_pearson(hits: int, tasks: int) -> None:
    found = gaffke(TWO, np.array([tasks - hits, hits]))
    oracle = binomtest(hits, tasks).proportion_ci(0.95, "exact")
    assert found == pytest.approx((oracle.low, oracle.high), abs=1e-7)
    assert clopper_pearson(hits, tasks) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


@pytest.mark.parametrize(("hits", "tasks"), [(7, 10), (25, 30), (78, 100), (1, 30)])
def test_the_half_version_of_hits_and_misses_is_jeffreys(hits: int, tasks: int) -> None:
    found = jeffreys(TWO, np.array([tasks - hits, hits]))
    assert found == pytest.approx(proportion_confint(hits, tasks, 0.05, "jeffreys"), abs=1e-9)


def test_the_half_version_reaches_the_ends_where_all_tasks_do() -> None:
    assert jeffreys(TWO, np.array([0, 30]))[1] == 1.0
    assert jeffreys(TWO, np.array([30, 0]))[0] == 0.0


@pytest.mark.parametrize(
    ("passes", "two", "one"),
    [
        ({16: 1, 15: 1, 12: 1}, (0.083608, 0.934492), (0.112241, 0.905885)),
        ({16: 20, 15: 6, 14: 3, 0: 1}, (0.638196, 0.893413), (0.660495, 0.880595)),
        ({16: 3}, (0.292402, 1.0), (0.368403, 1.0)),
    ],
)
def test_gaffke_of_sixteen_trials_at_k_8(
    passes: dict[int, int], two: tuple[float, float], one: tuple[float, float]
) -> None:
    """Quantiles of the Dirichlet-weighted mean; the same digits come from 4 * 10^5 random draws, to their accuracy."""
    values, tasks = of_counts(passes, 16, 8)
    assert gaffke(values, tasks) == pytest.approx(two, abs=1e-6)
    assert gaffke(values, tasks, sides=1) == pytest.approx(one, abs=1e-6)
    generator = np.random.default_rng(3)
    weights = np.concatenate(([1.0], tasks))
    draws = generator.dirichlet(weights, 50_000) @ np.concatenate(([0.0], values))
    assert np.quantile(draws, 0.025) == pytest.approx(two[0], abs=0.01)


def test_the_suite_interval_of_mixed_results() -> None:
    """The formula of the docstring, whose rho(16, 8) is 0.757012 and whose effective numbers of tasks are 46.78 and 8.45."""
    full = np.full(4, 16)
    many = suite_interval(full, np.array([16, 15, 14, 0]), np.array([20, 6, 3, 1]), 8)
    few = suite_interval(full[:3], np.array([16, 15, 12]), np.array([1, 1, 1]), 8)
    assert many == pytest.approx((0.646069, 0.895226), abs=2e-6)
    assert few == pytest.approx((0.172946, 0.843890), abs=2e-6)


def test_the_suite_interval_with_n_equal_to_k_has_nothing_to_gain() -> None:
    found = suite_interval(np.full(4, 8), np.array([8, 7, 3, 0]), np.array([22, 4, 2, 2]), 8)
    assert found == pytest.approx((0.541106, 0.877205), abs=1e-6)
    assert found == pytest.approx(clopper_pearson(22, 30), abs=1e-9)


def test_the_suite_interval_of_all_pass_is_clopper_pearson() -> None:
    assert suite_interval(np.array([16]), np.array([16]), np.array([3]), 8) == clopper_pearson(3, 3)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (8, 8), (16, 8), (40, 8), (200, 50)])
def test_the_variance_of_a_tasks_trials_is_never_underestimated_on_average(n: int, k: int) -> None:
    value, estimate = pass_hat_table(n, k), trial_variance(n, k)
    for p in (0.05, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99):
        chances = binom.pmf(np.arange(n + 1), n, p)
        truth = chances @ value**2 - (chances @ value) ** 2
        assert chances @ estimate >= truth * (1.0 - 1e-3)


@pytest.mark.parametrize("bounds", [gaffke, jeffreys])
def test_no_tasks_have_no_interval(bounds: type) -> None:
    nothing = np.array([]), np.array([], dtype=int)
    assert np.isnan(bounds(*nothing)).all()
    assert np.isnan(bounds(TWO, np.array([0, 0]))).all()
    assert np.isnan(clopper_pearson(0, 0)).all()
    assert np.isnan(suite_interval(nothing[1], nothing[1], nothing[1], 1)).all()


def test_what_makes_no_sense_is_refused() -> None:
    for confidence in (0.0, 1.0, 95.0, float("nan")):
        with pytest.raises(ConfigurationError, match="between 0 and 1"):
            tail(confidence, 2)
    with pytest.raises(ConfigurationError, match="sides"):
        tail(0.95, 3)
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        gaffke(np.array([1.5]), np.array([1]))
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        gaffke(np.array([np.nan]), np.array([1]))
    with pytest.raises(ValueError, match="negative"):
        gaffke(TWO, np.array([-1, 2]))
    with pytest.raises(ValueError, match="no share"):
        clopper_pearson(4, 3)
    with pytest.raises(ValueError, match="needs 8"):
        suite_interval(np.array([4]), np.array([4]), np.array([1]), 8)
    with pytest.raises(ConfigurationError, match="population"):
        suite_interval(np.array([2000]), np.array([4]), np.array([1]), 8)


@pytest.mark.parametrize("bounds", [gaffke, jeffreys])
@settings(max_examples=40, deadline=None)
@given(suite=SUITES, confidence=st.floats(0.5, 0.999))
def test_laws_of_intervals(bounds: type, suite: list[tuple[float, int]], confidence: float) -> None:
    """They hold the mean, have width, widen with confidence, mirror when hits and misses swap, and rise with every value."""
    values, tasks = np.array([value for value, _ in suite]), np.array([many for _, many in suite])
    low, high = bounds(values, tasks, confidence=confidence)
    mean = tasks @ values / tasks.sum()
    assert -1e-12 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1.0 + 1e-12
    wider = bounds(values, tasks, confidence=0.5 + confidence / 2.0)
    assert wider[0] <= low + 1e-9
    assert wider[1] >= high - 1e-9
    mirrored = bounds(1.0 - values, tasks, confidence=confidence)
    assert mirrored == pytest.approx((1.0 - high, 1.0 - low), abs=1e-7)
    raised = bounds(np.minimum(1.0, values + 0.1), tasks, confidence=confidence)
    assert raised[0] >= low - 1e-9
    assert raised[1] >= high - 1e-9
    one_sided = bounds(values, tasks, confidence=0.5 + confidence / 2.0, sides=1)
    assert one_sided == pytest.approx((low, high), abs=1e-9)


def test_a_million_tasks_are_a_matter_of_their_kinds() -> None:
    generator = np.random.default_rng(0)
    counts = np.bincount(generator.binomial(16, 0.95, 1_000_000), minlength=17)
    values = pass_hat_table(16, 8)
    mean = counts @ values / 1_000_000
    error = np.sqrt(counts @ (values - mean) ** 2) / 1_000_000
    low, high = gaffke(values, counts)
    assert (low, high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=1e-5)
