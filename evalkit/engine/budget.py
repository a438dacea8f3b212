"""Caps as pure questions over a tally: which limit has been crossed, is there room for one more call, how long may its reply be.

Invariant: a limit may be reached but not crossed. A reply that lands exactly on a limit counts; the next call is
refused. Where several limits are crossed at once the first in the order of `Caps` is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import ge, gt

from evalkit.core.message import Price
from evalkit.core.plan import Caps
from evalkit.core.record import CapFired, Tally

METERS = tuple(field.name for field in fields(Caps))
"""Names of all meters, in the order in which they are asked."""


def crossed(caps: Caps, tally: Tally) -> CapFired | None:
    """Name the first cap whose limit has been passed; None while all hold."""
    return _first(caps, tally, gt)


def exhausted(caps: Caps, tally: Tally) -> CapFired | None:
    """Name the first cap that leaves no room for another model call; None while there is room."""
    return _first(caps, tally, ge)


def allowance(caps: Caps, tally: Tally, price: Price | None) -> int | None:
    """Count the output tokens that the token and dollar caps leave, at least 1; None where neither is set.

    The prompt of the next call is not taken off, because its size is only known afterwards: so a cap is overshot by at
    most one prompt.
    """
    room: list[float] = []
    if caps.tokens is not None:
        room.append(caps.tokens - tally.tokens)
    if caps.usd is not None and tally.usd is not None and price is not None and price.output > 0:
        room.append((caps.usd - tally.usd) / price.output * 1_000_000)
    return max(1, int(min(room))) if room else None


def _first(caps: Caps, tally: Tally, beyond: Callable[[float, float], bool]) -> CapFired | None:
    """Ask each meter that has a limit; an unknown value (None) never fires."""
    for meter in METERS:
        limit = getattr(caps, meter)
        if limit is None:
            continue
        value = tally.known(meter)
        if value is not None and beyond(value, limit):
            return CapFired(meter=meter, limit=limit, value=value, turn=tally.turns)
    return None
