"""The last turns as they are, and a text of the model's for all that came before."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.message import Message
from evalkit.core.protocols import History, MemoRequest
from evalkit.parts.context._exchanges import join, split, with_text
from evalkit.parts.context._pad import pad_due, pad_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Show the request, a scratchpad of decisions, and the last `turns` exchanges; `tokens` bounds the pad."""

    turns: int = 4
    tokens: int = 1000

    def __post_init__(self) -> None:
        """Refuse a window of nothing."""
        if self.turns < 1:
            raise ValueError("turns must be at least 1")

    def due(self, history: History) -> MemoRequest | None:
        """Rewrite the pad when an exchange falls out of the window."""
        return pad_due(history, keep=self.turns, tokens=self.tokens)

    def view(self, history: History) -> tuple[Message, ...]:
        """Put pad and window together."""
        head, exchanges = split(history.messages)
        return join(with_text(head, pad_text(history)) if history.memos else head, exchanges[-self.turns :])
