"""Retries: only passing faults, bounded in number and in waiting, every failed try kept."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from evalkit.core.clock import ManualClock
from evalkit.core.errors import EvalkitError, MalformedArgs, ProviderError, ToolFailed, TransientFault
from evalkit.core.plan import Retries
from evalkit.engine.retry import Retrier


def failing(errors: list[EvalkitError]) -> Callable[[], str]:
    """Raise these one after the other, then answer."""
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


def retrier(clock: ManualClock, **policy: float) -> Retrier:
    """A retrier with seeded jitter."""
    return Retrier(Retries(**{"base": 1.0, "longest": 60.0, **policy}), clock, random.Random(1))  # type: ignore[arg-type]  # only float fields are given


def test_a_passing_fault_heals_and_is_kept() -> None:
    clock = ManualClock()
    tried = retrier(clock).run(failing([TransientFault("busy"), TransientFault("busy")]), 3)
    assert tried.value == "done"
    assert tried.error is None
    assert [attempt.error for attempt in tried.attempts] == ["busy", "busy"]
    assert clock.now == pytest.approx(1_000.0 + tried.waited)


def test_waits_double_within_jitter_up_to_the_longest() -> None:
    tried = retrier(ManualClock(), longest=4.0).run(failing([TransientFault("x")] * 5), 9)
    waits = [attempt.waited for attempt in tried.attempts]
    for wait, whole in zip(waits, [1.0, 2.0, 4.0, 4.0, 4.0], strict=True):
        assert whole / 2 <= wait <= whole


def test_tries_are_bounded_and_the_last_failure_waits_for_nothing() -> None:
    error = TransientFault("never")
    tried = retrier(ManualClock()).run(failing([error] * 9), 3)
    assert tried.error is error
    assert len(tried.attempts) == 3
    assert tried.attempts[-1].waited == 0.0


@pytest.mark.parametrize("error", [ToolFailed("no"), MalformedArgs("no"), ProviderError("no")])
def test_a_permanent_failure_is_never_tried_again(error: EvalkitError) -> None:
    clock = ManualClock()
    tried = retrier(clock).run(failing([error]), 5)
    assert tried.error is error
    assert clock.now == 1_000.0


def test_retry_after_is_honoured_and_its_status_kept() -> None:
    clock = ManualClock()
    tried = retrier(clock).run(failing([ProviderError("429", transient=True, retry_after=17.0, status=429)]), 2)
    assert tried.value == "done"
    assert tried.attempts[0].waited == 17.0
    assert tried.attempts[0].status == 429


def test_a_wait_that_does_not_fit_the_patience_is_not_begun() -> None:
    clock = ManualClock()
    hour = ProviderError("429", transient=True, retry_after=3600.0)
    tried = retrier(clock).run(failing([hour]), 5, patience=100.0)
    assert tried.error is hour
    assert clock.now == 1_000.0


def test_patience_is_used_up_by_all_waits_together() -> None:
    clock = ManualClock()
    busy = ProviderError("529", transient=True, retry_after=40.0)
    tried = retrier(clock).run(failing([busy] * 9), 9, patience=100.0)
    assert tried.error is busy
    assert clock.now == pytest.approx(1_080.0)
