"""What a run would have measured had its caps been tighter, read off the traces of the trials that it played.

A cap is asked at checkpoints: before a model call (a limit that is reached leaves no room for it), after its reply and before
each tool call (a limit that is passed ends the trial). A tighter cap ends a trial at the first checkpoint at which it would
have fired; up to there the trial would have gone as it did, and nothing later is known or used. So under the tighter cap

- a trial passes if it passed and no checkpoint of it fires; one that is ended earlier has failed, also where its task counts
  capped trials by their graders, for nobody graded the state in which it would have stopped;
- a trial costs what it had cost at that checkpoint, the call that crossed the limit included;
- a trial in error stays in error, a missing one missing.

A reply that crosses a token or dollar cap would have been cut short, so what such a trial costs is an upper bound, by that reply at
most. That a tighter cap on seconds also bounds how long a provider is waited for is left out: whether it is there is no deed of the agent.

Invariant: nothing is guessed about looser caps. Where a trial was ended by a cap that the asked one would not have fired by then,
how it would have gone on is unknown, and so is every value of its variant. The same holds for turns where the agent is told how many
are left, for it would have been told otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.plan import Caps, Variant
from evalkit.measure.amounts import Spend, spend
from evalkit.measure.arrays import Bools, Ints
from evalkit.measure.courses import Courses, Flat
from evalkit.measure.estimate import Estimate, estimate
from evalkit.measure.table import ERROR, FAILED, VERDICTS, Table
from evalkit.measure.words import counted

Meter = Literal["turns", "tokens", "seconds", "usd"]

METERS: tuple[Meter, ...] = get_args(Meter)
"""All meters, in the order in which the engine asks their caps."""

_STOPS = tuple(f"cap:{meter}" for meter in METERS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """Where asked caps would have ended the R trials of a table, each of shape (R,).

    `at` is the place in the courses of the checkpoint that fires, -1 where none does; `meter` the place in `METERS` of the cap
    that fires there; `moved` marks the trials that it ends earlier than they ended, or by another stop. `open` marks trials that
    a cap on an asked meter ended before the asked limit fires: what would have come next is not known.
    """

    at: Ints
    meter: Ints
    moved: Bools
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


def cut(table: Table, courses: Courses, caps: Caps) -> Cut:
    """Find the first checkpoint of each trial at which one of `caps` fires; where several do at once, the first in `METERS` is named.

    Raises `RunInvalid` where a trial that was measured has no course.
    """
    return _cut(table, courses.flat(table), caps)


def capped(table: Table, courses: Courses, caps: Caps) -> Table:
    """Give the run's table as it would have been under tighter caps, so that every metric can be read off it.

    Trials whose own cap ended them first (`Cut.open`) stand as they are: ask `unknown` which variants have such trials.
    """
    return ended(table, courses.flat(table), caps)[1]


def ended(table: Table, flat: Flat, caps: Caps) -> tuple[Cut, Table]:
    """Find where caps fire and give the table with the trials ended there; for many questions on courses that were laid out once."""
    found = _cut(table, flat, caps)
    return found, _applied(table, flat, found)


def unknown(table: Table, found: Cut, caps: Caps, variant: str, told: Collection[str] = ()) -> str:
    """Say why a variant's values under asked caps are not known; empty where they are. `told` as in `whatif`."""
    if caps.turns is not None and variant in told:
        return "its agent is told when its turns run out, so under another cap on turns it would have acted otherwise"
    ours = table.variant == table.find_variant(variant)
    lost = int((found.open & ours).sum())
    if lost:
        asked = ", ".join(f"{meter}={getattr(caps, meter):g}" for meter in METERS if getattr(caps, meter) is not None)
        by = f"{counted(lost, 'trial')} ended by {'its' if lost == 1 else 'their'} own cap before {asked} would have fired"
        return f"{by}, and how {'it' if lost == 1 else 'they'} would have gone on is not known"
    for counter in ("turns", "tokens", "seconds"):
        uncounted = int((np.isnan(getattr(table, counter)) & ours & (table.outcome != ERROR)).sum())
        if getattr(caps, counter) is not None and uncounted:
            return f"the {counter} of {counted(uncounted, 'trial')} are not known"
    unpriced = int((np.isnan(table.usd) & ours & (table.outcome != ERROR)).sum())
    return f"the price of {counted(unpriced, 'trial')} is not known" if caps.usd is not None and unpriced else ""


