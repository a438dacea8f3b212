"""Turns after the last progress: what counts as progress, and whose trials are looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from measure_traces import Call, a_key, a_trial, acted, turns_cap

from evalkit.core.record import Observed, Stop
from evalkit.measure.progress import Progress, last_progress

NEW: Call = ("look", {"at": 1}, "one", None)
AGAIN: Call = ("look", {"at": 2}, "one", None)
OTHER: Call = ("look", {"at": 1}, "two", None)
FAILED: Call = ("look", {"at": 3}, "no such place", "unrecoverable")
WRITE: Call = ("write", {"to": 1}, "one", None)


@pytest.mark.parametrize(
    ("calls", "last"),
    [
        ([], 0),
        ([NEW], 1),
        ([NEW, AGAIN, AGAIN], 1),
        ([NEW, AGAIN, OTHER], 3),
        ([NEW, FAILED, FAILED], 1),
        ([FAILED], 0),
        ([NEW, WRITE], 2),
    ],
)
def test_progress_is_a_result_that_the_tool_had_not_given_before(calls: list[Call], last: int) -> None:
    assert last_progress(a_trial(calls)) == last


def test_a_state_that_was_not_there_before_is_progress_too() -> None:
    states = [Observed(turn=turn, state=state, at=0.0) for turn, state in ((1, "a"), (2, "a"), (3, "b"), (4, "a"))]
    assert last_progress(a_trial([AGAIN] * 4, more=states)) == 3
    assert last_progress(a_trial([AGAIN] * 4, more=states[:2])) == 1
    assert last_progress(a_trial([AGAIN] * 4, more=states[2:3])) == 1, (
        "of the first state nobody knows whether it is new"
    )


def test_what_others_did_is_not_the_trials_own_progress() -> None:
    handed = acted(1, OTHER, agent="scout#1")
    assert last_progress(a_trial([NEW, AGAIN], more=[handed])) == 1
    assert last_progress(a_trial([NEW, AGAIN], more=[Observed(turn=9, state="x", at=0.0, agent="scout#1")])) == 1


def test_capped_trials_alone_are_added_up_by_variant() -> None:
    progress = Progress()
    stop = turns_cap(4)
    progress.add(a_trial([NEW, AGAIN, AGAIN, AGAIN], outcome="failed", stop=stop))
    progress.add(a_trial([NEW, OTHER], outcome="failed", stop=turns_cap(2)))
    progress.add(a_trial([NEW, AGAIN], outcome="failed", stop=Stop(reason="gave_up")))
    progress.add(a_trial([NEW, AGAIN]))
    progress.add(a_trial([NEW], outcome="failed", stop=stop, events=()))
    progress.add(a_trial([NEW, AGAIN], outcome="failed", stop=turns_cap(2), key=a_key(variant="w")))
    found = progress.of("v")
    assert (found.trials, found.turns, found.idle) == (2, 6, 3)
    assert found.share == pytest.approx((0.75 + 0.0) / 2)
    assert found.median == pytest.approx(0.375)
    assert progress.of("w").idle == 1
    nothing = progress.of("nobody")
    assert (nothing.trials, nothing.share, nothing.median) == (0, None, None)


def test_no_more_turns_are_idle_than_there_were() -> None:
    record = a_trial([NEW] * 3, outcome="failed", stop=turns_cap(3))
    late = replace(record, tally=replace(record.tally, turns=1))
    progress = Progress()
    progress.add(late)
    assert progress.of("v").idle == 0
