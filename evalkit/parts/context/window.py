"""A sliding window: the request and what was said last, so that the prompt stays small however long the work takes."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.message import Message
from evalkit.core.protocols import History, MemoRequest
from evalkit.parts.context._exchanges import join, split


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Show the model the user's request and the last `turns` exchanges."""

    turns: int = 6

    def __post_init__(self) -> None:
        """Refuse a window that shows nothing of the work, with a `ValueError`."""
        if self.turns < 1:
            raise ValueError(f"turns is {self.turns}: it must be at least 1")

    def due(self, history: History) -> MemoRequest | None:
        """No memo is ever needed."""
        return None

    def view(self, history: History) -> tuple[Message, ...]:
        """Leave out what stands between the request and the window."""
        head, exchanges = split(history.messages)
        return history.messages if len(exchanges) <= self.turns else join(head[:1], exchanges[-self.turns :])
