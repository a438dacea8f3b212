"""Ctrl-C and SIGTERM: the first asks for the end, the second (or the end of the grace time) takes it.

Invariant: whatever the signal, finished trials are saved; only running ones are given up, and they count as abandoned, never as failed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Abandoned(BaseException):
    """Running trials are given up; raised into the driver's own waiting."""


@contextmanager
def interruptible(first: Callable[[str], None], grace: float) -> Iterator[None]:
    """Within this context the first signal calls `first` with its name; `grace` seconds later, or at the second signal, `Abandoned` is raised."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        """Ask for the end once, then take it."""
        del frame
        if on_signal.asked:  # type: ignore[attr-defined]  # the handler's own memory
            raise Abandoned
        on_signal.asked = True  # type: ignore[attr-defined]  # the same
        signal.setitimer(signal.ITIMER_REAL, grace)
        first(signal.Signals(number).name)

    def on_alarm(number: int, frame: FrameType | None) -> None:
        """The grace time is over."""
        del number, frame
        raise Abandoned

    on_signal.asked = False  # type: ignore[attr-defined]  # the same
    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, on_alarm)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