def whatif(
    table: Table, courses: Courses, caps: Caps, *, told: Collection[str] = (), confidence: float = 0.95
) -> tuple[WhatIf, ...]:
    """Put each variant as it was run beside what it would have been under `caps`.

    `told` names the variants whose agents are told how many turns are left (`wrap_up`). Raises `ConfigurationError` where no cap is asked for, or where of no variant anything is known under them.
    """
    if all(getattr(caps, meter) is None for meter in METERS):
        raise ConfigurationError.of("what if", "no cap is given", f"name one of {', '.join(METERS)}")
    found, tighter = ended(table, courses.flat(table), caps)
    answers = []
    for place, name in enumerate(table.variants):
        why = unknown(table, found, caps, name, told)
        answers.append(
            WhatIf(
                variant=name,
                cut=int((found.moved & (table.variant == place)).sum()),
                lost=int((table.passed - tighter.passed)[:, place].sum()),
                before=_side(table, name, confidence),
                after=None if why else _side(tighter, name, confidence),
                why=why,
            )
        )
    if answers and all(one.after is None for one in answers):
        mend = "traces tell of tighter caps only"
        raise ConfigurationError(
            *(Problem(where=f"what if, {one.variant}", what=one.why, mend=mend) for one in answers)
        )
    return tuple(answers)


def warned(variants: Iterable[Variant]) -> tuple[str, ...]:
    """Name the variants whose agents are told how many turns are left."""
    return tuple(variant.name for variant in variants if variant.wrap_up is not None)


def _cut(table: Table, flat: Flat, caps: Caps) -> Cut:
    """Find where caps fire."""
    fired = np.full(flat.owner.size, -1, dtype=np.int64)
    for place, meter in reversed(list(enumerate(METERS))):
        limit = getattr(caps, meter)
        if limit is not None:
            values = getattr(flat, meter)
            room = flat.turning if meter == "turns" else flat.asking
            fired[(values > limit) | (room & (values >= limit))] = place
    places = np.flatnonzero(fired >= 0)
    rows, first = np.unique(flat.owner[places], return_index=True)
    at, which = np.full(table.outcome.size, -1, dtype=np.int64), np.full(table.outcome.size, -1, dtype=np.int64)
    at[rows], which[rows] = places[first], fired[places[first]]
    at[table.outcome == ERROR] = -1
    own = np.array([METERS.index(stop[4:]) if stop in _STOPS else -1 for stop in table.stops], dtype=np.int64)[
        table.stop
    ]
    moved = at >= 0
    moved[moved] = ~_same(flat, at[moved], flat.last[moved]) | (own != which)[moved]
    asked = np.array([getattr(caps, meter) is not None for meter in METERS] + [False])
    return Cut(at=at, meter=which, moved=moved, open=asked[own] & (at < 0))


def _same(flat: Flat, at: Ints, last: Ints) -> Bools:
    """Tell which checkpoints are the end of their trials: the last one, or the reply that it was asked after."""
    near: Bools = (at >= last - 1) & (flat.turns[at] == flat.turns[last]) & (flat.tokens[at] == flat.tokens[last])
    return near


def _applied(table: Table, flat: Flat, found: Cut) -> Table:
    """Give the table with the trials of a cut ended where it ends them."""
    rows = np.flatnonzero(found.moved)
    at = found.at[rows]
    stops = tuple(dict.fromkeys((*table.stops, *_STOPS)))
    codes = np.array([stops.index(stop) for stop in _STOPS], dtype=np.int64)
    columns = {name: getattr(table, name).copy() for name in ("outcome", "graded", "stop", *METERS)}
    columns["outcome"][rows] = FAILED
    columns["stop"][rows] = codes[found.meter[rows]]
    early = at < flat.last[rows]
    columns["graded"][rows[early]] = VERDICTS.index(None)
    for meter in METERS:
        columns[meter][rows[early]] = getattr(flat, meter)[at[early]]
    columns["usd"][rows[~flat.traced[rows]]] = np.nan
    return replace(table, stops=stops, **columns)


def _side(table: Table, variant: str, confidence: float) -> Side:
    """Read a variant's numbers off a table."""
    deepest = int(table.planned[:, table.find_variant(variant)].max(initial=0))
    return Side(
        pass_hat=tuple(estimate(table, f"pass^{k}", variant, confidence=confidence) for k in range(1, deepest + 1)),
        cap_rate=estimate(table, "cap_rate(any)", variant, confidence=confidence),
        spent=spend(table, variant),
        reliable=estimate(table, "usd_per_reliable_success", variant),
    )
