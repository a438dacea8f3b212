"""The last few tool calls are of at most two kinds, or one call stands there three times.

Source: the loop detector that circulates in write-ups on production agent loops (a window of six calls, the last four
compared). Nobody has published how often it is right; that is why the report counts its false alarms.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import ClassVar, Literal

from evalkit.core.record import Acted, Event
from evalkit.parts.detectors._calls import shown, signature


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatCalls:
    """Flags when the last `calls` calls are at most `kinds` different ones, or one call stands `same` times among the last `window`."""

    window: int = 6
    calls: int = 4
    kinds: int = 2
    same: int = 3
    then: Literal["warn", "stop"] = "warn"
    wants_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse numbers that could never flag or always would."""
        if not 1 <= self.kinds < self.calls <= self.window:
            raise ValueError("kinds must be below calls, and calls at most window")
        if self.same < 2:
            raise ValueError("same must be at least 2: a single call is no repetition")

    def open(self) -> RepeatCallsWatch:
        """Begin with an empty window."""
        return RepeatCallsWatch(self)


class RepeatCallsWatch:
    """One trial's window of calls; it is emptied after a flag, so that one spin is flagged once per window."""

    def __init__(self, part: RepeatCalls) -> None:
        """Keep the numbers."""
        self._part = part
        self._window: deque[str] = deque(maxlen=part.window)

    def watch(self, event: Event) -> str | None:
        """Take in a tool call."""
        if not isinstance(event, Acted):
            return None
        self._window.append(signature(event.call))
        recent = list(self._window)[-self._part.calls :]
        counts = Counter(recent)
        if len(recent) == self._part.calls and len(counts) <= self._part.kinds:
            self._window.clear()
            return f"the last {len(recent)} tool calls were only {' | '.join(shown(call) for call in counts)}"
        times = self._window.count(recent[-1])
        if times >= self._part.same:
            last = shown(recent[-1])
            self._window.clear()
            return f"{last} was called {times} times among the last {self._part.window} calls"
        return None
