"""Tells the events of a trial as plain steps, in the order in which things happened.

Invariant: a step is harmless and bounded text, and no event, no call that was asked for and no failed try goes untold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypedDict

from evalkit.core.message import Message, ToolCall
from evalkit.core.record import (
    Acted,
    Asked,
    Attempt,
    Checked,
    Condensed,
    Delegated,
    Event,
    Flagged,
    Halted,
    Listed,
    Noted,
    Observed,
    Reflected,
    Reported,
    Stop,
    Unanswered,
)
from evalkit.report.clean import clean_line, clean_name, excerpt
from evalkit.report.numbers import count, dollars, duration, times

Kind = Literal[
    "thought", "model", "call", "result", "retry", "note", "check", "grader", "stop", "broken", "cut", "mechanism"
]
Tone = Literal["plain", "good", "bad", "warn"]

REASON = 1_000
"""Characters of the reason of a check or of a stop."""

TONES: Mapping[str, Tone] = {"pass": "good", "fail": "bad", "unknown": "warn"}


class Step(TypedDict):
    """One thing that happened: in which turn, what it was (`label`), what is to be known of it (`meta`), and its text.

    `act` counts the trial's own tool calls: on such a call which one it is, else 0.
    """

    kind: Kind
    turn: int
    label: str
    meta: str
    text: str
    tone: Tone
    act: int


def step(
    kind: Kind, turn: int, label: str, *, meta: str = "", text: str = "", tone: Tone = "plain", act: int = 0
) -> Step:
    """Make a step."""
    return {"kind": kind, "turn": turn, "label": label, "meta": meta, "text": text, "tone": tone, "act": act}


def steps(events: Sequence[Event], piece: int | None) -> Iterator[Step]:
    """Tell events in order; calls that the model asked for and nobody ran are told before what came next."""
    pending: list[ToolCall] = []
    acts = 0
    for event in events:
        if isinstance(event, Acted):
            acts += not event.agent
            _strike(pending, event.call)
        else:
            yield from (_not_run(call, event.turn, piece) for call in pending)
            pending = []
        yield from _told(event, piece, acts)
        if isinstance(event, Asked):
            pending = list(event.reply.calls)
    yield from (_not_run(call, events[-1].turn, piece) for call in pending)


def _told(event: Event, piece: int | None, acts: int) -> Iterator[Step]:
    """Tell one event."""
    match event:
        case Asked():
            yield from _told_asked(event, piece)
        case Acted():
            yield from _told_acted(event, piece, 0 if event.agent else acts)
        case Unanswered():
            yield from _retries(event.turn, event.attempts, "the model did not answer")
            label = f"model call {event.call} failed for good"
            text = excerpt(event.error, piece)
            yield step(
                kind="broken", turn=event.turn, label=label, meta=duration(event.seconds), text=text, tone="warn"
            )
        case Noted():
            label = f"note by {clean_name(event.origin)}"
            shown = "".join(f"\n[picture, {one.width} × {one.height} pixels]" for one in event.pictures)
            yield step(kind="note", turn=event.turn, label=label, text=excerpt(event.text, piece) + shown)
        case Checked():
            yield _told_checked(event)
        case Flagged() | Reflected() | Condensed() | Delegated() | Listed():
            yield _told_mechanism(event, piece)
        case Reported():
            yield _told_reported(event, piece)
        case Observed():
            return
        case Halted():
            yield _told_stop(event.stop, event.turn)


def _told_asked(event: Asked, piece: int | None) -> Iterator[Step]:
    """Tell a model call: the tries before it, what the model thought where it shows that, and what it said."""
    reply = event.reply
    yield from _retries(event.turn, event.attempts, "the model did not answer at once")
    for text in _thoughts(reply.message):
        yield step(kind="thought", turn=event.turn, label="model thinks", text=excerpt(text, piece))
    meta = [duration(event.seconds), f"{reply.usage.prompt:,} + {reply.usage.output:,} tokens"]
    if reply.usd is not None:
        meta.append(dollars(reply.usd))
    if event.sent != event.held:
        meta.append(f"saw {event.sent} of {event.held} messages")
    if reply.stop_reason not in ("end_turn", "tool_use"):
        meta.append(reply.stop_reason)
    label = "model" if event.purpose == "act" else f"model ({clean_name(event.purpose)})"
    said = excerpt(reply.text, piece) or ("(no text)" if not reply.calls else "")
    yield step(kind="model", turn=event.turn, label=label, meta=" · ".join(meta), text=said)


def _told_acted(event: Acted, piece: int | None, act: int) -> Iterator[Step]:
    """Tell a tool call and its result: what the model was shown, and what really happened where that differs."""
    name = clean_name(event.call.name)
    yield step(kind="call", turn=event.turn, label=name, text=arguments(event.call.input, piece), act=act)
    yield from _retries(event.turn, event.attempts, f"{name} failed in passing")
    shown = excerpt(event.result.content, piece)
    meta = duration(event.seconds)
    if event.error is not None:
        meta += f" · {event.error.replace('_', ' ')}"
        if event.detail and event.detail not in event.result.content:
            shown += f"\n(what happened, not shown to the model: {excerpt(event.detail, piece)})"
    failed = event.error is not None or event.result.is_error
    label = "error" if failed else "result"
    yield step(kind="result", turn=event.turn, label=label, meta=meta, text=shown, tone="bad" if failed else "plain")


def _told_checked(event: Checked) -> Step:
    """Tell a check or grader."""
    kind: Kind = "grader" if event.stage == "grader" else "check"
    label = f"{kind} {clean_name(event.kind)}: {event.verdict}"
    reason = excerpt(event.reason, REASON)
    return step(
        kind=kind,
        turn=event.turn,
        label=label,
        meta=duration(event.seconds),
        text=reason,
        tone=TONES.get(event.verdict, "warn"),
    )


def _told_reported(event: Reported, piece: int | None) -> Step:
    """Tell what an agent let out beside its conversation."""
    labels = {"traceback": "the agent raised", "unreadable": "no event of a conversation"}
    label = labels.get(event.origin, f"the agent's {event.origin}")
    tone: Tone = "bad" if event.origin == "traceback" else "plain"
    return step(kind="note", turn=event.turn, label=label, text=excerpt(event.text, piece), tone=tone)


def _told_mechanism(event: Flagged | Reflected | Condensed | Delegated | Listed, piece: int | None) -> Step:
    """Tell what a mechanism of the loop did."""
    meta, text, tone = "", "", "plain"
    match event:
        case Flagged():
            label, text, tone = f"detector {clean_name(event.detector)}: {event.then}", event.pattern, "warn"
        case Reflected():
            label = f"reflection: {(event.recommendation or 'cannot be read').replace('_', ' ')}"
            text = event.error or "\n".join((*event.issues, event.revised_plan)).strip()
            meta = "" if event.confidence is None else f"confidence {event.confidence:g}"
            tone = "plain" if event.recommendation == "continue" else "warn"
        case Condensed():
            label, text = (
                f"context {clean_name(event.policy)}: a summary for {times(event.covered, 'message')}",
                event.text,
            )
            meta = f"view of {count(event.before)} → {count(event.after)} tokens"
            text, tone = (event.error, "warn") if event.error else (text, "plain")
        case Delegated():
            label, text = f"{clean_name(event.agent)}: {clean_name(event.stop.reason)}", event.answer
            meta = f"{times(event.tally.turns, 'turn')} · {count(event.tally.known('tokens'))} tokens"
        case Listed():
            label, text = f"checklist {clean_name(event.item)}: {event.action}", event.detail
            tone = {"passed": "good", "refused": "bad"}.get(event.action, "plain")
    return {
        "kind": "mechanism",
        "turn": event.turn,
        "label": label,
        "meta": meta,
        "text": excerpt(text, piece),
        "act": 0,
        "tone": tone,  # type: ignore[typeddict-item]  # one of the tones
    }


def _told_stop(stop: Stop, turn: int) -> Step:
    """Tell why the conversation ended."""
    meta = ""
    if stop.cap is not None:
        unit = clean_name(stop.cap.meter)
        over = f", {_measured(unit, stop.cap.overshoot)} over" if stop.cap.overshoot else ", reached exactly"
        meta = f"limit {_measured(unit, stop.cap.limit)} · was {_measured(unit, stop.cap.value)}{over} · turn {stop.cap.turn}"
    tone: Tone = "plain" if stop.reason == "finished" else "warn"
    text = excerpt(stop.detail, REASON)
    return step(kind="stop", turn=turn, label=f"stop: {clean_name(stop.reason)}", meta=meta, text=text, tone=tone)


def _measured(meter: str, value: float) -> str:
    """Write a value of a cap's meter with its unit."""
    if meter == "usd":
        return dollars(value)
    return duration(value) if meter == "seconds" else f"{count(value)} {meter}"


