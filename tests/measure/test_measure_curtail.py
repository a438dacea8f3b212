"""Stopping early: the verdict of the full run, and unbiased values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalkit.measure.curtail import (
    curtailed,
    curtailment,
    first_failures,
    pass_hat_by_first_failure,
)
from evalkit.measure.interval import gaffke
from evalkit.measure.odds import Bar, Word
from evalkit.measure.passing import pass_hat_table
from evalkit.measure.rule import Kind

BAR = Bar(sense=">=", bound=0.7, kind="lower")


def fixed(values: np.ndarray[tuple[int], np.dtype[np.float64]], bar: Bar) -> Word:
    """The verdict of all tasks."""
    low, high = gaffke(values, np.ones(values.size, dtype=np.int64), sides=1)
    return bar.verdict(float(values.mean()), low, high)


@pytest.mark.parametrize("kind", ["lower", "point", "not-worse"])
@pytest.mark.parametrize(("n", "k"), [(8, 8), (12, 8)])
def test_a_curtailed_verdict_is_that_of_the_full_run_and_comes_before_it(kind: Kind, n: int, k: int) -> None:
    random, table, saved = np.random.default_rng([n, k]), pass_hat_table(n, k), 0
    bar = Bar(sense=">=", bound=0.5, kind=kind)
    for _ in range(8):
        values = table[random.binomial(n, random.choice([0.2, 0.9, 0.97, 1.0], size=20))]
        said = [curtailed(values[:done], values.size, bar) for done in range(values.size + 1)]
        assert said[-1] == fixed(values, bar)
        assert all(one in {None, said[-1]} for one in said)
        first = next(done for done, one in enumerate(said) if one is not None)
        assert all(one is not None for one in said[first:]), "once it stands it stands"
        saved += values.size - first
    assert saved > 0


@pytest.mark.parametrize("sense", [">=", "<="])
def test_the_table_of_counts_says_the_same_as_the_values(sense: str) -> None:
    bar = Bar(sense=">=" if sense == ">=" else "<=", bound=0.7, kind="lower")
    table = curtailment(12, bar)
    for done in range(13):
        for hits in range(done + 1):
            values = np.array([1.0] * hits + [0.0] * (done - hits))
            assert table[done][hits] == curtailed(values, 12, bar)


def test_the_published_counts_decide() -> None:
    table = curtailment(30, BAR)
    assert table[0] == (None,)
    assert table[30] == ("fail",) * 17 + ("inconclusive",) * 9 + ("pass",) * 5
    assert table[26][25:] == (None, "pass"), "26 of 26 are enough for a pass of 30"
    assert table[29][20] == "inconclusive", "and so is what can be neither any more"
    assert curtailed(np.ones(26), 30, BAR) == "pass"
    assert curtailed(np.ones(25), 30, BAR) is None
    assert curtailed(np.zeros(14), 30, BAR) == "fail", "16 of 30 is the most that fails"
    assert curtailed(np.zeros(13), 30, BAR) is None


def test_curtailment_errs_no_more_often_than_the_full_run() -> None:
    random, runs, spent = np.random.default_rng(7), 2_000, 0
    wrong = {"pass": 0, "fail": 0, "inconclusive": 0, "open": 0}
    table, tasks = curtailment(60, BAR), 60
    for _ in range(runs):
        hits, results = 0, random.random(tasks) < 0.7
        for done in range(1, tasks + 1):
            hits += int(results[done - 1])
            word = table[done][hits]
            if word is not None:
                break
        spent += done
        wrong[word or "open"] += 1
    assert wrong.pop("open") == 0
    wrong.pop("inconclusive")
    assert max(wrong.values()) / runs <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / runs)
    assert spent < runs * tasks


def test_skipping_after_the_first_failure_leaves_every_pass_hat_unbiased_and_not_the_rate() -> None:
    random, n, runs = np.random.default_rng(9), 8, 40_000
    p = random.beta(4.0, 1.0, runs)
    trials = random.random((runs, n)) < p[:, None]
    lost = ~trials
    tried = np.where(lost.any(axis=1), lost.argmax(axis=1) + 1, n)
    passed = np.where(lost.any(axis=1), tried - 1, n)
    failure = first_failures(passed, tried)
    for j in (1, 2, 4, 8):
        error = math.sqrt(0.25 / runs)
        assert pass_hat_by_first_failure(failure, runs, j, n) == pytest.approx(float((p**j).mean()), abs=4 * error)
    assert pass_hat_by_first_failure(failure, runs, 8, n) == float(trials.all(axis=1).mean())
    rate = float((passed / tried).mean())
    assert abs(rate - float(p.mean())) > 0.01, "the plain rate of what was tried is no estimate"
    assert tried.sum() < 0.8 * runs * n


def test_counts_that_no_first_failure_leaves_are_refused() -> None:
    assert list(first_failures([0, 3, 8], [1, 4, 8])) == [1, 4, 9]
    with pytest.raises(ValueError, match="first failure"):
        first_failures([5], [8])
    with pytest.raises(ValueError, match="first failure"):
        first_failures([-1], [0])
    with pytest.raises(ValueError, match="cannot be had"):
        pass_hat_by_first_failure(np.array([9]), 1, 9, 8)
    with pytest.raises(ValueError, match="for each task"):
        pass_hat_by_first_failure(np.array([9]), 2, 8, 8)
    assert math.isnan(pass_hat_by_first_failure(np.empty(0, dtype=np.int64), 0, 8, 8))


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="3 values of 2"):
        curtailed(np.ones(3), 2, BAR)
    with pytest.raises(ValueError, match="lie in"):
        curtailed(np.array([math.nan]), 2, BAR)
    with pytest.raises(ValueError, match="0 tasks"):
        curtailment(0, BAR)
