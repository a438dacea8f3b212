"""A trial as spans, by OpenTelemetry's conventions for generative AI: plain data, which `report/otel.py` writes or sends.

A trial is one trace. Its root is `invoke_agent VARIANT`; under it each model call is `chat MODEL`, each tool call `execute_tool NAME`, and work that
was delegated an `invoke_agent` of its own. What graders and checks said are events `gen_ai.evaluation.result`, everything else that happened is
an event `evalkit.…` of the conversation that it happened in.

Invariant: ids hang on the run, the trial, its attempt and when it began, so that what is exported twice is there once. What people or models wrote is left
out unless it is asked for.
Source: OpenTelemetry semantic conventions for generative AI, version 1.41 (in development).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Literal

from evalkit.core.message import JSON
from evalkit.core.plan import Spec
from evalkit.core.record import Acted, Asked, Attempt, Checked, Delegated, Event, Halted, Stop, TrialRecord, Unanswered
from evalkit.report.span import Moment, Span, as_json, encodable, known, nanos

WRITTEN = frozenset(
    ("text", "prompt", "answer", "reason", "revised_plan", "issues", "detail", "pattern", "error", "pictures", "state")
)
"""Fields of events that hold what somebody wrote, or may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What a trial's spans say beside its record: the run, the provider of its variant, and whether content is wanted."""

    run: str
    provider: Spec
    content: bool = False

    def spans(self, record: TrialRecord) -> Iterator[Span]:
        """Give the spans of a trial, the root first; its record comes with its events."""
        seed = json.dumps([self.run, record.key.digest, record.attempt, record.started])
        trace = int.from_bytes(sha256(seed.encode()).digest()[:16]) or 1
        ids = {agent: _span_id(trace, agent) for agent in ("", *_agents(record.events))}
        yield self._root(record, trace, ids[""])
        for agent, own in ids.items():
            if agent:
                parent = ids.get(agent.rpartition("/")[0], ids[""])
                yield self._delegated(record, trace, agent, own, parent)
        for place, event in enumerate(record.events):
            if isinstance(event, (Asked, Unanswered, Acted)):
                made = self._call(event) if isinstance(event, (Asked, Unanswered)) else self._tool(event)
                yield replace(made, trace_id=trace, span_id=_span_id(trace, place), parent_id=ids[event.agent])

    def _root(self, record: TrialRecord, trace: int, own: int) -> Span:
        """The trial as a whole."""
        key, tally = record.key, record.tally
        model = self.provider.options.get("model")
        shown = {
            **self._agent(key.variant),
            "gen_ai.agent.version": key.variant_digest,
            "gen_ai.conversation.id": key.digest,
            "gen_ai.request.model": model if isinstance(model, str) else None,
            "gen_ai.usage.input_tokens": None if "tokens" in tally.uncounted else tally.usage.prompt,
            "gen_ai.usage.output_tokens": None if "tokens" in tally.uncounted else tally.output_tokens,
            "evalkit.run": self.run,
            "evalkit.suite": key.suite,
            "evalkit.task": key.task,
            "evalkit.task.digest": key.task_digest,
            "evalkit.trial": key.index,
            "evalkit.attempt": record.attempt,
            "evalkit.outcome": record.outcome,
            "evalkit.graded": record.graded,
            "evalkit.nature": record.nature,
            "evalkit.seed": str(record.seed),
            "evalkit.turns": tally.known("turns"),
            "evalkit.usd": tally.usd,
            **self._stopped(record.stop),
        }
        start = nanos(record.started)
        return Span(
            trace_id=trace,
            span_id=own,
            parent_id=None,
            name=encodable(f"invoke_agent {key.variant}"),
            kind="internal",
            start=start,
            end=start + max(0, nanos(record.seconds)),
            attributes=known(shown),
            moments=self._moments(record.events, ""),
            failed=encodable((self.content and record.error) or record.stop.reason)
            if record.outcome == "error"
            else None,
        )

    def _delegated(self, record: TrialRecord, trace: int, agent: str, own: int, parent: int) -> Span:
        """Work that went to a loop of its own: from its first event to when it was taken back."""
        mine = [
            event for event in record.events if _agent_of(event) == agent or _agent_of(event).startswith(f"{agent}/")
        ]
        taken = next((one for one in mine if isinstance(one, Delegated) and one.agent == agent), None)
        shown = {**self._agent(agent.rpartition("/")[2]), **({} if taken is None else self._stopped(taken.stop))}
        return Span(
            trace_id=trace,
            span_id=own,
            parent_id=parent,
            name=encodable(f"invoke_agent {agent.rpartition('/')[2]}"),
            kind="internal",
            start=min(nanos(one.at) for one in mine),
            end=max(nanos(one.at) + nanos(getattr(one, "seconds", 0.0)) for one in mine),
            attributes=known(shown),
            moments=self._moments(record.events, agent),
            failed=taken.stop.reason if taken is not None and taken.stop.is_error else None,
        )

    def _call(self, event: Asked | Unanswered) -> Span:
        """A model call; each failed try before its end is an event."""
        model = self.provider.options.get("model")
        asked = model if isinstance(model, str) else None
        shown: dict[str, JSON] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.provider.kind,
            "gen_ai.request.model": asked,
            "evalkit.turn": event.turn,
        }
        failed = None
        if isinstance(event, Unanswered):
            failed = event.error if self.content else "unanswered"
            shown["error.type"] = "evalkit.unanswered"
        else:
            usage = event.reply.usage
            shown |= {
                "gen_ai.response.model": event.reply.model or None,
                "gen_ai.response.finish_reasons": (event.reply.stop_reason,),
                "gen_ai.usage.input_tokens": usage.prompt,
                "gen_ai.usage.output_tokens": usage.output,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_5m + usage.cache_write_1h,
                "evalkit.purpose": event.purpose,
                "evalkit.usd": event.reply.usd,
            }
            if self.content:
                shown["gen_ai.output.messages"] = _message(event)
        return self._span(f"chat {asked or 'model'}", "client", event, shown, failed)

    def _tool(self, event: Acted) -> Span:
        """A tool call."""
        shown: dict[str, JSON] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.call.name,
            "gen_ai.tool.call.id": event.call.id,
            "gen_ai.tool.type": "function",
            "error.type": event.error,
            "evalkit.turn": event.turn,
        }
        if self.content:
            shown["gen_ai.tool.call.arguments"] = as_json(event.call.input)
            shown["gen_ai.tool.call.result"] = event.result.content
        failed = None if event.error is None else event.detail if self.content else event.error
        return self._span(f"execute_tool {event.call.name}", "internal", event, shown, failed)

    def _span(
        self,
        name: str,
        kind: Literal["internal", "client"],
        event: Asked | Unanswered | Acted,
        shown: Mapping[str, JSON],
        failed: str | None,
    ) -> Span:
        """Put an operation together; its ids are yet to come."""
        start = nanos(event.at)
        return Span(
            trace_id=0,
            span_id=0,
            parent_id=None,
            name=encodable(name),
            kind=kind,
            start=start,
            end=start + max(0, nanos(event.seconds)),
            attributes=known(shown),
            moments=tuple(_tried(one, start, content=self.content) for one in event.attempts),
            failed=None if failed is None else encodable(failed),
        )

    def _agent(self, name: str) -> dict[str, JSON]:
        """What says of a span that an agent was invoked."""
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self.provider.kind,
            "gen_ai.agent.name": name,
        }

    def _stopped(self, stop: Stop) -> dict[str, JSON]:
        """Why a conversation ended."""
        cap = stop.cap
        return {
            "error.type": stop.reason if stop.is_error else None,
            "evalkit.stop.reason": stop.reason,
            "evalkit.stop.detail": (stop.detail or None) if self.content else None,
            "evalkit.cap.limit": None if cap is None else cap.limit,
            "evalkit.cap.value": None if cap is None else cap.value,
        }

    def _moments(self, events: Iterable[Event], agent: str) -> tuple[Moment, ...]:
        """What else happened in a conversation."""
        others = (one for one in events if not isinstance(one, (Asked, Unanswered, Acted, Halted, Delegated)))
        return tuple(self._moment(one) for one in others if one.agent == agent)

    def _moment(self, event: Event) -> Moment:
        """One thing that happened."""
        if isinstance(event, Checked):
            shown: dict[str, JSON] = {
                "gen_ai.evaluation.name": event.kind,
                "gen_ai.evaluation.score.label": event.verdict,
                "gen_ai.evaluation.explanation": event.reason if self.content else None,
                "evalkit.stage": event.stage,
                "evalkit.turn": event.turn,
            }
            return Moment(name="gen_ai.evaluation.result", at=nanos(event.at), attributes=known(shown))
        plain = {one.name: getattr(event, one.name) for one in fields(event) if one.name not in ("type", "at", "agent")}
        kept = {name: value for name, value in plain.items() if self.content or name not in WRITTEN}
        shown = {f"evalkit.{name}": value if _is_plain(value) else as_json(value) for name, value in kept.items()}
        return Moment(name=f"evalkit.{event.type}", at=nanos(event.at), attributes=known(shown))


