"""The events of `claude -p --output-format stream-json --verbose`: one JSON object a line, the last of them the result.

A message may come in several events of one id, one a block: it is one turn, its usage the greatest that any of them told. The result's
own totals take the place of what was summed up, but never lower it. Messages of a helper (`parent_tool_use_id`) are calls aside.

Invariant: no line that a program may write raises anything but the stop of its trial, and a run without a result never counts
as finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalkit.core.message import Reply, Usage
from evalkit.core.protocols import Session
from evalkit.core.record import Counter, Reported
from evalkit.parts.streams._claude import count_of, dollars_of, message_of, most, plus, results_of, usage_of
from evalkit.parts.streams._ending import ended
from evalkit.parts.streams._lines import Lines, TooLong, parse, shown

HELPER = "helper"
UNREADABLE = 20
"""Lines that could not be read and are told one by one; of more only their number is."""

SYNTHETIC = "<synthetic>"
"""The model's name where the program speaks for itself, to tell that its API failed."""

OWN_LIMITS = {"error_max_turns": "cap:turns", "error_max_budget_usd": "cap:usd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJson:
    """The events that Claude Code prints; turns, tokens, tool calls and cost are told, the cost at the end."""

    HOLDS: ClassVar[tuple[str, ...]] = ("turns", "tokens")
    TELLS: ClassVar[tuple[str, ...]] = ("usd",)

    def open(self, session: Session) -> ClaudeStream:
        """Begin with nothing heard."""
        return ClaudeStream(session)


@dataclass(slots=True)
class Turn:
    """A message under way: its id and helper, and what of it came so far."""

    id: str
    agent: str
    model: str
    blocks: list[Any]
    usage: Usage


@dataclass(slots=True)
class ClaudeStream:
    """The events of one run; `heard` is what the messages' usages add up to."""

    session: Session
    lines: Lines = field(default_factory=Lines)
    turn: Turn | None = None
    heard: Usage = field(default_factory=Usage)
    turns: int = 0
    told_usage: bool = False
    text: str = ""
    result: Mapping[str, Any] | None = None
    api_error: str = ""
    unreadable: int = 0

    def hear(self, piece: bytes) -> None:
        """Take in the events that a piece completes."""
        try:
            for line in self.lines.cut(piece):
                self._take(line)
        except TooLong as error:
            self.session.stop("agent_error", f"{error}, which is no event")

    def end(self, code: int) -> None:
        """Say how the agent ended: by its result, and by its exit status."""
        if self.lines.rest.strip():
            self._take(bytes(self.lines.rest))
        self._flush()
        if self.unreadable > UNREADABLE:
            self._report(f"{self.unreadable - UNREADABLE:,} more lines that are no events")
        if self.result is None:
            self._end_without_result(code)
            return
        told, subtype = self.result.get("result"), self.result.get("subtype")
        told = told if isinstance(told, str) else ""
        subtype = subtype if isinstance(subtype, str) else "without a subtype"
        self.session.conclude(told or self.text)
        if self._api_failed(told):
            self.session.stop("error:provider", told or self.api_error or "its API failed")
        if subtype in OWN_LIMITS:
            self.session.stop(OWN_LIMITS[subtype], f"the agent's own limit ended it: {subtype}")
        if subtype != "success" or self.result.get("is_error") is True:
            self.session.stop(
                "agent_error", f"the agent's result is {subtype}: {told or self.result.get('errors', '')}"
            )
        if code:
            self.session.stop("agent_error", f"{ended(code)}, though its result is a success")

    def settle(self) -> None:
        """Take over the totals of the result; what neither it nor a message told is not known."""
        result = self.result or {}
        total = usage_of(result.get("usage"))
        turns = count_of(result.get("num_turns")) if not self.turns else 0
        blind = not self.turns
        uncounted: list[Counter] = []
        if turns is None or (blind and not turns):
            uncounted.append("turns")
        if total is None and not self.told_usage:
            uncounted.append("tokens")
        if blind:
            uncounted.append("tool_calls")
        rest = plus(most(total, self.heard), self.heard, -1) if total else Usage()
        cost = dollars_of(result.get("total_cost_usd"))
        self.session.settle(turns=turns or 0, usage=rest, usd=cost, uncounted=tuple(uncounted))

    def _take(self, line: bytes) -> None:
        """Take in one event; those of types that say nothing of the conversation are passed over."""
        event = parse(line)
        if isinstance(event, str):
            self._refuse(event)
            return
        kind, message = event.get("type"), event.get("message")
        if kind in ("assistant", "user") and not isinstance(message, Mapping):
            self._refuse(f"an event without a message: {shown(line)}")
        elif kind == "assistant":
            self._take_assistant(event, message if isinstance(message, Mapping) else {})
        elif kind == "user":
            self._flush()
            results = results_of(message.get("content") if isinstance(message, Mapping) else None)
            if results:
                self.session.overhear_results(results, agent=_helper(event))
        elif kind == "result":
            self._flush()
            self.result = event
        elif not isinstance(kind, str):
            self._refuse(f"an event without a type: {shown(line)}")

    def _take_assistant(self, event: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        """Begin a turn, or go on with the one of the same id."""
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if message.get("model") == SYNTHETIC or event.get("is_api_error_message") is True:
            self._flush()
            self.api_error = message_of(blocks).text or str(event.get("error", ""))
            self._report(self.api_error)
            return
        agent, name = _helper(event), message.get("id")
        told = usage_of(message.get("usage"))
        self.told_usage = self.told_usage or told is not None
        if self.turn is not None and isinstance(name, str) and (self.turn.id, self.turn.agent) == (name, agent):
            self.turn.blocks += blocks
            self.turn.usage = most(self.turn.usage, told or Usage())
            return
        self._flush()
        model = message.get("model")
        self.turn = Turn(
            id=name if isinstance(name, str) else "",
            agent=agent,
            model=model if isinstance(model, str) else "",
            blocks=list(blocks),
            usage=told or Usage(),
        )

    def _flush(self) -> None:
        """Tell the session of a turn that is whole."""
        turn, self.turn = self.turn, None
        if turn is None:
            return
        message = message_of(turn.blocks)
        self.heard = plus(self.heard, turn.usage)
        if not turn.agent:
            self.turns += 1
            self.text = message.text or self.text
        reason = "tool_use" if message.calls else "end_turn"
        self.session.overhear(
            Reply(message=message, stop_reason=reason, usage=turn.usage, usd=None, model=turn.model),  # type: ignore[arg-type]  # one of the reasons
            agent=turn.agent,
        )

    def _end_without_result(self, code: int) -> None:
        """Say that there is no result; where its API failed that is the cause, and none of the agent's doing."""
        self.session.conclude(self.text)
        if self.api_error:
            self.session.stop("error:provider", self.api_error)
        lines = f"; {self.unreadable:,} of its lines are no events" if self.unreadable else ""
        self.session.stop("agent_error", f"{ended(code)} and told no result{lines}")

    def _api_failed(self, told: str) -> bool:
        """True where an error comes from the model's API, whose failures are none of the agent's."""
        result = self.result or {}
        named = result.get("terminal_reason") == "api_error" or result.get("api_error_status") is not None
        return result.get("is_error") is True and (named or bool(self.api_error) or told.startswith("API Error"))

    def _refuse(self, why: str) -> None:
        """Note a line that is no event."""
        self.unreadable += 1
        if self.unreadable <= UNREADABLE:
            self._report(why)

    def _report(self, text: str) -> None:
        """Put what is no part of the conversation into the trace."""
        now = self.session.now()
        self.session.record(Reported(turn=self.session.tally.turns, origin="unreadable", text=text, at=now))


def _helper(event: Mapping[str, Any]) -> str:
    """The name of a helper that an event is of; empty for the agent itself."""
    return HELPER if event.get("parent_tool_use_id") else ""
