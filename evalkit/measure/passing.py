"""pass^k and pass@k of a task from its counts: the unbiased estimators, exact for small n and stable for large n.

With n trials of which c passed, and k trials drawn from them without replacement:

    pass^k = P(all k passed)       = C(c, k) / C(n, k)
    pass@k = P(at least 1 passed)  = 1 - C(n - c, k) / C(n, k)

Sources: Yao et al. 2024 (tau-bench, arXiv 2406.12045) for pass^k, Chen et al. 2021 (arXiv 2107.03374) for pass@k.
Both are unbiased for p^k and 1 - (1 - p)^k when the task's trials are independent with chance p; the plug-in (c/n)^k is not.

Invariant: fewer than k trials leave the value undefined (NaN), never 0 and never that of a smaller k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import overload

import numpy as np
import numpy.typing as npt

from evalkit.measure.arrays import Floats, Ints

TABLE_LIMIT = 1024
"""Up to this n a whole table over c is made in exact integers, so that every value is correctly rounded and equal fractions are equal floats."""

MOST_TRIALS = 10**9
"""Above this n a value is refused: the product would take gigabytes."""

_UNDERFLOW = 745.0
"""exp(-x) is 0 in double precision from here on."""


@overload
def pass_hat_k(n: int, c: int, k: int) -> float: ...
@overload
def pass_hat_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> Floats: ...
def pass_hat_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> float | Floats:
    """Give the share of k-subsets of a task's trials in which all trials passed, C(c, k) / C(n, k).

    `n` and `c` are whole numbers or arrays that broadcast against each other; three plain integers give a float, else
    an array of the broadcast shape. NaN where n < k. Correctly rounded for n <= 1024, relative error below 1e-14 above.
    Raises `ValueError` for k < 1, for c outside 0..n, for n above 10^9, and for numbers that are not whole.
    """
    return _each(n, c, k, pass_hat_table, math.exp, complement=False)


@overload
def pass_at_k(n: int, c: int, k: int) -> float: ...
@overload
def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> Floats: ...
def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> float | Floats:
    """Give the share of k-subsets of a task's trials in which at least one passed, 1 - C(n - c, k) / C(n, k).

    Shapes, accuracy and errors are those of `pass_hat_k`; small values keep their relative accuracy.
    """
    return _each(n, c, k, pass_at_table, lambda log_share: -math.expm1(log_share), complement=True)


@lru_cache(maxsize=4096)
def pass_hat_table(n: int, k: int) -> Floats:
    """Tabulate pass^k over c = 0..n, shape (n + 1,), for k <= n <= 1024; correctly rounded and read-only."""
    row = _combinations(n, k)
    return _frozen([ways / row[n] for ways in row])


@lru_cache(maxsize=4096)
def pass_at_table(n: int, k: int) -> Floats:
    """Tabulate pass@k over c = 0..n, shape (n + 1,), for k <= n <= 1024; correctly rounded and read-only."""
    row = _combinations(n, k)
    return _frozen([(row[n] - ways) / row[n] for ways in reversed(row)])


def histogram(n: Ints, c: Ints) -> tuple[Ints, Ints, Ints]:
    """Count tasks by (n, c): three arrays of one length, the trials, the passes and how many tasks have just these.

    `n` and `c` are whole numbers of shape (tasks,) with 0 <= c <= n. Pairs that no task has are left out.
    """
    trials, passes, tasks = [], [], []
    for size in distinct(n):
        counts = np.bincount(c[n == size] if n.size and n.min() != n.max() else c, minlength=size + 1)
        present = np.flatnonzero(counts)
        trials.append(np.full(present.size, size, dtype=np.int64))
        passes.append(present.astype(np.int64))
        tasks.append(counts[present].astype(np.int64))
    empty = np.empty(0, dtype=np.int64)
    return (np.concatenate([empty, *trials]), np.concatenate([empty, *passes]), np.concatenate([empty, *tasks]))


def curve(n: npt.ArrayLike, c: npt.ArrayLike, *, any_of_k: bool = False) -> Floats:
    """Give the mean over tasks of pass^k (pass@k with `any_of_k`) for every k that is defined for all tasks.

    `n` and `c` have shape (tasks,); the result has shape (smallest n,), its entry j being k = j + 1. It is empty where
    there is no task or one without trials. Raises `ValueError` as `pass_hat_k` does. Counts are put in a histogram
    first, so that a million tasks cost milliseconds.
    """
    trials, passes = _checked(np.atleast_1d(n), np.atleast_1d(c))
    if trials.size == 0:
        return np.empty(0)
    kinds, hits, tasks = histogram(trials.ravel(), passes.ravel())
    value = pass_at_k if any_of_k else pass_hat_k
    return np.array([tasks @ value(kinds, hits, k) / tasks.sum() for k in range(1, int(kinds.min()) + 1)], dtype=float)


def distinct(numbers: Ints) -> list[int]:
    """List the distinct values in ascending order; a constant array is seen at a glance."""
    if numbers.size and numbers.min() == numbers.max():
        return [int(numbers.flat[0])]
    return [int(number) for number in np.unique(numbers)]


def _each(
    n: npt.ArrayLike,
    c: npt.ArrayLike,
    k: int,
    table: Callable[[int, int], Floats],
    from_log: Callable[[float], float],
    *,
    complement: bool,
) -> float | Floats:
    """Value all (n, c): by table where n is small, else once for each distinct c."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
    trials, passes = _checked(np.asarray(n), np.asarray(c))
    values = np.full(trials.shape, np.nan)
    for size in distinct(trials):
        if size < k:
            continue
        here = trials == size
        if size <= TABLE_LIMIT:
            values[here] = table(size, int(k))[passes[here]]
            continue
        kinds, place = np.unique(passes[here], return_inverse=True)
        logs = [_log_share(size, int(hits if complement else size - hits), int(k)) for hits in kinds]
        values[here] = np.array([from_log(log) for log in logs])[place]
    return float(values) if values.ndim == 0 and np.ndim(n) == 0 else values


