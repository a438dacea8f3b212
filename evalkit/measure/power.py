"""What a planned run could show: the drop in pass^k that N tasks of n trials find, and how closely they pin down one variant.

The variance of a task's difference has two parts: how differently the change hits the tasks, which only more tasks can average out, and
the luck of the trials, which more trials shrink as well. Planning is choosing between the two.

Invariant: everything here is a forecast under a law of tasks that is named; nothing is random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from evalkit.core.errors import ConfigurationError
from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.interval import binomial_law, tail
from evalkit.measure.passing import TABLE_LIMIT, pass_hat_table
from evalkit.measure.words import counted

Kind = Literal["diffuse", "broken"]
"""How a drop comes about: every task gets a little worse, or some tasks break and the others stay."""

MOST_TASKS = 1_000_000
"""Above this number of tasks a drop counts as beyond reach."""

ALIKE = 1e-6
"""A spread of chances below which the beta law's quantiles lose their digits, and at last are none."""

_POINTS = 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """Tasks as chances of success of one trial: `p` in [0, 1] with `weights` that add up to 1, both of shape (points,)."""

    p: Floats
    weights: Floats

    def mean(self, k: int = 1) -> float:
        """Give the true pass^k, the mean of p^k."""
        return float(self.weights @ self.p**k)

    def noise(self, n: int, k: int) -> float:
        """Give the mean over tasks of the variance that n trials leave in a task's pass^k."""
        return float(self.weights @ trial_noise(n, k, self.p))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prospect:
    """A difference that is to be shown: `drop` in pass^`k`, `between` the variance of the tasks' true differences, and both variants' laws."""

    k: int
    drop: float
    between: float
    first: Law
    second: Law

    def variance(self, n: int) -> float:
        """Give the variance of one task's difference in pass^k when either variant has n trials."""
        return self.between + self.first.noise(n, self.k) + self.second.noise(n, self.k)

    def power(self, tasks: int, n: int, *, confidence: float = 0.95) -> float:
        """Give the chance that a two-sided test on so many tasks finds the drop, Phi(drop sqrt(N / variance) - z)."""
        z, variance = -float(ndtri(tail(confidence, 2))), self.variance(n)
        if tasks < 1:
            return 0.0
        return float(ndtr(self.drop * math.sqrt(tasks / variance) - z)) if variance > 0.0 else 1.0

    def tasks_needed(self, n: int, *, power: float = 0.8, confidence: float = 0.95) -> int | None:
        """Give the tasks at which the drop is found with a chance of `power`; None above a million.

        N = (z_confidence + z_power)^2 variance / drop^2, rounded up. Raises `ConfigurationError` unless 0.5 <= power < 1.
        Source: the paired sample size of normal theory, with the variance of pass^k in it (compare Miller 2024, arXiv 2411.00640).
        """
        if not 0.5 <= power < 1.0:
            raise ConfigurationError.of("power", f"{power!r} is not between 0.5 and 1", "write 0.8 for 80%")
        z = float(ndtri(power)) - float(ndtri(tail(confidence, 2)))
        luck, size = z**2 * self.variance(n), self.drop**2
        if luck > MOST_TASKS * size:  # also where a drop is so small that its square is 0
            return None
        return max(1, math.ceil(luck / size - 1e-9)) if luck > 0.0 else 1


def trial_noise(n: int, k: int, p: Floats) -> Floats:
    """Give the variance of a task's pass^k over its n trials, for each chance p in [0, 1]; shape of `p`.

    sum over c of Binomial(c; n, p) v_c^2 - p^(2k), v_c = C(c, k) / C(n, k). Raises `ConfigurationError` unless 1 <= k <= n <= 1,024.
    """
    if not 1 <= k <= n:
        raise ConfigurationError.of(f"pass^{k}", f"{counted(n, 'trial')} a task cannot show it", f"plan at least {k}")
    if n > TABLE_LIMIT:
        raise ConfigurationError.of("trials", f"{n} a task are more than {TABLE_LIMIT}, which can be planned")
    inside = (p > 0.0) & (p < 1.0)
    noise = np.zeros(p.shape)
    noise[inside] = binomial_law(n, p[inside]) @ pass_hat_table(n, k) ** 2 - p[inside] ** (2 * k)
    return np.maximum(noise, 0.0)


