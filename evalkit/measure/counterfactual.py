"""What a run would have measured had its caps been tighter, read off the traces of the trials that it played.

A cap is asked at checkpoints: before a model call (a limit that is reached leaves no room for it), after its reply and before
each tool call (a limit that is passed ends the trial). A tighter cap ends a trial at the first checkpoint at which it would
have fired; up to there the trial would have gone as it did, and nothing later is known or used. So under the tighter cap

- a trial passes if it passed and no checkpoint of it fires; one that is ended has failed, also where its task counts capped
  trials by their graders, for nobody graded the state in which it would have stopped;
- a trial costs what it had cost at that checkpoint, the call that crossed the limit included;
- a trial in error stays in error, a missing one missing.

Invariant: nothing is guessed about looser caps. Where a trial was ended by a cap that the asked one would not have fired by then,
how it would have gone on is unknown, and so is every value of its variant.
An agent that is told of its caps might have acted otherwise under others; of that traces know nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Caps
from evalkit.measure.amounts import Spend, spend
from evalkit.measure.arrays import Bools, Floats, Ints
from evalkit.measure.courses import Courses
from evalkit.measure.estimate import Estimate, estimate
from evalkit.measure.table import ERROR, FAILED, VERDICTS, Table
from evalkit.measure.words import counted

Meter = Literal["turns", "tokens", "seconds", "usd"]

METERS: tuple[Meter, ...] = get_args(Meter)
"""All meters, in the order in which the engine asks their caps."""

LIMITS = 12
"""Limits of a curve, at most, where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """Where asked caps would have ended the R trials of a table, each of shape (R,).

    `at` is the place in the courses of the checkpoint that fires, -1 where none does; `meter` the place in `METERS` of the cap
    that fires there. `open` marks trials that their own cap ended before the asked one fires: what came next is not known.
    """

    at: Ints
    meter: Ints
    open: Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A variant's numbers under some caps: pass^k for k = 1, 2, ..., the share of capped trials, and dollars."""

    pass_hat: tuple[Estimate, ...]
    cap_rate: Estimate
    spent: Spend
    reliable: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A variant as it was run and under tighter caps; `after` is None where that is not known, and then `why`.

    `cut` trials would have ended earlier or by another cap, of which `lost` had passed.
    """

    variant: str
    cut: int
    lost: int
    before: Side
    after: Side | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapCurve:
    """A variant over the limits of one cap, all of one length; values are None where the limit is looser than what is known.

    `usd` is dollars a trial, `passed` the share of measured trials that pass, `why` why the first unknown value is unknown.
    """

    variant: str
    meter: Meter
    k: int
    limits: tuple[float, ...]
    pass_hat: tuple[Estimate | None, ...]
    cap_rate: tuple[float | None, ...]
    usd: tuple[float | None, ...]
    why: str = ""


def cut(table: Table, courses: Courses, caps: Caps) -> Cut:
    """Find the first checkpoint of each trial at which one of `caps` fires; where several do at once, the first in `METERS` is named.

    Raises `RunInvalid` where a trial that was measured has no course.
    """
    flat = courses.flat(table)
    fired = np.full(flat.owner.size, -1, dtype=np.int64)
    for place, meter in reversed(list(enumerate(METERS))):
        limit = getattr(caps, meter)
        if limit is not None:
            values = getattr(flat, meter)
            fired[(values > limit) | (flat.asking & (values >= limit))] = place
    places = np.flatnonzero(fired >= 0)
    rows, first = np.unique(flat.owner[places], return_index=True)
    at, which = np.full(table.outcome.size, -1, dtype=np.int64), np.full(table.outcome.size, -1, dtype=np.int64)
    at[rows], which[rows] = places[first], fired[places[first]]
    spared = table.outcome == ERROR
    at[spared], which[spared] = -1, -1
    asked = [f"cap:{meter}" for meter in METERS if getattr(caps, meter) is not None]
    own = np.array([stop in asked for stop in table.stops], dtype=bool)
    return Cut(at=at, meter=which, open=own[table.stop] & (at < 0) & ~spared)


def capped(table: Table, courses: Courses, caps: Caps) -> Table:
    """Give the run's table as it would have been under tighter caps, so that every metric can be read off it.

    Trials whose own cap ended them first (`Cut.open`) stand as they are; `unknown` says which variants have such trials.
    """
    return _applied(table, courses, cut(table, courses, caps))


def unknown(table: Table, found: Cut, caps: Caps, variant: str) -> str:
    """Say why a variant's values under asked caps are not known; empty where they are."""
    place = table.find_variant(variant)
    lost = found.open & (table.variant == place)
    if lost.any():
        asked = ", ".join(f"{meter}={getattr(caps, meter):g}" for meter in METERS if getattr(caps, meter) is not None)
        many = counted(int(lost.sum()), "trial")
        return f"{many} ended by a tighter cap of its own; how they would have gone on up to {asked} is not known"
    unpriced = int((np.isnan(table.usd) & (table.variant == place) & (table.outcome != ERROR)).sum())
    return f"the price of {counted(unpriced, 'trial')} is not known" if caps.usd is not None and unpriced else ""


