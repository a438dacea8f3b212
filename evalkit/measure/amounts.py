"""What trials took: turns, tokens, seconds and dollars.

Invariant: only trials that passed or failed speak of the agent, so quantiles are over these; money is money, so sums are over every
recorded trial. What is unknown is counted, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evalkit.measure.table import ERROR, Table

Meter = Literal["turns", "tokens", "seconds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and 95th percentile in the meter's unit, over `trials` trials; None where there are none."""

    p50: float | None
    p95: float | None
    trials: int


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
    if used.size == 0:
        return Spread(p50=None, p95=None, trials=0)
    half, most = np.quantile(used, (0.5, 0.95), method="inverted_cdf")
    return Spread(p50=float(half), p95=float(most), trials=int(used.size))


def spend(table: Table, variant: str) -> Spend:
    """Add up a variant's dollars."""
    usd = table.usd[table.variant == table.find_variant(variant)]
    unknown = int(np.isnan(usd).sum())
    if unknown or usd.size == 0:
        return Spend(total=0.0 if usd.size == 0 else None, per_trial=None, unknown=unknown)
    return Spend(total=float(usd.sum()), per_trial=float(usd.mean()), unknown=0)
