"""Tripwires by pattern."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalkit.core.message import Message, Reply, Text, ToolCall, ToolResult
from evalkit.core.plan import Spec
from evalkit.core.record import Acted, Asked
from evalkit.parts import build, faults

ACTED = Acted(
    turn=1,
    call=ToolCall(id="c", name="run", input={"command": "rm -rf /"}),
    result=ToolResult(tool_use_id="c", content="permission denied"),
    at=0.0,
    seconds=0.0,
)
REPLY = Reply(message=Message(role="assistant", content=(Text(text="I will lie"),)), stop_reason="end_turn")
ASKED = Asked(turn=1, call=1, purpose="act", sent=1, held=1, reply=REPLY, at=0.0, seconds=0.0)


@pytest.mark.parametrize(
    ("on", "pattern", "event", "trips"),
    [
        ("calls", r"rm -rf", ACTED, True),
        ("calls", r"permission", ACTED, False),
        ("results", r"permission", ACTED, True),
        ("text", r"\blie\b", ASKED, True),
        ("text", r"rm", ACTED, False),
        ("calls", r"lie", ASKED, False),
    ],
)
def test_it_looks_where_it_is_told_to(on: str, pattern: str, event: Any, trips: bool) -> None:
    part = build("guardrails", Spec(kind="pattern", options={"name": "x", "pattern": pattern, "where": on}))
    assert (part.trips(event, Path()) is not None) == trips


def test_a_pattern_that_does_not_compile_is_refused() -> None:
    ((_, message),) = faults("guardrails", "pattern", {"name": "x", "pattern": "("})
    assert "does not compile" in message
