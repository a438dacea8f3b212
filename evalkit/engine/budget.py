"""Caps as pure questions over a tally: which limit, if any, has been crossed, and is there room for one more call.

Invariant: a limit may be reached but not crossed. A reply that lands exactly on a limit counts; the next call is
refused. Where several limits are crossed at once the first in the order of `Caps` is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import ge, gt

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


def _first(caps: Caps, tally: Tally, beyond: Callable[[float, float], bool]) -> CapFired | None:
    """Ask each meter that has a limit; an unknown value (None) never fires."""
    for meter in METERS:
        limit = getattr(caps, meter)
        if limit is None:
            continue
        value = getattr(tally, meter)
        if value is not None and beyond(value, limit):
            return CapFired(meter=meter, limit=limit, value=value, turn=tally.turns)
    return None