def _retries(turn: int, attempts: Sequence[Attempt], what: str) -> Iterator[Step]:
    """Fold the failed tries of a call into one step."""
    if not attempts:
        return
    lines = [
        f"try {number}: {clean_line(one.error, REASON // 2)}"
        + (f" [{one.status}]" if one.status is not None else "")
        + (f", waited {duration(one.waited)}" if one.waited else "")
        for number, one in enumerate(attempts, 1)
    ]
    label = f"{times(len(attempts), 'failed try')}: {what}"
    yield step(kind="retry", turn=turn, label=label, text="\n".join(lines), tone="warn")


def _thoughts(message: Message) -> Iterator[str]:
    """The thinking that a provider's own blocks hold."""
    for block in message.verbatim or ():
        thinking = block.get("thinking") if isinstance(block, Mapping) else None
        if isinstance(thinking, str) and thinking:
            yield thinking


def arguments(given: object, piece: int | None) -> str:
    """Write a call's arguments one a line; text of several lines is written as it is, indented."""
    if not isinstance(given, Mapping):
        return excerpt(_json(given), piece)
    if not given:
        return "(no arguments)"
    lines = []
    for name, value in given.items():
        if isinstance(value, str) and "\n" in value:
            body = "\n".join(f"    {line}" for line in value.split("\n"))
            lines.append(f"{name}:\n{body}")
        else:
            lines.append(f"{name}: {value if isinstance(value, str) else _json(value)}")
    return excerpt("\n".join(lines), piece)


def _json(value: object) -> str:
    """Write a JSON value on one line; one that is no JSON or nested past all bounds is said to be so."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"(cannot be shown: {type(error).__name__})"


def _strike(pending: list[ToolCall], done: ToolCall) -> None:
    """Take a call that was run off the list of those asked for, once even where ids are doubled."""
    for place, call in enumerate(pending):
        if call.id == done.id and call.name == done.name:
            del pending[place]
            return


def _not_run(call: ToolCall, turn: int, piece: int | None) -> Step:
    """Tell a call that was asked for and never run."""
    text = arguments(call.input, piece)
    return step(kind="call", turn=turn, label=clean_name(call.name), meta="not run", text=text, tone="warn")
