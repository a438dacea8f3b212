"""The random mean's distribution against the beta law, where it has one, and against random draws, where it has none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betainc

from evalkit.measure.dirichlet import dirichlet_mean_cdf, dirichlet_mean_quantile

TWO = np.array([0.0, 1.0])
LEVELS = (0.0005, 0.025, 0.05, 0.5, 0.95, 0.975, 0.9995)


@pytest.mark.parametrize("total", [1, 2, 3, 10, 100, 10_000, 1_000_000])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.5, 0.97, 1.0])
def test_two_values_make_a_beta_variable(total: int, share: float) -> None:
    hits = round(total * share)
    for extra in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)):
        weights = np.array([total - hits, hits]) + extra
        if weights.min() == 0.0:
            continue
        for level in LEVELS:
            t = dirichlet_mean_quantile(level, TWO, weights)
            if 1e-6 < t < 1.0 - 1e-6:
                assert dirichlet_mean_cdf(t, TWO, weights) == pytest.approx(
                    betainc(weights[1], weights[0], t), abs=1e-9
                )
                assert betainc(weights[1], weights[0], t) == pytest.approx(
                    level, abs=1e-7
                )  # scipy's inverse is off so much


def test_values_outside_the_range_have_probability_none_or_all() -> None:
    values, weights = np.array([0.2, 0.7]), np.array([3.0, 2.0])
    assert dirichlet_mean_cdf(0.2, values, weights) == 0.0
    assert dirichlet_mean_cdf(0.1, values, weights) == 0.0
    assert dirichlet_mean_cdf(0.7, values, weights) == 1.0
    assert dirichlet_mean_cdf(0.9, values, weights) == 1.0


def test_one_value_is_certain_and_weightless_values_do_not_count() -> None:
    assert dirichlet_mean_quantile(0.05, np.array([0.0, 0.4, 1.0]), np.array([0.0, 7.0, 0.0])) == 0.4


def test_three_values_against_a_third_that_hardly_counts() -> None:
    values, weights = np.array([0.0, 0.5, 1.0]), np.array([7.0, 1e-9, 4.0])
    for level in LEVELS:
        beta = dirichlet_mean_quantile(level, TWO, weights[[0, 2]])
        assert dirichlet_mean_quantile(level, values, weights) == pytest.approx(beta, abs=1e-8)


@pytest.mark.parametrize("tasks", [1, 3, 30, 1000, 1_000_000])
def test_quantile_and_distribution_are_inverse(tasks: int) -> None:
    generator = np.random.default_rng(tasks)
    for _ in range(5):
        values = np.concatenate((TWO, generator.random(9) ** generator.integers(1, 15)))
        counts = generator.multinomial(tasks, np.full(9, 1 / 9)).astype(float)
        weights = np.concatenate((generator.random(2), counts))
        kept = weights > 0.0
        for level in LEVELS:
            t = dirichlet_mean_quantile(level, values, weights)
            assert dirichlet_mean_cdf(t, values[kept], weights[kept]) == pytest.approx(level, abs=1e-10)


def test_random_draws_agree() -> None:
    generator = np.random.default_rng(7)
    values, weights = np.array([0.0, 1 / 26, 7 / 30, 0.5, 1.0]), np.array([1.0, 2.0, 1.0, 3.0, 4.0])
    means = generator.dirichlet(weights, 200_000) @ values
    for level in (0.025, 0.5, 0.975):
        t = dirichlet_mean_quantile(level, values, weights)
        assert np.mean(means <= t) == pytest.approx(level, abs=4.0 * np.sqrt(level * (1.0 - level) / 200_000))


def test_the_same_input_gives_the_same_digits() -> None:
    values, weights = np.array([0.0, 0.3, 1.0]), np.array([1.0, 20.0, 9.0])
    assert len({dirichlet_mean_quantile(0.025, values, weights) for _ in range(5)}) == 1
