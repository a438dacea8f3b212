"""Makers of records with traces, and of the tables that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from evalkit.core.errors import ToolErrorKind
from evalkit.core.message import Message, Reply, Text, ToolCall, ToolResult, Usage
from evalkit.core.plan import TrialKey
from evalkit.core.record import Acted, Asked, CapFired, Event, Halted, Outcome, Stop, Tally, TrialRecord
from evalkit.measure.courses import Courses
from evalkit.measure.table import Table

Call = tuple[str, dict[str, Any], str, ToolErrorKind | None]
"""A tool call: tool, arguments, result, and the kind of its error."""


def a_key(index: int = 1, task: str = "t", variant: str = "v", suite: str = "s") -> TrialKey:
    """The key of a trial."""
    return TrialKey(suite=suite, task=task, variant=variant, index=index, task_digest="0" * 16, variant_digest="1" * 16)


def asked(turn: int, at: float = 0.0, *, usd: float | None = 0.01, tokens: int = 100, **changes: Any) -> Asked:
    """A model call that took half a second."""
    reply = Reply(
        message=Message(role="assistant", content=(Text(text="so"),)),
        stop_reason="tool_use",
        usage=Usage(input=tokens),
        usd=usd,
    )
    event = Asked(turn=turn, call=turn, purpose="act", sent=1, held=1, reply=reply, at=at, seconds=0.5)
    return replace(event, **changes)


def acted(turn: int, call: Call, at: float = 0.0, **changes: Any) -> Acted:
    """A tool call."""
    tool, arguments, result, error = call
    event = Acted(
        turn=turn,
        call=ToolCall(id="c", name=tool, input=arguments),
        result=ToolResult(tool_use_id="c", content=result, is_error=error is not None),
        at=at,
        seconds=0.1,
        error=error,
    )
    return replace(event, **changes)


def a_trial(
    calls: Sequence[Call] = (),
    *,
    outcome: Outcome = "passed",
    stop: Stop | None = None,
    key: TrialKey | None = None,
    more: Iterable[Event] = (),
    **changes: Any,
) -> TrialRecord:
    """A trial of one tool call a turn, a turn a second, and an answer at the end."""
    events: list[Event] = []
    for turn, call in enumerate(calls, 1):
        events += [asked(turn, float(turn)), acted(turn, call, turn + 0.6)]
    turns = len(calls)
    ended = stop or Stop(reason="finished")
    if ended.reason == "finished":
        turns += 1
        events.append(asked(turns, float(turns)))
    events += [*more, Halted(turn=turns, stop=ended, at=turns + 1.0)]
    tally = Tally(turns=turns, calls=turns, input_tokens=100 * turns, usd=0.01 * turns, seconds=float(turns))
    record = TrialRecord(
        key=key or a_key(),
        seed=1,
        outcome=outcome,
        stop=ended,
        graded=None if outcome == "error" else "pass" if outcome == "passed" else "fail",
        answer="so",
        tally=tally,
        nature="simulated",
        started=0.0,
        seconds=turns + 1.0,
        events=tuple(events),
    )
    return replace(record, **changes)


def turns_cap(limit: int) -> Stop:
    """The stop of a trial whose turns ran out."""
    return Stop(reason="cap:turns", cap=CapFired(meter="turns", limit=limit, value=limit, turn=limit))


def read(records: Sequence[TrialRecord], planned: int = 1) -> tuple[Table, Courses]:
    """The table of some records, each task planned so often under each variant, and their courses."""
    courses = Courses()
    for record in records:
        courses.add(record)
    table = Table.of(
        tasks=list(dict.fromkeys((one.key.suite, one.key.task) for one in records)),
        variants=list(dict.fromkeys(one.key.variant for one in records)),
        planned=planned,
        suite=[one.key.suite for one in records],
        task=[one.key.task for one in records],
        variant=[one.key.variant for one in records],
        index=[one.key.index for one in records],
        outcome=[one.outcome for one in records],
        graded=[one.graded for one in records],
        stop=[one.stop.reason for one in records],
        turns=[one.tally.turns for one in records],
        tokens=[one.tally.tokens for one in records],
        usd=[one.tally.usd for one in records],
        seconds=[one.tally.seconds for one in records],
    )
    return table, courses
