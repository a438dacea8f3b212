"""What trials took: turns, tokens, seconds and dollars.

Invariant: only trials that passed or failed speak of the agent, so quantiles are over these; money is money, so sums are over every
recorded trial. What is unknown is counted, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evalkit.measure.table import ERROR, FAILED, PASSED, Table

Meter = Literal["turns", "tokens", "seconds"]
Metered = Literal["turns", "tokens", "seconds", "usd"]

PARTS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles that a distribution is told by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and 95th percentile in the meter's unit, over `trials` trials; None where there are none, or the value of any is not known."""

    p50: float | None
    p95: float | None
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A distribution in the meter's unit: the quantiles of `PARTS` over `trials` trials.

    `values` is None without trials, and where the dollars of `unknown` of them are not known.
    """

    values: tuple[float, ...] | None
    trials: int
    unknown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Dollars of a variant: `total` of all recorded trials, `per_trial` their mean; None where the price of any (`unknown`) is not known."""

    total: float | None
    per_trial: float | None
    unknown: int


def spread(table: Table, variant: str, meter: Meter) -> Spread:
    """Give the quantiles of a meter over a variant's measured trials.

    The q-quantile is the smallest observed value that at least a share q of the trials do not exceed (the inverse of the empirical
    distribution), so it is a value that occurred. Trials that a cap ended count with what they had used by then.
    """
    rows = (table.variant == table.find_variant(variant)) & (table.outcome != ERROR)
    used = getattr(table, meter)[rows]
    if used.size == 0 or np.isnan(used).any():
        return Spread(p50=None, p95=None, trials=int(used.size))
    half, most = np.quantile(used, (0.5, 0.95), method="inverted_cdf")
    return Spread(p50=float(half), p95=float(most), trials=int(used.size))


def distribution(table: Table, variant: str, meter: Metered, outcome: Literal["passed", "failed"]) -> Range:
    """Give the distribution of a meter over a variant's trials that passed, or over those that failed; quantiles as in `spread`."""
    code = PASSED if outcome == "passed" else FAILED
    rows = (table.variant == table.find_variant(variant)) & (table.outcome == code)
    used = np.asarray(getattr(table, meter)[rows], dtype=np.float64)
    unknown = int(np.isnan(used).sum())
    if unknown or used.size == 0:
        return Range(values=None, trials=int(used.size), unknown=unknown)
    found = np.quantile(used, PARTS, method="inverted_cdf")
    return Range(values=tuple(map(float, found)), trials=int(used.size))


def spend(table: Table, variant: str) -> Spend:
    """Add up a variant's dollars."""
    usd = table.usd[table.variant == table.find_variant(variant)]
    unknown = int(np.isnan(usd).sum())
    if unknown or usd.size == 0:
        return Spend(total=0.0 if usd.size == 0 else None, per_trial=None, unknown=unknown)
    return Spend(total=float(usd.sum()), per_trial=float(usd.mean()), unknown=0)
