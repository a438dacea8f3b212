"""Detectors: what they flag, what they leave alone, and that one spin is not flagged at every turn."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.core.message import ToolCall, ToolResult
from evalkit.core.plan import Spec
from evalkit.core.record import Acted, Observed
from evalkit.parts import build, faults, kinds


def acted(name: str, error: Any = None, **arguments: Any) -> Acted:
    """A tool call that happened."""
    call = ToolCall(id="c", name=name, input=arguments)
    result = ToolResult(tool_use_id="c", content="")
    return Acted(turn=1, call=call, result=result, at=0.0, seconds=0.0, error=error, detail="no such file")


def observed(state: str) -> Observed:
    """A state that was seen."""
    return Observed(turn=1, state=state, at=0.0)


def flags(kind: str, events: list[Any], **options: Any) -> list[int]:
    """At which events, counted from 1, a detector flags."""
    detector = build("detectors", Spec(kind=kind, options=options)).open()
    return [number for number, event in enumerate(events, 1) if detector.watch(event) is not None]


A, B, C, D, E = (acted(name) for name in "abcde")


@pytest.mark.parametrize(
    ("events", "at"),
    [
        ([A, B, A, B], [4]),
        ([A, A, A, A], [3]),
        ([A, B, C, D, E], []),
        ([A, B, A, C, A], [5]),
        ([acted("a", x=1), acted("a", x=2), acted("a", x=3), acted("a", x=4)], []),
        ([A, B, A, B, A, B, A, B], [4, 8]),
        ([A, B, A], []),
    ],
)
def test_repeat_calls(events: list[Any], at: list[int]) -> None:
    assert flags("repeat_calls", events) == at


@pytest.mark.parametrize(
    ("events", "at"),
    [
        ([A, B, C] * 3, [9]),
        ([A, B] * 3, [6]),
        ([A] * 3, [3]),
        ([A, B, C, A, B, C, A, B, D], []),
        ([A, B, C, D, E] * 3, []),
    ],
)
def test_ngrams(events: list[Any], at: list[int]) -> None:
    assert flags("ngrams", events) == at


def test_state_hash_counts_turns_without_news_states_seen_before_included() -> None:
    assert flags("state_hash", [observed(state) for state in "xxxx"], turns=3) == [4]
    assert flags("state_hash", [observed(state) for state in "xyxyx"], turns=3) == [5]
    assert flags("state_hash", [observed(state) for state in "xxyxxz"], turns=3) == []
    assert flags("state_hash", [A] * 9, turns=3) == []


def test_error_spiral_counts_failures_in_a_row() -> None:
    bad = acted("a", error="unrecoverable")
    assert flags("error_spiral", [bad] * 4) == [4]
    assert flags("error_spiral", [bad, bad, bad, A, bad, bad, bad]) == []
    assert flags("error_spiral", [bad] * 8) == [4, 8]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("repeat_calls", {"kinds": 4}),
        ("repeat_calls", {"same": 1}),
        ("ngrams", {"times": 1}),
        ("state_hash", {"turns": 1}),
        ("error_spiral", {"errors": 1}),
        ("error_spiral", {"then": "shout"}),
    ],
)
def test_numbers_that_mean_nothing_are_refused(kind: str, options: dict[str, Any]) -> None:
    assert faults("detectors", kind, options)


@pytest.mark.parametrize("kind", kinds("detectors"))
def test_every_detector_warns_by_default_and_keeps_no_memory_between_trials(kind: str) -> None:
    part = build("detectors", Spec(kind=kind))
    assert part.then == "warn"
    assert part.open() is not part.open()
