"""Time as an argument: the real clock, and one that a test moves by hand.

Invariant: durations are monotonic, only stamps are wall time, and nothing outside this file asks the machine for either.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Where a trial gets its time from."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""

    def time(self) -> float:
        """Seconds since the epoch: for stamps only."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        return time.monotonic()

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait in earnest."""
        time.sleep(seconds)


@dataclass
class ManualClock:
    """A clock that moves only when told to or slept on; `step` seconds pass at each reading of `monotonic`."""

    now: float = 1_000.0
    step: float = 0.0

    def monotonic(self) -> float:
        """The time set, after moving it on by `step`."""
        self.now += self.step
        return self.now

    def time(self) -> float:
        """The time set."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move on without waiting."""
        self.now += seconds
