"""Intervals for a mean over tasks, valid at the few tasks and lopsided values that agents give.

Two questions, two intervals:

- *population*: the suite's tasks stand for more tasks of their kind. The interval of Gaffke, or its half-width relative.
- *suite*: these very tasks again, so that only the luck of the trials counts. Clopper-Pearson at an effective number of tasks.

Normal-theory and bootstrap intervals are not here: below about 30 tasks they miss far more often than they say, and
all-pass results give them no width at all.

Invariant: an interval always holds its point estimate, has width unless the level is trivial, and is the same at every call.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import betaincinv, gammaln

from evalkit.core.errors import ConfigurationError
from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.dirichlet import dirichlet_mean_quantile
from evalkit.measure.passing import TABLE_LIMIT, distinct, pass_hat_table

Method = Literal["gaffke", "jeffreys"]
Scope = Literal["population", "suite"]

_MOST_EFFECTIVE = 20.0
"""Trials can make a task worth at most this many tasks of one trial; keeps a lucky variance estimate from promising the world."""


def tail(confidence: float, sides: int) -> float:
    """Give the chance of a miss at each end: (1 - confidence) / sides.

    Two sides make an interval that holds the truth with chance `confidence`; one side makes two bounds each of which does.
    Raises `ConfigurationError` unless 0 < confidence < 1 and sides is 1 or 2.
    """
    if not 0.0 < confidence < 1.0:
        raise ConfigurationError.of("confidence", f"{confidence!r} is not between 0 and 1", "write 0.95 for 95%")
    if sides not in {1, 2}:
        raise ConfigurationError.of("sides", f"{sides!r} is neither 1 nor 2")
    return (1.0 - confidence) / sides


def gaffke(values: Floats, tasks: Ints, *, confidence: float = 0.95, sides: int = 2) -> tuple[float, float]:
    """Bound the population mean of values in [0, 1], of which each was seen on a number of independent tasks.

    `values` and `tasks` have shape (distinct values,); the result is (low, high), each in [0, 1], NaN without tasks.
    Lower bound: the a-quantile of the mean of the values and one more 0 under Dirichlet(1, ..., 1) weights, a = `tail(...)`;
    upper bound: the (1 - a)-quantile with one more 1. For values that are all 0 or 1 this is exactly Clopper-Pearson; for
    others that it holds its level is a conjecture without a known counterexample.
    Raises `ValueError` for values outside [0, 1] and for negative counts.
    Sources: Gaffke 2005; Learned-Miller & Thomas 2019 (arXiv 1905.06208).
    """
    return _weighted(values, tasks, tail(confidence, sides), below=(1.0, 0.0), above=(0.0, 1.0))


def jeffreys(values: Floats, tasks: Ints, *, confidence: float = 0.95, sides: int = 2) -> tuple[float, float]:
    """Bound the population mean as `gaffke` does, with half a task at 0 and half a task at 1 for both ends.

    Shorter, and right on average instead of always: for values of 0 and 1 it is the interval of Jeffreys, with the
    ends set to 0 and 1 where all tasks are (Brown, Cai & DasGupta 2001).
    """
    low, high = _weighted(values, tasks, tail(confidence, sides), below=(0.5, 0.5), above=(0.5, 0.5))
    present = values[tasks > 0]
    if present.size == 0:
        return low, high
    return (low if present.max() > 0.0 else 0.0), (high if present.min() < 1.0 else 1.0)


def clopper_pearson(passed: float, trials: float, *, confidence: float = 0.95, sides: int = 2) -> tuple[float, float]:
    """Bound a chance of which `passed` of `trials` came true; both may be fractions. NaN without trials.

    (B(a; x, n - x + 1), B(1 - a; x + 1, n - x)) with B the quantile of the beta law, 0 for x = 0 and 1 for x = n.
    Source: Clopper & Pearson 1934.
    """
    miss = tail(confidence, sides)
    if not 0.0 <= passed <= trials:
        raise ValueError(f"{passed} of {trials} is no share")
    if trials == 0.0:
        return np.nan, np.nan
    low = float(betaincinv(passed, trials - passed + 1.0, miss)) if passed > 0.0 else 0.0
    high = float(betaincinv(passed + 1.0, trials - passed, 1.0 - miss)) if passed < trials else 1.0
    return low, high


def suite_interval(
    n: Ints, c: Ints, tasks: Ints, k: int, *, confidence: float = 0.95, sides: int = 2
) -> tuple[float, float]:
    """Bound the mean of p_i^k over these very tasks, whose trials alone are random.

    `n`, `c` and `tasks` have shape (kinds of task,): trials, passes, and how many tasks have just these; NaN without tasks.
    Clopper-Pearson at x = N* v and N* trials with v the mean pass^k and N* = N v (1 - v) / W, held between N and 20 N. W is the
    mean over tasks of `trial_variance`. N* = N where v is 0 or 1. Large-sample: the level is held closely, not exactly.
    Raises `ConfigurationError` for n above 1,024 and `ValueError` for n < k.
    """
    tail(confidence, sides)
    total = int(tasks.sum())
    if total == 0:
        return np.nan, np.nan
    if n.min() < k:
        raise ValueError(f"pass^{k} needs {k} trials a task, and one has {n.min()}")
    if n.max() > TABLE_LIMIT:
        what = f"is computed up to {TABLE_LIMIT} trials a task, and one has {n.max()}"
        raise ConfigurationError.of("scope: suite", what, "use the scope population")
    values, variances = np.empty(n.size), np.empty(n.size)
    for size in distinct(n):
        here = n == size
        values[here] = pass_hat_table(size, k)[c[here]]
        variances[here] = trial_variance(size, k)[c[here]]
    mean, noise = float(tasks @ values) / total, float(tasks @ variances) / total
    spread = mean * (1.0 - mean)
    effective = float(total)
    if spread > 0.0:
        effective = min(max(total * spread / max(noise, 1e-300), total), _MOST_EFFECTIVE * total)
    return clopper_pearson(effective * mean, effective, confidence=confidence, sides=sides)


@lru_cache(maxsize=256)
def trial_variance(n: int, k: int) -> Floats:
    """Estimate, from c = 0..n passes, how much a task's pass^k varies between repetitions of its n trials; shape (n + 1,).

    The variance of pass^k at p = (c + 1/2) / (n + 1), divided by the smallest ratio (over p, at most 1) of its
    expectation to the truth, so that it is biased upward whatever p is.
    """
    value = pass_hat_table(n, k)
    plugged = _variance(value, (np.arange(n + 1) + 0.5) / (n + 1))
    p = np.sin(np.linspace(0.1, 1.56, 1500)) ** 2
    truth = _variance(value, p)
    known = truth > 1e-250
    ratio = (binomial_law(n, p[known]) @ plugged) / truth[known]
    estimate: Floats = plugged / min(1.0, float(ratio.min(initial=1.0)))
    estimate.setflags(write=False)
    return estimate


def _variance(value: Floats, p: Floats) -> Floats:
    """Give the variance of value[C] with C binomial, for each p."""
    chances = binomial_law(value.size - 1, p)
    mean = chances @ value
    variance: Floats = np.einsum("pc,pc->p", chances, (value - mean[:, None]) ** 2)
    return variance


def binomial_law(n: int, p: Floats) -> Floats:
    """Tabulate the chances of 0..n passes in n trials for each chance p of one, all inside (0, 1); shapes (p,) to (p, n + 1)."""
    c = np.arange(n + 1)
    ways = gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(n - c + 1.0)
    chances: Floats = np.exp(ways + np.multiply.outer(np.log(p), c) + np.multiply.outer(np.log1p(-p), n - c))
    return chances


def _weighted(
    values: Floats, tasks: Ints, miss: float, *, below: tuple[float, float], above: tuple[float, float]
) -> tuple[float, float]:
    """Take both quantiles of the randomly weighted mean, with the given extra weight on 0 and on 1 for each end."""
    if np.any(tasks < 0):
        raise ValueError("a number of tasks cannot be negative")
    values, tasks = values[tasks > 0], tasks[tasks > 0]
    if values.size == 0:
        return np.nan, np.nan
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError("values must lie in [0, 1]")
    mean = float(tasks @ values) / float(tasks.sum())
    points = np.concatenate(([0.0, 1.0], values))
    low = dirichlet_mean_quantile(miss, points, np.concatenate((below, tasks)))
    high = dirichlet_mean_quantile(1.0 - miss, points, np.concatenate((above, tasks)))
    return max(0.0, min(low, mean)), min(1.0, max(high, mean))
