"""The same run of tool calls again and again: a cycle longer than a single call.

Source: our own engineering judgment; no published algorithm for this is known to us.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar, Literal

from evalkit.core.record import Acted, Event
from evalkit.parts.detectors._calls import shown, signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Ngrams:
    """Flags when the last calls are one run of 1 to `longest` calls, `times` times in a row."""

    longest: int = 4
    times: int = 3
    then: Literal["warn", "stop"] = "warn"
    wants_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        if self.longest < 1 or self.times < 2:
            raise ValueError("longest must be at least 1 and times at least 2")

    def open(self) -> NgramsWatch:
        """Begin without calls."""
        return NgramsWatch(self)


class NgramsWatch:
    """One trial's last calls."""

    def __init__(self, part: Ngrams) -> None:
        """Keep as many calls as the longest cycle needs."""
        self._part = part
        self._calls: deque[str] = deque(maxlen=part.longest * part.times)

    def watch(self, event: Event) -> str | None:
        """Take in a tool call and look for a cycle at the end, the shortest first."""
        if not isinstance(event, Acted):
            return None
        self._calls.append(signature(event.call))
        calls = list(self._calls)
        for length in range(1, self._part.longest + 1):
            tail = calls[-length * self._part.times :]
            if len(tail) == length * self._part.times and tail == tail[:length] * self._part.times:
                self._calls.clear()
                cycle = ", ".join(shown(call, 60) for call in tail[:length])
                return f"{self._part.times} times in a row: {cycle}"
        return None