def _tried(attempt: Attempt, at: int, *, content: bool) -> Moment:
    """A try that failed; nobody noted when."""
    shown = {
        "exception.message": attempt.error if content else None,
        "http.response.status_code": attempt.status,
        "evalkit.waited": attempt.waited,
    }
    return Moment(name="exception", at=at, attributes=known(shown))


def _agents(events: Iterable[Event]) -> dict[str, None]:
    """The names of all conversations that work was delegated to, those above them included, in the order of their beginning."""
    found: dict[str, None] = {}
    for event in events:
        steps = _agent_of(event).split("/")
        found |= dict.fromkeys("/".join(steps[: end + 1]) for end in range(len(steps)) if steps[end])
    return found


def _agent_of(event: Event) -> str:
    """Whose event it is."""
    return "" if isinstance(event, Halted) else event.agent


def _span_id(trace: int, place: int | str) -> int:
    """An id that the same span always has."""
    return int.from_bytes(sha256(f"{trace:x} {place}".encode("utf-8", "backslashreplace")).digest()[:8]) or 1


def _message(event: Asked) -> str:
    """A reply as the conventions write messages."""
    blocks: list[JSON] = [
        {"type": "text", "content": block.text}
        if block.type == "text"
        else {"type": "tool_call", "id": block.id, "name": block.name, "arguments": block.input}
        for block in event.reply.message.content
        if block.type in ("text", "tool_use")
    ]
    return as_json([{"role": "assistant", "parts": blocks, "finish_reason": event.reply.stop_reason}])


def _is_plain(value: JSON) -> bool:
    """Whether a span takes a value as it is."""
    return value is None or isinstance(value, (str, bool, int, float))