def _log_share(n: int, d: int, k: int) -> float:
    """Give log(C(n - d, k) / C(n, k)) as a sum of min(k, d) terms, -inf where the share is 0 or underflows.

    The share is the product of 1 - d / (n - j) over j < k, and by symmetry that of 1 - k / (n - j) over j < d.
    """
    fewer, more = (d, k) if d < k else (k, d)
    if more > n - fewer or fewer * (more / n) > _UNDERFLOW:
        return -math.inf
    return float(np.log1p(-more / (n - np.arange(fewer, dtype=float))).sum())


def _combinations(n: int, k: int) -> list[int]:
    """List C(0, k) .. C(n, k) in exact integers."""
    row = [0] * k + [1]
    for c in range(k, n):
        row.append(row[-1] * (c + 1) // (c + 1 - k))
    return row


def _frozen(values: list[float]) -> Floats:
    """Make a read-only array, fit to be kept and shared."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


def _checked(n: npt.NDArray[np.generic], c: npt.NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Broadcast the counts to one shape, or say what is wrong with them."""
    if n.dtype.kind not in "iu" and n.size:
        raise ValueError(f"the number of trials n must be whole, not {n.dtype}")
    if c.dtype.kind not in "iu" and c.size:
        raise ValueError(f"the number of passes c must be whole, not {c.dtype}")
    trials, passes = np.broadcast_arrays(n.astype(np.int64), c.astype(np.int64))
    if trials.size and (passes.min() < 0 or np.any(passes > trials)):
        raise ValueError("the number of passes c must lie between 0 and the number of trials n")
    if trials.size and trials.max() > MOST_TRIALS:
        raise ValueError(f"more than {MOST_TRIALS} trials a task cannot be valued")
    return trials, passes
