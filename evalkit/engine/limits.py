"""The caps of a conversation together with those of the conversations that it belongs to.

Invariant: a delegated conversation is held to its own caps and to every cap above it but turns, which are each
conversation's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evalkit.core.message import Price
from evalkit.core.plan import Caps
from evalkit.core.record import CapFired, Tally
from evalkit.engine.budget import allowance, crossed, exhausted
from evalkit.engine.ledger import Ledger

UNCAPPED = Caps()

Question = Callable[[Caps, Tally], CapFired | None]
"""Asks caps for the first that fired: `crossed`, `exhausted` or `exhausted_aside`."""


def exhausted_aside(caps: Caps, tally: Tally) -> CapFired | None:
    """Ask all caps for room but that of turns: a call aside is no turn."""
    return exhausted(replace(caps, turns=None), tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps, what they are held against, and the limits above them."""

    caps: Caps
    ledger: Ledger
    price: Price | None
    above: Limits | None = None

    def fired_above(self, question: Question) -> bool:
        """True where a cap of a conversation that this one belongs to has fired."""
        asked = question if question is crossed else exhausted_aside
        above = self.above
        return above is not None and (above.fired(asked) is not None or above.fired_above(asked))

    def fired(self, question: Question) -> CapFired | None:
        """Name the first of the conversation's own caps that has fired."""
        return None if self.caps == UNCAPPED else question(self.caps, self.ledger.tally)

    def room(self) -> int | None:
        """Output tokens that all caps together leave; None where none limits them."""
        own = None if self.caps == UNCAPPED else allowance(self.caps, self.ledger.tally, self.price)
        above = self.above.room() if self.above else None
        return min((room for room in (own, above) if room is not None), default=None)

    @property
    def in_dollars(self) -> bool:
        """True where there is a dollar cap, here or above."""
        return self.caps.usd is not None or (self.above is not None and self.above.in_dollars)
