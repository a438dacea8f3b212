"""The world has not changed, or has come back to where it was before, for several turns.

Source: our own engineering judgment; no published algorithm for this is known to us. Reading changes no state, so a
task that wants much reading is flagged wrongly unless `turns` is above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from evalkit.core.record import Event, Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class StateHash:
    """Flags when the observable state after each of the last `turns` turns had been seen before."""

    turns: int = 4
    then: Literal["warn", "stop"] = "warn"
    wants_state: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a number that would flag the first turn."""
        if self.turns < 2:
            raise ValueError("turns must be at least 2")

    def open(self) -> StateHashWatch:
        """Begin without having seen anything."""
        return StateHashWatch(self)


class StateHashWatch:
    """The states that one trial has been in."""

    def __init__(self, part: StateHash) -> None:
        """Keep the number of turns."""
        self._part = part
        self._seen: set[str] = set()
        self._stale = 0

    def watch(self, event: Event) -> str | None:
        """Take in a state."""
        if not isinstance(event, Observed):
            return None
        self._stale = self._stale + 1 if event.state in self._seen else 0
        self._seen.add(event.state)
        if self._stale < self._part.turns:
            return None
        self._stale = 0
        return f"the state of the world is nothing new since {self._part.turns} turns"
