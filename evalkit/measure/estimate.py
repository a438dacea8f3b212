"""A metric of one variant, with its interval, or the reason why there is no value.

Invariant: nothing is dropped. A task with a trial missing or in error, or with fewer than k trials planned, leaves the value undefined;
the two readings of the unknown trials, all bad and all good, are shown instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.measure.arrays import Bools, Ints
from evalkit.measure.interval import Method, Scope, clopper_pearson, gaffke, jeffreys, suite_interval, tail
from evalkit.measure.metric import Amount, Metric, Shares
from evalkit.measure.metrics import metric as read_metric
from evalkit.measure.passing import pass_at_k, pass_hat_k
from evalkit.measure.table import Table, listed
from evalkit.measure.words import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """How an interval is to be made: with what confidence, both ends together (2 sides) or each by itself (1), for what, by what."""

    confidence: float = 0.95
    sides: int = 2
    scope: Scope = "population"
    method: Method = "gaffke"

    def __post_init__(self) -> None:
        """Refuse a confidence that is none; raises `ConfigurationError`."""
        tail(self.confidence, self.sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value in the metric's unit (a share, or dollars), None where undefined, and then `why`.

    `low` and `high` are the interval at `confidence`: both ends together where `sides` is 2, each end by itself where it is 1.
    `scope` is what they speak of: more tasks of this kind (`population`), these tasks (`suite`), or one task (`task`);
    `method` is how they were made, `none` where there are none. `tasks` counts the planned tasks, `trials` is the smallest and
    largest number of trials planned for one. `hits` is the number of tasks of value 1 where every value is 0 or 1, else None; of one
    task it is the hits among its trials.
    `worst` and `best` are the value with every unknown trial read as bad and as good; both are `value` where all is known.
    `undefined` names the tasks without a value.
    """

    metric: str
    variant: str
    task: str | None
    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float
    sides: int
    scope: str
    method: str
    tasks: int
    trials: tuple[int, int]
    k: int | None = None
    hits: int | None = None
    worst: float | None = None
    best: float | None = None
    undefined: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """A metric read off a table for some tasks (their places in it), not yet judged."""

    table: Table
    metric: Metric
    variant: str
    task: str | None
    places: Ints
    found: Shares | Amount

    @property
    def trials(self) -> tuple[int, int]:
        """The smallest and the largest number of trials planned for a task, 0 where there is none."""
        planned = self.table.planned[self.places, self.table.find_variant(self.variant)]
        return (int(planned.min()), int(planned.max())) if planned.size else (0, 0)

    def named(self, tasks: Bools) -> tuple[str, ...]:
        """Name some of the tasks that were read."""
        return tuple(self.table.task_name(int(place)) for place in self.places[tasks])

    def filled(self, *, good: bool) -> Reading:
        """Read every unknown trial as good, or as bad."""
        if isinstance(self.found, Amount):
            return self
        return Reading(
            table=self.table,
            metric=self.metric,
            variant=self.variant,
            task=self.task,
            places=self.places,
            found=self.found.filled(hit=good == self.metric.more_is_better),
        )


def estimate(
    table: Table,
    metric: Metric | str,
    variant: str,
    *,
    task: str | int | None = None,
    confidence: float = 0.95,
    sides: int = 2,
    scope: Scope = "population",
    method: Method = "gaffke",
) -> Estimate:
    """Estimate a metric of a variant over all tasks planned for it, or over one (its name, or its place in the table).

    The interval of one task is that of its chance p of a hit (Clopper-Pearson on its trials), carried through p^k or
    1 - (1 - p)^k; `scope` and `method` then say nothing. Raises `ConfigurationError` for names that there are not, a confidence
    outside (0, 1), and a scope that cannot be computed.
    """
    asked = Ask(confidence=confidence, sides=sides, scope=scope, method=method)
    return conclude(read(table, metric, variant, task=task), asked)


def read(table: Table, metric: Metric | str, variant: str, *, task: str | int | None = None) -> Reading:
    """Read a metric off the table without judging what is unknown; errors are those of `estimate`."""
    kind = read_metric(metric) if isinstance(metric, str) else metric
    place = table.find_variant(variant)
    mask = table.planned[:, place] > 0
    only = table.find_task(task) if isinstance(task, str) else task
    if only is not None:
        mask &= np.arange(len(table.tasks)) == only
    return Reading(
        table=table,
        metric=kind,
        variant=variant,
        task=None if only is None else table.task_name(only),
        places=np.flatnonzero(mask),
        found=kind.read(table, place, mask),
    )


