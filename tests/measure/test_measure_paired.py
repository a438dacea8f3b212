"""Paired tests against other implementations, against published values, and by going through all cases."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from evalkit.measure.metric import Shares
from evalkit.measure.paired import DRAWS, Side, bonett_price, holm, sign_flip, within_tasks

QUARTERS = st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 0.75, 1.0]), min_size=1, max_size=9)


def of_counts(c: list[int], n: int = 8, k: int = 8) -> Shares:
    """Make the shares of tasks with these passes."""
    size = len(c)
    return Shares(trials=np.full(size, n), hits=np.array(c), unknown=np.zeros(size, dtype=int), k=k)


@pytest.mark.parametrize(
    ("differences", "exact", "mid"),
    [
        ([1, 1, 1], 0.25, 0.125),
        ([1] * 6, 0.03125, 0.015625),
        ([-1] * 7 + [1] + [0] * 2, 0.0703125, 0.0390625),
        ([0.5, -0.25, 0.75, 0.5, 0.1, 0.3, 0, 0.2], 0.0625, 0.0546875),
        ([0, 0, 0], 1.0, 1.0),
        ([1, -1], 1.0, 0.75),
        ([0.5], 1.0, 0.5),
    ],
)
def test_sign_flip_by_hand(differences: list[float], exact: float, mid: float) -> None:
    found = sign_flip(np.array(differences, dtype=float))
    assert (found.exact, found.mid) == pytest.approx((exact, mid), abs=1e-12)
    assert found.enumerated


@settings(max_examples=60, deadline=None)
@given(QUARTERS, st.sampled_from(["two-sided", "less"]))
def test_sign_flip_is_the_share_of_all_sign_patterns(drawn: list[float], side: Side) -> None:
    """Exact and mid-p against going through every pattern of signs; and the sign of a task set to 0 does not matter."""
    differences = np.array(drawn)
    if not differences.any():
        return
    sums = np.array([np.dot(signs, differences) for signs in product((-1.0, 1.0), repeat=differences.size)])
    observed = differences.sum()
    surplus = observed - sums if side == "less" else np.abs(sums) - abs(observed)
    found = sign_flip(differences, side=side)
    assert found.exact == pytest.approx(np.mean(surplus >= -1e-9))
    assert found.mid == pytest.approx(np.mean(surplus > 1e-9) + 0.5 * np.mean(np.abs(surplus) <= 1e-9))
    assert sign_flip(-differences).exact == pytest.approx(sign_flip(differences).exact)
    assert sign_flip(differences[::-1], side=side) == found


@pytest.mark.parametrize("seed", range(3))
def test_sign_flip_agrees_with_scipy(seed: int) -> None:
    differences = np.round(np.random.default_rng(seed).normal(0.1, 0.4, 9), 3)
    sides: tuple[Side, Side] = ("two-sided", "less")
    for side in sides:
        oracle = permutation_test(
            (differences,), np.sum, permutation_type="samples", alternative=side, n_resamples=np.inf
        )
        assert sign_flip(differences, side=side).exact == pytest.approx(oracle.pvalue, abs=1e-12)


@pytest.mark.parametrize(("worse", "better"), [(7, 1), (40, 20), (3, 0), (300, 240)])
def test_sign_flip_of_whole_differences_is_mcnemars_exact_test(worse: int, better: int) -> None:
    differences = np.repeat([-1.0, 1.0, 0.0], [worse, better, 11])
    oracle = mcnemar([[0, worse], [better, 11]], exact=True)
    assert sign_flip(differences).exact == pytest.approx(oracle.pvalue, rel=1e-9)
    assert sign_flip(differences).enumerated


def test_many_unequal_differences_are_drawn_and_the_draws_are_near_the_truth() -> None:
    differences = np.array([-0.5, -1.0, 0.25] * 7)
    drawn = sign_flip(differences, seed=1)
    assert not drawn.enumerated
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate((sums - difference, sums + difference))
    exact = float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9))
    assert drawn.exact == pytest.approx(exact, abs=4.0 * np.sqrt(exact / DRAWS) + 1.0 / DRAWS)
    assert sign_flip(differences, seed=1) == drawn
    assert sign_flip(differences, seed=2) != drawn


def test_a_drawn_p_is_never_0() -> None:
    found = sign_flip(np.linspace(0.5, 1.0, 60))
    assert found.exact == 1.0 / (DRAWS + 1.0)
    assert 0.0 < found.mid < found.exact


@pytest.mark.parametrize(
    ("tasks", "differing", "exact"), [(9, 9, True), (10, 5, True), (10, 6, False), (30, 20, False)]
)
def test_few_tasks_or_few_differences_are_decided_by_the_exact_p(tasks: int, differing: int, exact: bool) -> None:
    found = sign_flip(np.repeat([1.0, 0.0], [differing, tasks - differing]))
    assert found.p == (found.exact if exact else found.mid)


def test_bonett_price_of_seven_worse_and_one_better_of_thirty() -> None:
    """(7, 1, 22): -6/32 -+ 1.96 sqrt((10/32 - (6/32)^2) / 32)."""
    differences = np.repeat([-1.0, 1.0, 0.0], [7, 1, 22])
    assert bonett_price(differences) == pytest.approx((-0.369966, -0.005034), abs=1e-6)
    one = bonett_price(differences, confidence=0.975, sides=1)
    assert one == pytest.approx(bonett_price(differences))


@settings(max_examples=60, deadline=None)
@given(QUARTERS, st.floats(0.5, 0.999))
def test_laws_of_the_differences_interval(drawn: list[float], confidence: float) -> None:
    """It holds the mean, lies in [-1, 1], has width, and turns round with the differences."""
    differences = np.array(drawn)
    low, high = bonett_price(differences, confidence=confidence)
    assert -1.0 <= low <= differences.mean() <= high <= 1.0
    assert high > low
    assert bonett_price(-differences, confidence=confidence) == pytest.approx((-high, -low))


def test_no_tasks_have_no_interval() -> None:
    assert np.isnan(bonett_price(np.array([]))).all()
    assert sign_flip(np.array([])).exact == 1.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), max_size=8))
def test_holm_agrees_with_statsmodels(p: list[float]) -> None:
    """And is never below the p that it adjusts."""
    found = holm(p)
    if p:
        assert found == pytest.approx(multipletests(p, method="holm")[1])
    assert all(adjusted >= raw for adjusted, raw in zip(found, p, strict=True))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize(
    ("first", "second", "k", "p"),
    [
        ([8, 8, 8], [7, 7, 7], 8, Fraction(1, 4)),
        ([8, 8, 8], [4, 5, 6], 8, Fraction(7, 3900)),
        ([8, 8, 8], [0, 0, 0], 8, Fraction(1, 1065873451500)),
        ([8, 7, 8], [5, 4, 6], 1, Fraction(121, 11700)),
        ([5], [5], 1, Fraction(1)),
    ],
)
def test_moving_trials_within_tasks_by_exact_counting(first: list[int], second: list[int], k: int, p: Fraction) -> None:
    """Fractions: products of hypergeometric probabilities, summed over the splits that are as extreme."""
    assert within_tasks(of_counts(first, k=k), of_counts(second, k=k)) == pytest.approx(float(p), rel=1e-9)


def test_moving_trials_within_tasks_of_unequal_numbers() -> None:
    """Two trials against three, one pass in all: it is the first's with chance 2/5, the second's with 3/5."""
    found = within_tasks(of_counts([1], n=2, k=1), of_counts([0], n=3, k=1))
    assert found == pytest.approx(2 / 5)


def test_too_much_to_count_is_not_counted() -> None:
    assert within_tasks(of_counts([8] * 501), of_counts([8] * 501)) is None
    many = [9 + place % 5 for place in range(40)]
    assert within_tasks(of_counts(many, n=16), of_counts(many, n=16)) is None
