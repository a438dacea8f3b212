"""From bounds to a verdict, and what another run would say.

Invariant: a verdict depends on the estimate and its two one-sided bounds alone, so that what would change it can be told beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import bdtr, ndtr, ndtri

from evalkit.measure.estimate import Ask, Estimate, Reading, valued
from evalkit.measure.metric import Shares
from evalkit.measure.rule import Kind

Word = Literal["pass", "fail", "inconclusive", "invalid"]

POWER = 0.80
"""The chance of a clear verdict that `Odds.needed` aims for."""

_NOISE = 1e-12
_MOST_UNITS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What a value is held to: its sense, the bound, and how the rule is held."""

    sense: Literal[">=", "<="]
    bound: float
    kind: Kind

    def verdict(self, value: float, low: float, high: float) -> Word:
        """Judge a value with its one-sided bounds: both at the confidence of the rule, each by itself.

        `lower`: pass where the whole interval meets the bound, fail where none of it does, else inconclusive. `point`: the value alone.
        `not-worse`: fail where nothing of the interval meets the bound, else pass.
        """
        bound, value, low, high = self.upright(value, low, high)
        if self.kind == "point":
            return "pass" if value >= bound - _NOISE else "fail"
        if high < bound - _NOISE:
            return "fail"
        return "pass" if low >= bound - _NOISE or self.kind == "not-worse" else "inconclusive"

    def upright(self, value: float, low: float, high: float) -> tuple[float, float, float, float]:
        """Give bound, value, low and high so that more is better, all with their signs turned where less is."""
        return (self.bound, value, low, high) if self.sense == ">=" else (-self.bound, -value, -high, -low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """What would change a verdict.

    `flips` is the chance that the same run, made again, is judged otherwise; None, and then `why`. `exact` says that it is a
    binomial probability and not a normal approximation. `pass_at` and `fail_at` are the number of `unit` (tasks that pass all k trials, or
    one task's trials that pass) at which the verdict turns to pass and to fail, None where no number does or where results are
    no counts. `needed` is how many of them (trials of each task, for the scope `suite`) would give a clear verdict in four runs of five, were the estimate the truth; None where none would.
    """

    flips: float | None = None
    why: str = ""
    exact: bool = False
    unit: Literal["tasks", "trials"] = "tasks"
    pass_at: int | None = None
    fail_at: int | None = None
    needed: int | None = None


def odds(reading: Reading, estimate: Estimate, bar: Bar, asked: Ask) -> Odds:
    """Tell what would change the verdict on an estimate, made of this reading with one-sided bounds.

    Exact where results are counts: one task, or n = k for every task and the scope `population`. The chance of a hit is then taken
    to be (s + 1/2) / (N + 1), the estimate drawn a little to the middle, so that all-pass does not read as certainty. Else the estimate of
    the next run is taken as normal about this one, with the standard error that the width of the interval stands for: against resampled
    suites of 10 and 30 tasks that is off by up to 0.1 or so, and too high more often than too low.
    """
    found = reading.found
    if not isinstance(found, Shares) or estimate.value is None or estimate.low is None or estimate.high is None:
        return Odds(why=estimate.why or "there is no interval")
    one_task = reading.task is not None
    if one_task or (
        asked.scope == "population" and bool((found.trials == found.k).all()) and estimate.hits is not None
    ):
        units = int(found.trials[0]) if one_task else estimate.tasks
        return _counted(units, estimate.hits or 0, found.k, bar, asked, any_of_k=found.any_of_k, one_task=one_task)
    error = (estimate.high - estimate.low) / (2.0 * -float(ndtri(1.0 - asked.confidence)))
    bound, value, low, high = bar.upright(estimate.value, estimate.low, estimate.high)
    passes, fails = bound + (value - low), bound - (high - value)
    if bar.kind != "lower":
        passes = fails = bound if bar.kind == "point" else fails
    verdict = bar.verdict(estimate.value, estimate.low, estimate.high)
    needed = None
    unit: Literal["tasks", "trials"] = "trials" if asked.scope == "suite" else "tasks"
    if verdict == "inconclusive":
        size = estimate.tasks if unit == "tasks" else int(found.trials.min())
        needed = units_needed(size, abs(value - bound), error, asked.confidence)
    return Odds(flips=1.0 - normal_chance(verdict, value, error, passes, fails), unit=unit, needed=needed)


def normal_chance(verdict: Word, value: float, error: float, passes: float, fails: float) -> float:
    """Give the chance that a next value, normal about this one, has this verdict: pass from `passes` on, fail below `fails`."""
    if error <= 0.0:
        return 1.0
    above, below = float(ndtr((value - passes) / error)), float(ndtr((fails - value) / error))
    return {"pass": above, "fail": below}.get(verdict, max(0.0, 1.0 - above - below))


def units_needed(units: int, distance: float, error: float, confidence: float) -> int | None:
    """Give how many tasks (of these very tasks: trials a task) show a distance from the bound with a chance of `POWER`.

    `error` is the standard error that `units` of them have.

    N (z_confidence + z_power)^2 (error / distance)^2; None above 100,000.
    """
    if distance <= _NOISE:
        return None
    needed = units * ((float(ndtri(confidence)) + float(ndtri(POWER))) * error / distance) ** 2
    return math.ceil(needed) if needed <= _MOST_UNITS else None


@lru_cache(maxsize=1024)
def _counted(units: int, hits: int, k: int, bar: Bar, asked: Ask, *, any_of_k: bool, one_task: bool) -> Odds:
    """Go through the counts that another run may give; kept, since tasks with the same counts have the same odds."""

    def result(total: int, count: int) -> tuple[float, float, float]:
        """Value a run of `count` hits in `total`."""
        if one_task:
            kinds = np.array([total]), np.array([count]), np.array([1])
        else:
            kinds = np.array([k, k]), np.array([0, k]), np.array([total - count, count])
        value, _, (low, high) = valued(kinds, k, asked, any_of_k=any_of_k, one_task=one_task)
        return value, low, high

    verdict = bar.verdict(*result(units, hits))
    ranges = _ranges(bar, units, lambda count: result(units, count))
    same = _binomial_chance(ranges[verdict], units, (hits + 0.5) / (units + 1.0))
    upward = bar.sense == ">="
    return Odds(
        flips=min(1.0, max(0.0, 1.0 - same)),
        exact=True,
        unit="trials" if one_task else "tasks",
        pass_at=_end(ranges["pass"], first=upward),
        fail_at=_end(ranges["fail"], first=not upward),
        needed=_units_needed(bar, result, units, hits) if verdict == "inconclusive" else None,
    )


def _end(span: tuple[int, int], *, first: bool) -> int | None:
    """Give the first or the last count of a range, None of an empty one."""
    return None if span[0] > span[1] else span[0] if first else span[1]


def _ranges(bar: Bar, units: int, result: Callable[[int], tuple[float, float, float]]) -> dict[Word, tuple[int, int]]:
    """Give the first and last count for each verdict (last before first where there is none): the verdict follows the count."""
    order: tuple[Word, ...] = (
        ("fail", "inconclusive", "pass") if bar.sense == ">=" else ("pass", "inconclusive", "fail")
    )

    def first(rank: int) -> int:
        """Find the least count whose verdict has at least this rank."""
        low, high = 0, units + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if order.index(bar.verdict(*result(middle))) >= rank else (middle + 1, high)
        return low

    starts = [0, first(1), first(2), units + 1]
    return {word: (starts[rank], starts[rank + 1] - 1) for rank, word in enumerate(order)}


def _binomial_chance(span: tuple[int, int], units: int, chance: float) -> float:
    """Give the probability of a count inside the range."""
    first, last = span
    if first > last:
        return 0.0
    below = float(bdtr(first - 1, units, chance)) if first > 0 else 0.0
    return float(bdtr(last, units, chance)) - below


def least(units: int, clear: Callable[[int], bool]) -> int | None:
    """Search for a number above `units` that is `clear`, by doubling and halving; None above 100,000."""
    low, high = units, 2 * units
    while not clear(high):
        low, high = high, 2 * high
        if high > _MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if clear(middle) else (middle, high)
    return high


def _units_needed(
    bar: Bar, result: Callable[[int, int], tuple[float, float, float]], units: int, hits: int
) -> int | None:
    """Search for the number of units that gives a clear verdict with a chance of `POWER`.

    The chance rises in small steps back and forth; the number found is one at which it is reached, near the least such.
    """

    def clear(total: int) -> bool:
        """Tell whether so many units are enough."""
        spans = _ranges(bar, total, lambda count: result(total, count))
        return 1.0 - _binomial_chance(spans["inconclusive"], total, hits / units) >= POWER

    return least(units, clear)
