"""Signals: the first asks, the second takes, the grace time is bounded."""

from __future__ import annotations

import os
import signal
import time

import pytest

from evalkit.cli.interrupt import Abandoned, interruptible


def wait_for_the_end() -> None:
    """Wait longer than any grace time here."""
    for _ in range(500):
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_takes(number: signal.Signals) -> None:
    asked: list[str] = []
    before = signal.getsignal(number)
    with pytest.raises(Abandoned), interruptible(asked.append, grace=60.0):
        os.kill(os.getpid(), number)
        assert asked == [number.name]
        os.kill(os.getpid(), number)
        wait_for_the_end()
    assert asked == [number.name]
    assert signal.getsignal(number) is before


def test_the_grace_time_ends_the_waiting() -> None:
    with pytest.raises(Abandoned), interruptible(lambda _: None, grace=0.05):
        os.kill(os.getpid(), signal.SIGINT)
        wait_for_the_end()


def test_without_a_signal_nothing_happens_and_no_alarm_is_left() -> None:
    with interruptible(lambda _: None, grace=0.05):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
