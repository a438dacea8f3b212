"""Trying again what failed in passing: one policy for model calls and for tools, with every failed try kept.

Invariant: the number of tries is bounded, and so is the waiting: a wait that the other side asks for (`retry-after`) is honoured
only while it fits into the patience that is left, because sleeping past a trial's time limit helps nobody.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from evalkit.core.clock import Clock
from evalkit.core.errors import EvalkitError, ProviderError, TransientFault
from evalkit.core.plan import Retries
from evalkit.core.record import Attempt

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Generic[T]):
    """What came of it: a value or the last error, and the failed tries before that."""

    value: T | None
    error: EvalkitError | None
    attempts: tuple[Attempt, ...] = ()

    @property
    def waited(self) -> float:
        """Seconds spent waiting between tries."""
        return sum(attempt.waited for attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class Retrier:
    """A variant's retry policy, with the clock and the random numbers that it needs for backoff and jitter."""

    policy: Retries
    clock: Clock
    rng: random.Random

    def run(self, call: Callable[[], T], tries: int, patience: float | None = None) -> Tried[T]:
        """Call until it works, fails for good, or `tries` are used up; never wait past `patience` seconds in all."""
        failed: list[Attempt] = []
        left = float("inf") if patience is None else patience
        while True:
            try:
                return Tried(value=call(), error=None, attempts=tuple(failed))
            except EvalkitError as error:
                wait = self._wait(error, len(failed))
                last = not _passing(error) or len(failed) + 1 >= tries or wait > left
                status = error.status if isinstance(error, ProviderError) else None
                failed.append(Attempt(error=str(error), status=status, waited=0.0 if last else wait))
                if last:
                    return Tried(value=None, error=error, attempts=tuple(failed))
            left -= wait
            self.clock.sleep(wait)

    def _wait(self, error: EvalkitError, failures: int) -> float:
        """Full exponential backoff with jitter between half and all of it, or what the other side asked for if that is longer."""
        backoff = min(self.policy.longest, self.policy.base * 2.0**failures) * self.rng.uniform(0.5, 1.0)
        asked = error.retry_after if isinstance(error, ProviderError) else None
        return max(backoff, asked or 0.0)


def _passing(error: EvalkitError) -> bool:
    """True where the same call may work later."""
    return isinstance(error, TransientFault) or (isinstance(error, ProviderError) and error.transient)
