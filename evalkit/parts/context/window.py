"""A sliding window: the request and what was said last, so that the prompt stays small however long the work takes.

Invariant: the cut falls between two exchanges, an exchange being what the model said up to the next time it is asked: its
turn, the results of its calls and any notes after them. So no call loses its result and no result its call.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.message import Message
from evalkit.core.record import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Show the model the user's request and the last `turns` exchanges."""

    turns: int

    def __post_init__(self) -> None:
        """Refuse a window that shows nothing of the work, with a `ValueError`."""
        if self.turns < 1:
            raise ValueError(f"turns is {self.turns}: it must be at least 1")

    def view(self, messages: tuple[Message, ...], tally: Tally) -> tuple[Message, ...]:
        """Leave out what stands between the request and the window; a turn that was paused and resumed is one turn."""
        starts = [
            at
            for at in range(1, len(messages))
            if messages[at].role == "assistant" and messages[at - 1].role != "assistant"
        ]
        if len(starts) <= self.turns:
            return messages
        return (messages[0], *messages[starts[-self.turns] :])
