"""Curves of caps: what each variant would have measured over limits of one cap, all from the same traces.

Invariant: a curve has a value only at limits where that value is known, and reaches what was measured at its loosest limit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.core.plan import Caps
from evalkit.measure.amounts import spend
from evalkit.measure.counterfactual import Meter, ended, unknown
from evalkit.measure.courses import Courses
from evalkit.measure.estimate import Estimate, estimate, read
from evalkit.measure.metric import Shares
from evalkit.measure.table import PASSED, Table

LIMITS = 12
"""Limits of a curve, at most, where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A variant at one limit: pass^k, the share of capped trials, dollars a trial; unknown where there is a `why`."""

    limit: float
    pass_hat: Estimate | None = None
    cap_rate: float | None = None
    usd: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapCurve:
    """A variant over the limits of one cap, in ascending order."""

    variant: str
    meter: Meter
    k: int
    points: tuple[Point, ...]


def limits(table: Table, courses: Courses, meter: Meter, most: int = LIMITS) -> tuple[float, ...]:
    """Choose limits of a cap between which a curve moves: quantiles of what passing trials had used at their end, rounded up.

    Turns are whole numbers, all of them where there are few. Empty where no trial passed, or none used anything.
    """
    flat = courses.flat(table)
    rows = np.flatnonzero((table.outcome == PASSED) & (flat.last >= 0))
    ends = getattr(flat, meter)[flat.last[rows]]
    ends = ends[ends > 0.0]
    if ends.size == 0:
        return ()
    if meter == "turns":
        low, high = int(ends.min()), int(ends.max())
        step = max(1, math.ceil((high - low) / (most - 1)))
        return tuple(float(limit) for limit in range(high, low - 1, -step))[::-1]
    chosen = np.quantile(ends, np.linspace(0.0, 1.0, most), method="inverted_cdf")
    return tuple(sorted({rounded_up(float(limit)) for limit in chosen}))


def curve(
    table: Table,
    courses: Courses,
    meter: Meter,
    at: Sequence[float],
    *,
    variants: Sequence[str] | None = None,
    k: int | None = None,
    told: Collection[str] = (),
    confidence: float = 0.95,
) -> tuple[CapCurve, ...]:
    """Follow variants, all without `variants`, over limits of one cap; without `k` it is the deepest that every task has trials for.

    `told` is as in `counterfactual.whatif`.
    """
    planned = table.planned[table.planned > 0]
    deep = k if k is not None else int(planned.min()) if planned.size else 1
    flat = courses.flat(table)
    points: dict[str, list[Point]] = {name: [] for name in (table.variants if variants is None else variants)}
    for limit in at:
        caps = one_cap(meter, limit)
        found, tighter = ended(table, flat, caps)
        for name, row in points.items():
            why = unknown(table, found, caps, name, told)
            if why:
                row.append(Point(limit=limit, why=why))
            else:
                row.append(point(tighter, name, deep, limit=limit, confidence=confidence))
    return tuple(CapCurve(variant=name, meter=meter, k=deep, points=tuple(row)) for name, row in points.items())


def point(table: Table, variant: str, k: int, *, limit: float = math.inf, confidence: float = 0.95) -> Point:
    """Read one point of a curve off a table; that of a run itself is beyond all limits."""
    shares = read(table, "cap_rate(any)", variant).found
    cap_rate = None
    if isinstance(shares, Shares) and shares.trials.size and not shares.open.any():
        cap_rate = float(shares.values.mean())
    return Point(
        limit=limit,
        pass_hat=estimate(table, f"pass^{k}", variant, confidence=confidence),
        cap_rate=cap_rate,
        usd=spend(table, variant).per_trial,
    )


def one_cap(meter: str, limit: float) -> Caps:
    """Give a cap on one meter alone; `turns` and `tokens` are whole numbers."""
    whole: dict[str, Any] = {meter: int(limit) if meter in ("turns", "tokens") else float(limit)}
    return Caps(**whole)


def rounded_up(value: float, digits: int = 3) -> float:
    """Round a number above 0 up to so many digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / step * (1.0 - 1e-12)) * step:.12g}")
