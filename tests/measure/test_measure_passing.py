"""pass^k and pass@k against their definition: the share of k-subsets of the trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.measure.passing import TABLE_LIMIT, curve, histogram, pass_at_k, pass_at_table, pass_hat_k, pass_hat_table

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


def exact_hat(n: int, c: int, k: int) -> Fraction:
    """The definition as a fraction."""
    return Fraction(math.comb(c, k), math.comb(n, k))


@pytest.mark.parametrize("n", range(1, 9))
def test_every_small_case_is_the_share_of_subsets_counted_one_by_one(n: int) -> None:
    for c in range(n + 1):
        trials = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            subsets = list(combinations(trials, k))
            hat = Fraction(sum(all(subset) for subset in subsets), len(subsets))
            at = Fraction(sum(any(subset) for subset in subsets), len(subsets))
            assert pass_hat_k(n, c, k) == float(hat)
            assert pass_at_k(n, c, k) == float(at)


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (8, 7, 1, Fraction(7, 8)),
        (8, 7, 8, Fraction(0)),
        (8, 8, 8, Fraction(1)),
        (8, 6, 2, Fraction(15, 28)),
        (8, 5, 3, Fraction(5, 28)),
        (8, 4, 4, Fraction(1, 70)),
        (8, 3, 4, Fraction(0)),
        (5, 3, 2, Fraction(3, 10)),
        (10, 9, 5, Fraction(1, 2)),
        (16, 15, 8, Fraction(1, 2)),
        (16, 14, 8, Fraction(7, 30)),
        (16, 12, 8, Fraction(1, 26)),
        (16, 8, 8, Fraction(1, 12870)),
        (100, 99, 8, Fraction(23, 25)),
        (100, 95, 8, Fraction(26611, 40740)),
    ],
)
def test_pass_hat_is_the_exact_rational_correctly_rounded(n: int, c: int, k: int, value: Fraction) -> None:
    assert exact_hat(n, c, k) == value
    assert pass_hat_k(n, c, k) == float(value)


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [(8, 6, 2, "27/28"), (8, 5, 3, "55/56"), (8, 4, 4, "69/70"), (8, 3, 4, "13/14"), (5, 3, 2, "9/10"), (8, 0, 1, "0")],
)
def test_pass_at_is_the_exact_rational_correctly_rounded(n: int, c: int, k: int, value: str) -> None:
    assert pass_at_k(n, c, k) == float(Fraction(value))


@pytest.mark.parametrize(
    ("n", "c", "k"),
    [
        (10**6, 999_999, 8),
        (10**6, 999_000, 8),
        (10**6, 999_995, 10**5),
        (10**6, 500_000, 8),
        (10**6, 998_000, 1000),
        (10**9, 10**9 - 1000, 8),
        (TABLE_LIMIT + 1, TABLE_LIMIT - 100, 40),
    ],
)
def test_large_counts_keep_their_accuracy(n: int, c: int, k: int) -> None:
    fewer, more = sorted((k, n - c))
    share = Fraction(1)
    for j in range(fewer):
        share *= Fraction(n - j - more, n - j)
    assert pass_hat_k(n, c, k) == pytest.approx(float(share), rel=1e-14)
    assert pass_at_k(n, n - c, k) == pytest.approx(float(1 - share), rel=1e-13)


def test_small_chances_of_pass_at_k_keep_their_relative_accuracy() -> None:
    assert pass_at_k(10**9, 1, 1) == pytest.approx(1e-9, rel=1e-14)


def test_a_share_too_small_for_a_float_is_zero_and_not_an_error() -> None:
    assert pass_hat_k(10**9, 5 * 10**8, 10**8) == 0.0
    assert pass_at_k(10**9, 5 * 10**8, 10**8) == 1.0


def test_equal_fractions_of_different_counts_are_equal_floats() -> None:
    assert pass_hat_k(16, 15, 8) == pass_hat_k(10, 9, 5) == 0.5


BOTH = pytest.mark.parametrize("value", [pass_hat_k, pass_at_k])


@BOTH
def test_fewer_than_k_trials_are_undefined(value: Callable[..., float]) -> None:
    assert math.isnan(value(3, 3, 4))
    assert math.isnan(value(0, 0, 1))


@BOTH
@pytest.mark.parametrize("k", [0, -1, 1.0, True, "8"])
def test_k_must_be_a_whole_number_from_1(value: Callable[..., float], k: object) -> None:
    with pytest.raises(ValueError, match="k must be"):
        value(8, 8, k)


@BOTH
@pytest.mark.parametrize(("n", "c"), [(8, 9), (8, -1), (8.0, 4), (8, 4.5), (2 * 10**9, 1), (-1, -1)])
def test_counts_must_be_possible(value: Callable[..., float], n: object, c: object) -> None:
    with pytest.raises(ValueError, match=r"trials|passes"):
        value(n, c, 2)


def test_arrays_broadcast_and_tell_undefined_from_zero() -> None:
    values = pass_hat_k(np.array([[8], [2], [2000]]), np.array([0, 2]), 2)
    assert values.shape == (3, 2)
    assert np.isnan(pass_hat_k(np.array([2]), np.array([2]), 3)).all()
    assert values[0].tolist() == [0.0, float(Fraction(1, 28))]
    assert values[1].tolist() == [0.0, 1.0]


def test_tables_are_read_only_since_they_are_shared() -> None:
    for table in (pass_hat_table(8, 4), pass_at_table(8, 4)):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1.0


@given(COUNTS)
def test_laws_of_one_task(counts: tuple[int, int, int]) -> None:
    """Both lie in [0, 1], pass^k <= pass@k, both rise with c, pass^k falls and pass@k rises with k, and the two are complements."""
    n, c, k = counts
    hat, at = pass_hat_k(n, c, k), pass_at_k(n, c, k)
    assert 0.0 <= hat <= at <= 1.0
    assert at == pytest.approx(1.0 - pass_hat_k(n, n - c, k), abs=1e-15)
    if c < n:
        assert pass_hat_k(n, c + 1, k) >= hat
        assert pass_at_k(n, c + 1, k) >= at
    if k < n:
        assert pass_hat_k(n, c, k + 1) <= hat
        assert pass_at_k(n, c, k + 1) >= at
    assert pass_hat_k(n, c, 1) == pass_at_k(n, c, 1) == c / n


@given(st.integers(1, 40), st.integers(1, 8), st.floats(0.0, 1.0))
def test_pass_hat_is_unbiased_for_p_to_the_k(extra: int, k: int, p: float) -> None:
    """The mean over all binomial outcomes is p^k, whatever n: what the plug-in (c/n)^k is not."""
    n = k + extra
    chances = np.array([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])
    assert chances @ pass_hat_table(n, k) == pytest.approx(p**k, abs=1e-12)


def test_the_curve_of_a_suite_is_the_mean_at_every_k() -> None:
    c = np.array([8, 7, 4, 0])
    hat, at = curve(np.full(4, 8), c), curve(np.full(4, 8), c, any_of_k=True)
    assert hat.shape == at.shape == (8,)
    assert hat[[0, 1, 3, 7]] == pytest.approx([19 / 32, 55 / 112, 53 / 140, 1 / 4], abs=1e-15)
    assert at[[1, 3, 7]] == pytest.approx([39 / 56, 209 / 280, 3 / 4], abs=1e-15)


def test_each_task_counts_with_its_own_n_and_the_curve_ends_at_the_smallest() -> None:
    n, c = np.array([8, 10, 16]), np.array([8, 9, 15])
    assert curve(n, c)[-1] == pytest.approx(17 / 30, abs=1e-15)
    assert curve(n, c).shape == (8,)
    assert curve(np.array([3, 0]), np.array([3, 0])).shape == (0,)
    assert curve(np.array([], dtype=int), np.array([], dtype=int)).shape == (0,)


def test_published_pass_hat_of_a_real_agent_is_reproduced() -> None:
    """tau-bench README, airline, tool-calling gpt-4o: 50 tasks of 4 trials, 14, 12, 10, 4, 10 of them with 0 to 4 passes."""
    c = np.repeat(np.arange(5), [14, 12, 10, 4, 10])
    assert np.round(curve(np.full(50, 4), c), 3).tolist() == [0.42, 0.273, 0.22, 0.2]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=30), st.integers(0, 9))
def test_the_histogram_counts_every_task_once_in_any_order(pairs: list[tuple[int, int]], seed: int) -> None:
    """Histogram and curve do not depend on the order of tasks."""
    n = np.array([size for size, _ in pairs])
    c = np.minimum(n, [passes for _, passes in pairs])
    order = np.random.default_rng(seed).permutation(n.size)
    trials, passes, tasks = histogram(n, c)
    assert tasks.sum() == n.size
    assert sorted(np.repeat(trials * 100 + passes, tasks)) == sorted(n * 100 + c)
    assert np.array_equal(curve(n, c), curve(n[order], c[order]))