def beta_law(mean: float, spread: float) -> Law:
    """Assume that tasks' chances follow the beta law of this mean and standard deviation, as 400 equally likely points.

    A spread of 0, or of so little that no double tells such tasks apart (`ALIKE`), makes all tasks alike. Raises `ConfigurationError` for a mean outside (0, 1) and a spread that no law on [0, 1] of that
    mean has (it must be below sqrt(mean (1 - mean))).
    """
    if not 0.0 < mean < 1.0:
        raise ConfigurationError.of(
            "mean", f"{mean!r} is not between 0 and 1", "write the pass@1 that you expect, such as 0.9"
        )
    widest = math.sqrt(mean * (1.0 - mean))
    if not 0.0 <= spread < widest:
        what = f"{spread!r} is no spread of chances with the mean {mean:g}"
        raise ConfigurationError.of("spread", what, f"it lies between 0 and {widest:.3f}")
    if spread < ALIKE:
        return Law(p=np.array([mean]), weights=np.ones(1))
    size = mean * (1.0 - mean) / spread**2 - 1.0
    share = (np.arange(_POINTS) + 0.5) / _POINTS
    p = np.asarray(betaincinv(mean * size, (1.0 - mean) * size, share), dtype=np.float64)
    return Law(p=p, weights=np.full(_POINTS, 1.0 / _POINTS))


def pilot_law(trials: Ints, passed: Ints) -> Law:
    """Take the chances of tasks from a run that was made: (c + 1/2) / (n + 1) each, so that all-pass does not read as certainty.

    `trials` and `passed` have shape (tasks,); tasks without trials are left out. The noise is somewhat too high where most tasks pass
    always or never. Raises `ValueError` where no task has trials.
    """
    tried = trials > 0
    if not tried.any():
        raise ValueError("no task has been tried")
    p = (passed[tried] + 0.5) / (trials[tried] + 1.0)
    return Law(p=p, weights=np.full(p.size, 1.0 / p.size))


def assumed(law: Law, k: int, drop: float, kind: Kind) -> Prospect:
    """Forecast a drop in pass^k from a law of tasks.

    `diffuse`: every p is multiplied by (1 - drop / pass^k)^(1/k), as by one new way to fail that can strike any trial. `broken`: the share
    drop / pass^k of tasks, independent of p, falls to 0. Raises `ConfigurationError` for a drop outside (0, pass^k].
    """
    top = law.mean(k)
    if not 0.0 < drop <= 1.0:
        raise ConfigurationError.of("drop", f"{drop!r} is no drop", "write 0.1 for ten points")
    if drop > top * (1.0 + 1e-12):
        what = f"pass^{k} is about {top:.3f} and cannot drop by {drop:g}"
        raise ConfigurationError.of("drop", what, "ask for a smaller one, or expect better tasks")
    if kind == "broken":
        share = min(1.0, drop / top)
        second = Law(
            p=np.concatenate((law.p, np.zeros(1))), weights=np.concatenate((law.weights * (1.0 - share), [share]))
        )
        between = share * law.mean(2 * k) - drop**2
    else:
        second = Law(p=law.p * max(0.0, 1.0 - drop / top) ** (1.0 / k), weights=law.weights)
        between = float(law.weights @ (law.p**k - second.p**k) ** 2) - drop**2
    return Prospect(k=k, drop=drop, between=max(0.0, between), first=law, second=second)


def piloted(trials: Ints, first: Ints, second: Ints, k: int, drop: float) -> Prospect:
    """Forecast a drop from a run of the two variants themselves: passes `first` and `second` of `trials`, all of shape (tasks,), at least two.

    The variance between tasks is that of the observed differences in pass^k, less what the luck of the pilot's trials adds to it. That luck is
    estimated rather too low, so the forecast for more trials than the pilot's is cautious; for as many it is the plain one. Raises
    `ValueError` for fewer than two tasks and fewer than k trials, `ConfigurationError` for a drop that is none.
    """
    if trials.size < 2 or trials.min() < k:
        raise ValueError(f"a pilot of pass^{k} needs two tasks of at least {k} trials")
    if not 0.0 < drop <= 1.0:
        raise ConfigurationError.of("drop", f"{drop!r} is no drop", "write 0.1 for ten points")
    laws = pilot_law(trials, first), pilot_law(trials, second)
    values = [
        np.array([pass_hat_table(int(n), k)[c] for n, c in zip(trials, hits, strict=True)]) for hits in (first, second)
    ]
    luck = sum(
        float(np.mean([trial_noise(int(n), k, law.p[place : place + 1])[0] for place, n in enumerate(trials)]))
        for law in laws
    )
    between = float(np.var(values[1] - values[0], ddof=1)) - luck
    return Prospect(k=k, drop=drop, between=max(0.0, between), first=laws[0], second=laws[1])


def half_width(law: Law, tasks: int, n: int, k: int, *, confidence: float = 0.95) -> float:
    """Give half the width that an interval of one variant's pass^k is to have, z sqrt((Var p^k + noise) / N), by normal theory.

    The interval that is computed is some wider with few tasks. NaN without tasks.
    """
    if tasks < 1:
        return math.nan
    z = -float(ndtri(tail(confidence, 2)))
    return z * math.sqrt((law.mean(2 * k) - law.mean(k) ** 2 + law.noise(n, k)) / tasks)
