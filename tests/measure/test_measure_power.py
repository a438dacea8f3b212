"""Planning: the formula against its published figures, and against simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.measure.interval import gaffke
from evalkit.measure.paired import sign_flip
from evalkit.measure.passing import pass_hat_table
from evalkit.measure.power import (
    Kind,
    Law,
    Prospect,
    assumed,
    beta_law,
    half_width,
    pilot_law,
    piloted,
    trial_noise,
)

U_SHAPED = beta_law(0.5, math.sqrt(0.125))
GOOD = beta_law(0.8, math.sqrt(0.16 / 11))
ALIKE = beta_law(0.95, 0.0)


def test_the_noise_of_n_equal_to_k_is_that_of_a_coin_and_that_of_k_one_a_share() -> None:
    p = np.array([0.0, 0.3, 0.9, 1.0])
    assert trial_noise(8, 8, p) == pytest.approx(p**8 * (1 - p**8))
    assert trial_noise(10, 1, p) == pytest.approx(p * (1 - p) / 10)


@pytest.mark.parametrize(
    ("law", "kind", "figures"),
    [
        (U_SHAPED, "diffuse", [114, 71, 55, 36]),
        (GOOD, "diffuse", [211, 112, 78, 37]),
        (ALIKE, "diffuse", [369, 226, 163, 78]),
        (U_SHAPED, "broken", [115, 85, 74, 60]),
        (GOOD, "broken", [212, 126, 95, 57]),
        (ALIKE, "broken", [369, 246, 191, 115]),
    ],
)
def test_the_tasks_needed_are_those_of_an_independent_study(law: Law, kind: Kind, figures: list[int]) -> None:
    prospect = assumed(law, 8, 0.1, kind)
    found = [prospect.tasks_needed(n) for n in (8, 12, 16, 32)]
    assert found == pytest.approx(figures, rel=0.035, abs=1.5)


@pytest.mark.parametrize("kind", ["diffuse", "broken"])
def test_simulated_runs_find_the_drop_about_as_often_as_forecast(kind: Kind) -> None:
    prospect, table, runs = assumed(GOOD, 4, 0.15, kind), pass_hat_table(8, 4), 300
    tasks = prospect.tasks_needed(8)
    assert tasks is not None
    assert prospect.power(tasks, 8) >= 0.8 > prospect.power(tasks - 1, 8)
    random, found = np.random.default_rng(1), 0
    for seed in range(runs):
        place = random.integers(0, GOOD.p.size, tasks)
        first = GOOD.p[place]
        second = (
            prospect.second.p[place]
            if kind == "diffuse"
            else np.where(random.random(tasks) < 0.15 / GOOD.mean(4), 0.0, first)
        )
        gains = table[random.binomial(8, second)] - table[random.binomial(8, first)]
        found += sign_flip(gains, seed=seed).p <= 0.05
    assert found / runs == pytest.approx(0.8, abs=0.1)


def test_both_kinds_of_drop_have_the_size_that_was_asked_for() -> None:
    for kind in ("diffuse", "broken"):
        prospect = assumed(U_SHAPED, 8, 0.12, kind)
        assert prospect.first.mean(8) - prospect.second.mean(8) == pytest.approx(0.12)
        assert prospect.between >= 0.0
    whole = assumed(ALIKE, 8, ALIKE.mean(8), "broken")
    assert whole.second.mean(8) == pytest.approx(0.0)


def test_a_beta_law_has_the_moments_that_it_was_given() -> None:
    law = beta_law(0.7, 0.2)
    assert law.mean() == pytest.approx(0.7, abs=1e-3)
    assert math.sqrt(law.mean(2) - law.mean() ** 2) == pytest.approx(0.2, abs=1e-3)
    assert U_SHAPED.mean(8) == pytest.approx(0.196, abs=2e-3)


def test_a_pilot_of_both_variants_forecasts_from_their_own_differences() -> None:
    random, tasks = np.random.default_rng(3), 4_000
    p = random.beta(4.0, 2.0, tasks)
    worse = np.where(random.random(tasks) < 0.3, 0.0, p)
    n = np.full(tasks, 12)
    prospect = piloted(n, random.binomial(12, p), random.binomial(12, worse), 4, 0.1)
    truth = float(np.var(worse**4 - p**4))
    assert truth < prospect.between < 1.4 * truth
    same = piloted(n, random.binomial(12, p), random.binomial(12, p), 4, 0.1)
    assert same.between < 0.01
    assert same.tasks_needed(8) > same.tasks_needed(16)  # type: ignore[operator]  # both are within reach


def test_a_pilots_law_is_drawn_a_little_to_the_middle() -> None:
    law = pilot_law(np.array([8, 8, 0]), np.array([8, 0, 0]))
    assert list(law.p) == pytest.approx([8.5 / 9, 0.5 / 9])
    with pytest.raises(ValueError, match="no task"):
        pilot_law(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))
    with pytest.raises(ValueError, match="two tasks"):
        piloted(np.array([8]), np.array([8]), np.array([8]), 8, 0.1)


def test_the_forecast_width_is_that_of_the_interval_for_many_tasks() -> None:
    random = np.random.default_rng(4)
    counts = np.bincount(random.binomial(12, random.beta(8.0, 2.0, 400)), minlength=13)
    low, high = gaffke(pass_hat_table(12, 8), counts)
    assert half_width(GOOD, 400, 12, 8) == pytest.approx((high - low) / 2, rel=0.08)
    assert math.isnan(half_width(GOOD, 0, 12, 8))


def test_more_of_anything_shows_more() -> None:
    prospect = assumed(GOOD, 8, 0.1, "diffuse")
    assert prospect.power(0, 8) == 0.0
    assert prospect.power(30, 8) < prospect.power(60, 8) < prospect.power(60, 16)
    assert prospect.tasks_needed(8, power=0.9) > prospect.tasks_needed(8)  # type: ignore[operator]  # both are within reach
    assert assumed(GOOD, 8, 1e-4, "diffuse").tasks_needed(8) is None
    certain = Prospect(k=1, drop=0.1, between=0.0, first=Law(p=np.ones(1), weights=np.ones(1)), second=ALIKE)
    assert certain.tasks_needed(1000) == 1
    assert Prospect(k=1, drop=1.0, between=0.0, first=certain.first, second=certain.first).power(1, 1) == 1.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: beta_law(1.0, 0.1), "mean"),
        (lambda: beta_law(0.5, 0.5), "spread"),
        (lambda: assumed(GOOD, 8, 0.9, "diffuse"), "cannot drop"),
        (lambda: assumed(GOOD, 8, 0.0, "broken"), "is no drop"),
        (lambda: assumed(GOOD, 8, 0.1, "broken").tasks_needed(4), "at least 8"),
        (lambda: assumed(GOOD, 8, 0.1, "broken").tasks_needed(8, power=1.0), "power"),
        (lambda: assumed(GOOD, 8, 0.1, "broken").power(10, 2000), "1024"),
        (lambda: piloted(np.array([8, 8]), np.array([8, 8]), np.array([8, 8]), 8, 0.0), "drop"),
    ],
)
def test_nonsense_is_refused_with_what_would_do(wrong: object, said: str) -> None:
    assert callable(wrong)
    with pytest.raises(ConfigurationError, match=said):
        wrong()


def test_a_drop_too_small_for_its_square_needs_more_tasks_than_there_are() -> None:
    for kind in ("diffuse", "broken"):
        assert assumed(GOOD, 8, 1e-320, kind).tasks_needed(8) is None


@pytest.mark.parametrize("drop", [0.0, -0.1, 1.5, math.nan])
def test_what_is_no_drop_is_told_as_none(drop: float) -> None:
    with pytest.raises(ConfigurationError, match="is no drop"):
        assumed(GOOD, 8, drop, "diffuse")


@pytest.mark.parametrize("spread", [1e-7, 1e-9, 1e-20, 1e-100, 1e-320])
def test_a_spread_of_next_to_nothing_is_one_of_nothing(spread: float) -> None:
    assert beta_law(0.95, spread).mean(8) == pytest.approx(ALIKE.mean(8), abs=1e-9)
