"""Two trials side by side: a sentence says where they part, and only where they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from report_records import a_key, a_record

from evalkit.core.message import ToolCall, ToolResult
from evalkit.core.record import Acted, Event, Halted, TrialRecord
from evalkit.report.pair import pair_text

Made = Sequence[tuple[str, str]]


def a_trial(index: int, made: Made | None) -> TrialRecord:
    """A trial of some tool calls, each an argument and its result; None for one whose trace was not kept."""
    record = replace(a_record(a_key(index=index), 0.0), outcome="failed", answer="")
    if made is None:
        return replace(record, events=())
    acts: list[Event] = [
        Acted(
            turn=1,
            call=ToolCall(id=str(at), name="look", input={"a": argument}),
            result=ToolResult(tool_use_id=str(at), content=result),
            at=0.0,
            seconds=0.1,
        )
        for at, (argument, result) in enumerate(made)
    ]
    return replace(record, events=(*acts, Halted(turn=1, stop=record.stop, at=0.0)))


def said(one: Made | None, other: Made | None, width: int = 80) -> str:
    """The pair on one line."""
    text = pair_text(a_trial(1, one), a_trial(2, other), width)
    assert max(map(len, text.splitlines())) <= width
    return " ".join(text.split())


A, B, C = ("a", "1"), ("b", "1"), ("c", "1")


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        ([A, B], [A, C], "Here they part, at tool call 2."),
        ([A], [B], "They part from the first tool call on."),
        ([A, B], [A, B], "Their tool calls are all alike: what is left of each"),
        ([], [], "Neither of them called a tool: what is left of each"),
        ([A], [A, B], "Here they part: trial 1 of react ended after tool call 1, trial 2 of react went on."),
        ([A, B], [A], "Here they part: trial 2 of react ended after tool call 1, trial 1 of react went on."),
        ([A], [], "Here they part: trial 2 of react ended before its first tool call, trial 1 of react went on."),
        (None, [A], "Where they part is not known: no trace was kept of trial 1 of react."),
        (None, None, "Where they part is not known: no trace was kept of trial 1 of react and trial 2 of react."),
    ],
)
@pytest.mark.parametrize("width", [60, 80, 140])
def test_where_two_trials_part_is_said_only_where_they_do(
    one: Made | None, other: Made | None, sentence: str, width: int
) -> None:
    text = said(one, other, width)
    assert sentence in text
    parting = [word for word in ("Here they part", "They part", "all alike", "Neither", "not known") if word in text]
    assert len(parting) == 1, "one sentence, not two"


def test_shared_calls_with_other_results_are_said_to_have_them() -> None:
    one, other = [A, B, C], [A, ("b", "2"), C]
    assert "Of these, trial 2 of react got another result at tool call 2. Their tool calls are all alike" in said(
        one, other
    )
    many = [(name, "2") for name, _ in (A, B, C)]
    assert "trial 2 of react got other results at tool call 1, 2, 3." in said(one, many)
    assert "Of these" not in said(one, one)