def conclude(reading: Reading, asked: Ask) -> Estimate:
    """Turn a reading into an estimate."""
    found = reading.found
    if isinstance(found, Amount):
        value = found.value
        return _estimate(reading, asked, value=value, worst=value, best=value, why=found.why)
    if reading.places.size == 0:
        return _estimate(reading, asked, why="no task is planned")
    if found.short.any():
        return _estimate(reading, asked, undefined=reading.named(found.short), why=_too_few(reading, found))
    if found.open.any():
        return _estimate(
            reading,
            asked,
            worst=float(_filled(reading, good=False).values.mean()),
            best=float(_filled(reading, good=True).values.mean()),
            undefined=reading.named(found.open),
            why=unknown(reading, found),
        )
    if reading.table.first_failure and (reading.task is not None or asked.scope == "suite"):
        value = float(found.values.mean())
        why = "no interval: it would want all trials of a task, and some were skipped after a first failure"
        return _estimate(reading, asked, value=value, worst=value, best=value, why=why)
    value, hits, (low, high) = valued(
        found.kinds(), found.k, asked, any_of_k=found.any_of_k, one_task=reading.task is not None
    )
    return _estimate(reading, asked, value=value, low=low, high=high, worst=value, best=value, hits=hits)


def unknown(reading: Reading, found: Shares) -> str:
    """Say how many trials of a reading are unknown, and in which tasks."""
    names = reading.named(found.open)
    lost, planned = int(found.unknown.sum()), int(found.trials.sum())
    return (
        f"{lost} of {planned} trials are {found.doubt}, in {len(names)} of {found.trials.size} tasks: {listed(names)}"
    )


def _too_few(reading: Reading, found: Shares) -> str:
    """Say which task has too few trials for k."""
    names = reading.named(found.short)
    first = int(found.trials[found.short][0])
    more = f", and {len(names) - 1} more have too few" if len(names) > 1 else ""
    return f"k={found.k} needs {counted(found.k, 'trial')} a task, task {names[0]} has {first}{more}"


def _filled(reading: Reading, *, good: bool) -> Shares:
    """The shares of a reading with every unknown trial read as good, or as bad."""
    found = reading.filled(good=good).found
    if isinstance(found, Amount):
        raise TypeError("an amount has no shares")
    return found


def valued(
    kinds: tuple[Ints, Ints, Ints], k: int, asked: Ask, *, any_of_k: bool, one_task: bool
) -> tuple[float, int | None, tuple[float, float]]:
    """Give the mean over tasks of these kinds, the count of hits (as in `Estimate`), and the interval, which always holds the mean.

    `kinds` are trials, hits and number of tasks, each of shape (kinds,); `k` and `any_of_k` are as in `Shares`.
    """
    trials, hits, tasks = kinds
    values = pass_at_k(trials, hits, k) if any_of_k else pass_hat_k(trials, hits, k)
    mean = float(tasks @ values) / float(tasks.sum())
    whole = int(tasks[values == 1.0].sum()) if np.isin(values, (0.0, 1.0)).all() else None
    level, sides = asked.confidence, asked.sides
    if one_task:
        whole = int(hits[0])
        low, high = clopper_pearson(float(hits[0]), float(trials[0]), confidence=level, sides=sides)
        low, high = (1.0 - (1.0 - p) ** k if any_of_k else p**k for p in (low, high))
    elif asked.scope == "suite":
        counts = trials - hits if any_of_k else hits
        low, high = suite_interval(trials, counts, tasks, k, confidence=level, sides=sides)
        low, high = (1.0 - high, 1.0 - low) if any_of_k else (low, high)
    else:
        bounds = jeffreys if asked.method == "jeffreys" else gaffke
        low, high = bounds(values, tasks, confidence=level, sides=sides)
    return mean, whole, (min(low, mean), max(high, mean))


def _estimate(
    reading: Reading,
    asked: Ask,
    *,
    value: float | None = None,
    low: float | None = None,
    high: float | None = None,
    worst: float | None = None,
    best: float | None = None,
    hits: int | None = None,
    undefined: tuple[str, ...] = (),
    why: str = "",
) -> Estimate:
    """Put an estimate together; `method` names what the interval was made with."""
    if low is None:
        method = "none"
    elif reading.task is not None:
        method = "clopper-pearson"
    else:
        method = "effective-clopper-pearson" if asked.scope == "suite" else asked.method
    return Estimate(
        metric=reading.metric.text,
        variant=reading.variant,
        task=reading.task,
        value=value,
        low=low,
        high=high,
        confidence=asked.confidence,
        sides=asked.sides,
        scope=asked.scope if reading.task is None else "task",
        method=method,
        tasks=int(reading.places.size),
        trials=reading.trials,
        k=reading.found.k if isinstance(reading.found, Shares) else None,
        hits=hits,
        worst=worst,
        best=best,
        undefined=undefined,
        why=why,
    )
