"""One text that the model rewrites each turn instead of a history."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.message import Message
from evalkit.core.protocols import History, MemoRequest
from evalkit.parts.context._exchanges import join, split, with_text
from evalkit.parts.context._pad import pad_due, pad_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratchpad:
    """Show the request, the pad, and the last exchange, whose results the model has not seen yet.

    `tokens` bounds the pad.
    """

    tokens: int = 1000

    def due(self, history: History) -> MemoRequest | None:
        """Rewrite the pad after each exchange but the last, which is still shown."""
        return pad_due(history, keep=1, tokens=self.tokens)

    def view(self, history: History) -> tuple[Message, ...]:
        """Put pad and last exchange together."""
        head, exchanges = split(history.messages)
        return join(with_text(head, pad_text(history)) if history.memos else head, exchanges[-1:])
