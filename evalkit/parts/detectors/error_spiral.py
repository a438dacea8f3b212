"""Tool call after tool call fails.

Source: our own engineering judgment; no published algorithm for this is known to us.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from evalkit.core.record import Acted, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpiral:
    """Flags when the last `errors` tool calls all failed."""

    errors: int = 4
    then: Literal["warn", "stop"] = "warn"
    wants_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a number that would flag a single slip."""
        if self.errors < 2:
            raise ValueError("errors must be at least 2")

    def open(self) -> ErrorSpiralWatch:
        """Begin without errors."""
        return ErrorSpiralWatch(self)


class ErrorSpiralWatch:
    """The failures in a row of one trial."""

    def __init__(self, part: ErrorSpiral) -> None:
        """Keep the number of errors."""
        self._part = part
        self._failed = 0

    def watch(self, event: Event) -> str | None:
        """Take in the outcome of a tool call."""
        if not isinstance(event, Acted):
            return None
        self._failed = self._failed + 1 if event.error is not None else 0
        if self._failed < self._part.errors:
            return None
        self._failed = 0
        return f"the last {self._part.errors} tool calls failed, the last with: {event.detail[:200]}"
