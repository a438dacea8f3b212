"""What an agent with a model of its own tells of its conversation: turns and results, taken into transcript, trace and counts.

Invariant: a turn that is overheard counts like one that was asked for, and the same caps end the trial: a limit may be reached but not
crossed, so a final answer on the last allowed turn counts, and tool results after it, which call for one turn more, do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evalkit.core.clock import Clock
from evalkit.core.message import Reply, ToolCall, ToolResult
from evalkit.core.record import Acted, Asked, Event
from evalkit.engine.ledger import Ledger
from evalkit.engine.transcript import Transcript

UNKNOWN_CALL = "unknown"
"""The name of a tool whose call was not told, only its result."""


@dataclass(slots=True, kw_only=True)
class Overheard:
    """The ears of one conversation; `open_calls` are the tool calls that have no result yet, each with the moment at which it was told."""

    ledger: Ledger
    transcript: Transcript
    clock: Clock
    record: Callable[[Event], None]
    open_calls: dict[str, tuple[ToolCall, float]] = field(default_factory=dict)
    last: float | None = None

    def reply(self, reply: Reply, agent: str) -> None:
        """Count a turn and tell it; one of a helper is a call aside."""
        at = self.clock.time()
        begun = self.last if self.last is not None else at
        self.ledger.add_overheard(reply, is_turn=not agent)
        if not agent:
            self.transcript.answer(())
            self.transcript.add_reply(reply)
        self.open_calls |= {call.id: (call, at) for call in reply.calls}
        held = len(self.transcript)
        self.record(
            Asked(
                turn=self.ledger.turns,
                call=self.ledger.root.calls,
                purpose="overheard",
                sent=held,
                held=held,
                reply=reply,
                at=begun,
                seconds=max(0.0, at - begun),
                agent=agent,
            )
        )
        self.last = at

    def results(self, results: Sequence[ToolResult], agent: str) -> None:
        """Pair results with their calls, count them and tell them."""
        at = self.clock.time()
        acted = []
        for result in results:
            unknown = ToolCall(id=result.tool_use_id, name=UNKNOWN_CALL, input={})
            call, begun = self.open_calls.pop(result.tool_use_id, (unknown, at))
            acted.append(
                Acted(
                    turn=self.ledger.turns,
                    call=call,
                    result=result,
                    at=begun,
                    seconds=max(0.0, at - begun),
                    error="unrecoverable" if result.is_error else None,
                    detail=result.content if result.is_error else "",
                    agent=agent,
                )
            )
        self.ledger.add_tools(acted)
        if not agent:
            self.transcript.answer(results)
        for one in acted:
            self.record(one)
        self.last = at
