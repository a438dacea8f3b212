"""Everything, verbatim: the highest fidelity and the fastest to grow."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.message import Message
from evalkit.core.protocols import History, MemoRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """Show the model the whole transcript."""

    def due(self, history: History) -> MemoRequest | None:
        """No memo is ever needed."""
        return None

    def view(self, history: History) -> tuple[Message, ...]:
        """Leave nothing out."""
        return history.messages
