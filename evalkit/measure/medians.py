"""How sure the quantiles of turns, tokens, seconds and dollars are.

The trials of a task are alike, so the interval of a quantile is that of a suite with as many independent parts as it has tasks, not trials.

Invariant: a bound is an amount that occurred, or it is undefined; it is never made up beyond what was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from evalkit.measure.amounts import Metered
from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.interval import tail
from evalkit.measure.table import ERROR, Table

FEWEST_FOR_P95 = 30
"""Tasks from which on a 95th percentile is bounded; with fewer its interval holds the truth far less often than it says."""

MEDIAN, MOST = 0.5, 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A quantile in the meter's unit with bounds at `confidence`, over `trials` trials of `tasks` tasks.

    `value` is None without trials, or where the amount of any is unknown; `low` or `high` where the sample holds no such bound.
    """

    value: float | None
    low: float | None
    high: float | None
    confidence: float
    tasks: int
    trials: int


def quantile(table: Table, variant: str, meter: Metered, q: float = MEDIAN, *, confidence: float = 0.95) -> Quantile:
    """Give the q-quantile of a meter over a variant's trials that passed or failed, with `woodruff`'s bounds.

    Below `FEWEST_FOR_P95` tasks only the quantiles from 0.1 to 0.9 are bounded. Raises `ConfigurationError` for a variant that
    there is not and a confidence outside (0, 1), `ValueError` for a q outside (0, 1).
    """
    rows = (table.variant == table.find_variant(variant)) & (table.outcome != ERROR)
    used, tasks = getattr(table, meter)[rows].astype(np.float64), table.task[rows]
    many = int(np.unique(tasks).size)
    value, low, high = woodruff(used, tasks, q, confidence=confidence)
    if many < FEWEST_FOR_P95 and not 0.1 <= q <= 0.9:
        low = high = math.nan
    return Quantile(
        value=_known(value),
        low=_known(low),
        high=_known(high),
        confidence=confidence,
        tasks=many,
        trials=int(used.size),
    )


def woodruff(amounts: Floats, tasks: Ints, q: float, *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Give the q-quantile of amounts and its bounds, from trials that come in tasks.

    `amounts` and `tasks`, which task each is of, have shape (trials,). The quantile x is the smallest amount that a share q of trials does
    not exceed. With z_i the number of task i's n_i trials up to x, F = sum z_i / sum n_i, and e_i = (z_i - F n_i) / mean n, the share F
    has the standard error sd(e) / sqrt(N), taken as no smaller than that of independent trials, sqrt(q (1 - q) / trials); the bounds
    are the amounts at q -+ t se, t Student's with N - 1 degrees. NaN for a bound whose share lies outside (0, 1), for both with
    fewer than two tasks, and for all three without trials or with an amount that is NaN. Raises `ValueError` for a q outside (0, 1).
    Source: Woodruff 1952, with the linearised ratio of cluster sampling (Francisco & Fuller 1991).
    """
    miss = tail(confidence, 2)
    if not 0.0 < q < 1.0:
        raise ValueError(f"{q!r} is no quantile between 0 and 1")
    if amounts.size == 0 or np.isnan(amounts).any():
        return math.nan, math.nan, math.nan
    value = _at(amounts, q)
    _, place, sizes = np.unique(tasks, return_inverse=True, return_counts=True)
    if sizes.size < 2:
        return value, math.nan, math.nan
    below = np.bincount(place, weights=amounts <= value, minlength=sizes.size)
    share = below.sum() / amounts.size
    error = float(np.std((below - share * sizes) / sizes.mean(), ddof=1)) / math.sqrt(sizes.size)
    error = max(error, math.sqrt(q * (1.0 - q) / amounts.size))
    reach = -float(stdtrit(sizes.size - 1.0, miss)) * error
    low = _at(amounts, q - reach) if q - reach > 0.0 else math.nan
    high = _at(amounts, q + reach) if q + reach < 1.0 else math.nan
    return value, low, high


def _at(amounts: Floats, q: float) -> float:
    """Give the smallest amount that at least a share q does not exceed."""
    return float(np.quantile(amounts, q, method="inverted_cdf"))


def _known(value: float) -> float | None:
    """Turn NaN into None."""
    return None if math.isnan(value) else value
