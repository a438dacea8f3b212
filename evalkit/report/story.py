"""Turns the record of a trial into a story: a head and plain steps, in the order in which things happened.

Invariant: a story is a JSON value, harmless and bounded whatever the record holds; the terminal and the page show the
same story and decide nothing about what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from evalkit.core.plan import Caps
from evalkit.core.record import UNKNOWN, Asked, Outcome, Tally, TrialRecord
from evalkit.report.clean import clean_name, excerpt
from evalkit.report.numbers import amount, count, dollars, duration, times
from evalkit.report.steps import Step, step, steps

STEPS = 400
"""Steps of a story; of a longer one the first and the last are kept, and how many are between is said."""

PIECE = 2_000
"""Characters of one text of a story, where nothing else is asked for."""


class Gauge(TypedDict):
    """A cap of a trial: what it limits, what was used of it as text for people, and the share of the limit that is."""

    meter: str
    used: str
    share: float


class Head(TypedDict):
    """What a trial was and how it ended, as text for people."""

    suite: str
    task: str
    variant: str
    index: int
    outcome: Outcome
    ending: str
    stop: str
    facts: list[str]
    nature: str
    seed: str
    tokens: str
    gauges: list[Gauge]


class Story(TypedDict):
    """A trial, told."""

    head: Head
    steps: list[Step]


def story(record: TrialRecord, piece: int | None = PIECE, caps: Caps | None = None) -> Story:
    """Tell a trial as a JSON value; `piece` bounds the characters of each text, None shows all of it; `caps` were its limits."""
    told = _answered(list(steps(record.events, piece)), record, piece)
    if piece is not None:
        told = _bounded(told)
    if record.error:
        text = excerpt(record.error, piece)
        told.append(step(kind="broken", turn=record.tally.turns, label="our own world broke", text=text, tone="warn"))
    return {"head": head(record, caps), "steps": told}


def head(record: TrialRecord, caps: Caps | None = None) -> Head:
    """Say what a trial was and how it ended."""
    key, tally = record.key, record.tally
    return {
        "suite": clean_name(key.suite),
        "task": clean_name(key.task),
        "variant": clean_name(key.variant),
        "index": key.index,
        "outcome": record.outcome,
        "ending": ending(record),
        "stop": clean_name(record.stop.reason),
        "facts": _facts(record),
        "nature": record.nature,
        "seed": str(record.seed),
        "tokens": "tokens unknown"
        if "tokens" in tally.uncounted
        else f"{tally.usage.prompt:,} tokens in, {tally.output_tokens:,} out",
        "gauges": list(_gauges(tally, caps)) if caps is not None else [],
    }


def _gauges(tally: Tally, caps: Caps) -> Iterator[Gauge]:
    """How much of each cap was used; a cap that is not set, or of which the use is not known, has no gauge."""
    for meter, write in (("turns", count), ("tokens", amount), ("seconds", duration), ("usd", dollars)):
        limit, used = getattr(caps, meter), tally.known(meter)
        if limit and used is not None:
            yield {
                "meter": meter,
                "used": f"{write(used)} of {write(limit)}",
                "share": round(min(used / limit, 9.99), 3),
            }


def ending(record: TrialRecord) -> str:
    """Say how a trial was decided, where its outcome and its graders' word differ too."""
    if record.outcome == "error":
        return "error: our own world broke, so this trial says nothing of the agent"
    if record.outcome == "failed" and record.graded == "pass":
        return f"failed: the graders said pass, but it ended by {clean_name(record.stop.reason)}"
    if record.graded is None:
        return f"{record.outcome}: the graders were not asked"
    if record.outcome == "passed" and record.stop.reason not in ("finished", UNKNOWN):
        return f"passed: it ended by {clean_name(record.stop.reason)}, and the graders were content all the same"
    return record.outcome


def _facts(record: TrialRecord) -> list[str]:
    """The counts of a trial, each as a short text."""
    tally = record.tally
    facts = [
        "turns unknown" if "turns" in tally.uncounted else times(tally.turns, "turn"),
        "tool calls unknown" if "tool_calls" in tally.uncounted else times(tally.tool_calls, "tool call"),
        "tokens unknown" if "tokens" in tally.uncounted else f"{amount(tally.tokens)} tokens",
        dollars(tally.usd) if tally.usd is not None else "cost unknown",
        "time unknown" if "seconds" in tally.uncounted else duration(tally.seconds),
    ]
    if tally.tool_errors:
        facts.append(times(tally.tool_errors, "tool error"))
    if tally.retries:
        waited = f" ({duration(tally.waited)} waited)" if tally.waited else ""
        facts.append(times(tally.retries, "retry") + waited)
    if record.attempt > 1:
        facts.append(f"attempt {record.attempt}")
    if record.models:
        facts.append(", ".join(clean_name(name) for name in record.models if name) or "model not named")
    return facts


def _answered(told: list[Step], record: TrialRecord, piece: int | None) -> list[Step]:
    """Tell the answer before the stop, where no turn of the conversation has it as its text: a program's, say, that told of no turn."""
    said = record.answer.strip()
    replies = (event.reply.text.strip() for event in reversed(record.events) if isinstance(event, Asked))
    if not said or said in replies:
        return told
    place = next((number for number, one in enumerate(told) if one["kind"] == "stop"), None)
    if place is None:
        return told
    text = excerpt(said, piece)
    answer = step(kind="note", turn=told[place]["turn"], label="the agent's answer", text=text)
    return [*told[:place], answer, *told[place:]]


def _bounded(told: list[Step]) -> list[Step]:
    """Keep the first and the last steps of a long story."""
    if len(told) <= STEPS:
        return told
    half = STEPS // 2
    left = len(told) - 2 * half
    cut = step(kind="cut", turn=told[half]["turn"], label=f"{left:,} steps left out", tone="warn")
    return [*told[:half], cut, *told[-half:]]