def whatif(table: Table, courses: Courses, caps: Caps, *, confidence: float = 0.95) -> tuple[WhatIf, ...]:
    """Put each variant as it was run beside what it would have been under `caps`.

    Raises `ConfigurationError` where no cap is asked for, or where of no variant anything is known under them.
    """
    if all(getattr(caps, meter) is None for meter in METERS):
        raise ConfigurationError.of("what if", "no cap is given", f"name one of {', '.join(METERS)}")
    found = cut(table, courses, caps)
    tighter = _applied(table, courses, found)
    told = []
    for place, name in enumerate(table.variants):
        why, ended = unknown(table, found, caps, name), (table.variant == place) & (found.at >= 0)
        told.append(
            WhatIf(
                variant=name,
                cut=int((ended & _changed(table, tighter)).sum()),
                lost=int((table.passed - tighter.passed)[:, place].sum()),
                before=_side(table, name, confidence),
                after=None if why else _side(tighter, name, confidence),
                why=why,
            )
        )
    if told and all(one.after is None for one in told):
        reasons = "; ".join(f"{one.variant}: {one.why}" for one in told)
        raise ConfigurationError.of("what if", reasons, "traces tell of tighter caps only")
    return tuple(told)


def limits(table: Table, courses: Courses, meter: Meter, most: int = LIMITS) -> tuple[float, ...]:
    """Choose limits of a cap between which a curve moves: quantiles of what passing trials had used at their end, rounded up.

    Turns are whole numbers, all of them where there are few. Empty where no trial passed, or none used anything.
    """
    flat = courses.flat(table)
    last = np.full(table.outcome.size, np.nan)
    last[flat.owner] = getattr(flat, meter)  # of several values of one trial the last stays
    ends = last[(table.outcome == table_passed) & np.isfinite(last)]
    if ends.size == 0 or ends.max() <= 0.0:
        return ()
    if meter == "turns":
        low, high = int(ends.min()), int(ends.max())
        step = max(1, math.ceil((high - low) / (most - 1)))
        return tuple(float(limit) for limit in sorted({*range(high, low - 1, -step)}))
    chosen = np.quantile(ends, np.linspace(0.0, 1.0, most), method="inverted_cdf")
    return tuple(sorted({rounded_up(float(limit)) for limit in chosen if limit > 0.0}))


def curve(
    table: Table, courses: Courses, meter: Meter, at: Sequence[float], *, k: int | None = None, confidence: float = 0.95
) -> tuple[CapCurve, ...]:
    """Follow each variant over limits of one cap; `k` is the deepest that every task has trials for, where nobody says."""
    planned = table.planned[table.planned > 0]
    deep = k if k is not None else int(planned.min(initial=1 if planned.size == 0 else planned.max()))
    steps = []
    for limit in at:
        caps = Caps(**{meter: limit})
        found = cut(table, courses, caps)
        steps.append((caps, found, _applied(table, courses, found)))
    return tuple(_curve(table, name, meter, tuple(at), deep, steps, confidence) for name in table.variants)


def rounded_up(value: float, digits: int = 3) -> float:
    """Round a positive number up to so many digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.12g}")
