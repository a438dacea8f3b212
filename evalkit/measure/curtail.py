"""Stopping early without paying for it in false verdicts.

Looking again and again at an interval that is meant for one look finds what is not there: with a look every ten tasks a 5% bound errs in
13 to 20% of runs. Two ways to stop do not (a third is the evidence of `measure/evidence.py`, at the price of more tasks):

- *curtailment*: the verdict is that of all N tasks, and it is given as soon as the tasks that are left cannot change it;
- *first failure*: the rest of a task's trials is skipped once one has failed, where only pass^k is asked.

Invariant: neither says pass or fail where the full run of the same trials would have said the other of the two.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.interval import clopper_pearson, gaffke
from evalkit.measure.odds import Bar, Word


def curtailed(values: Floats, tasks: int, bar: Bar, *, confidence: float = 0.95) -> Word | None:
    """Give the verdict that all `tasks` tasks will have whatever the ones that are left bring; None while it is open.

    `values` are the pass^k (or another metric's values in [0, 1]) of the tasks that are done, shape (done,). The rule is that of the gate
    for the scope `population`: `bar` on the mean and Gaffke's one-sided bounds at `confidence`. These rise with every value, so
    the verdict with all open tasks at 0 and with all at 1 encloses every other, and where the two agree it stands. The tasks that are done must
    not have been chosen for how they ended: play them in an order fixed beforehand. Then the verdict is that of the full run, and so is its
    rate of errors; the mean of the tasks that are done is no estimate. Raises `ValueError` for more values than
    tasks and values outside [0, 1], NaN included.
    Source: Alling 1963 (curtailed tests); the bounds are those of `interval.gaffke`.
    """
    if not 0 <= values.size <= tasks or tasks < 1:
        raise ValueError(f"{values.size} values of {tasks} tasks")
    if values.size and not (values.min() >= 0.0 and values.max() <= 1.0):
        raise ValueError("values must lie in [0, 1]")
    said = set()
    for filler in (0.0, 1.0):
        kinds, counts = np.unique(np.append(values, [filler] * (tasks - values.size)), return_counts=True)
        mean = float(counts @ kinds) / tasks
        low, high = gaffke(kinds, counts.astype(np.int64), confidence=confidence, sides=1)
        said.add(bar.verdict(mean, low, high))
    return said.pop() if len(said) == 1 else None


@lru_cache(maxsize=64)
def curtailment(tasks: int, bar: Bar, *, confidence: float = 0.95) -> tuple[tuple[Word | None, ...], ...]:
    """Tabulate `curtailed` for values of 0 and 1 (n = k): entry [done][hits] is the verdict that stands, None while it is open.

    Rows are for 0, 1, ..., `tasks` tasks done, and row j has j + 1 entries. The bounds are Clopper-Pearson's, which Gaffke's are for such values.
    Raises `ValueError` for fewer than one task.
    """
    if tasks < 1:
        raise ValueError(f"{tasks} tasks cannot be judged")
    words: list[Word] = []
    for hits in range(tasks + 1):
        low, high = clopper_pearson(float(hits), float(tasks), confidence=confidence, sides=1)
        words.append(bar.verdict(hits / tasks, low, high))
    return tuple(
        tuple(words[hits] if words[hits] == words[hits + tasks - done] else None for hits in range(done + 1))
        for done in range(tasks + 1)
    )


def first_failures(passed: npt.ArrayLike, tried: npt.ArrayLike) -> Ints:
    """Give each task's first failure, counting from 1, from trials that stop at it; `tried` + 1 where none failed.

    `passed` and `tried` have shape (tasks,): of trials played one after the other until the first fails, or n are done, all but a last failed
    one passed. Raises `ValueError` for counts that cannot come of that: passes must be all trials, or all but one.
    """
    hits, trials = np.asarray(passed, dtype=np.int64), np.asarray(tried, dtype=np.int64)
    if hits.shape != trials.shape or np.any((hits != trials) & (hits != trials - 1)) or np.any(hits < 0):
        raise ValueError("trials that stop at the first failure have all passed, or all but the last")
    return hits + 1


def pass_hat_by_first_failure(failure: Ints, tasks: int, j: int, n: int) -> float:
    """Give the mean over tasks of 1{first failure > j}: pass^j of trials that were skipped after a task's first failure.

    `failure` has shape (tasks,) and counts from 1, n + 1 or more where none of n trials failed. The first j trials all pass with chance p^j
    whether or not the others are played, so it is unbiased for every j <= n, and at j = n it is the very value of the full run. c / n of such trials
    is biased upward or downward and pass@k cannot be had. NaN without tasks. Raises `ValueError` for j outside 1..n and for other
    than `tasks` entries.
    """
    if not 1 <= j <= n:
        raise ValueError(f"pass^{j} cannot be had from {n} trials a task")
    if failure.shape != (tasks,) or (tasks and failure.min() < 1):
        raise ValueError("there is to be one first failure for each task, counted from 1")
    return float(np.mean(failure > j)) if tasks else math.nan
