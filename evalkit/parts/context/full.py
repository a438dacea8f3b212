"""Everything, verbatim: the highest fidelity and the fastest to grow."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.message import Message
from evalkit.core.record import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """Show the model the whole transcript."""

    def view(self, messages: tuple[Message, ...], tally: Tally) -> tuple[Message, ...]:
        """Leave nothing out."""
        return messages
