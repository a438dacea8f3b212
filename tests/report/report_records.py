"""Records made up for the report's tests: valid, the same every time, with events as a run would leave them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from evalkit.core.message import Message, Reply, Text, ToolCall, ToolResult, Usage
from evalkit.core.plan import Caps, Spec, Task, TrialKey, Variant, trial_key
from evalkit.core.record import (
    Acted,
    Asked,
    Attempt,
    CapFired,
    Checked,
    Event,
    Halted,
    Outcome,
    Stop,
    Tally,
    TrialRecord,
    Verdict,
)
from evalkit.measure.table import Table

CAP = 6
START = 1_790_000_000.0

SENTENCE = (
    "the order was placed on Monday and shipped with the second carrier who lost the parcel near the depot so that a "
    "refund of the full amount is due once the return has been checked against the list of goods kept in store"
)


def a_variant(name: str, loop: str = "react", turns: int = CAP) -> Variant:
    """A variant of the simulated model with a cap on turns."""
    return Variant(name=name, provider=Spec(kind="simulated"), loop=Spec(kind=loop), caps=Caps(turns=turns, usd=0.5))


def a_task(name: str, suite: str = "support-desk", trials: int = 8) -> Task:
    """A task with one grader."""
    return Task(suite=suite, id=name, prompt=f"Please see to {name}.", graders=(Spec(kind="state"),), trials=trials)


def a_key(task: str = "refund", variant: str = "react", index: int = 1, suite: str = "support-desk") -> TrialKey:
    """The key of a trial."""
    made_task, made_variant = a_task(task, suite), a_variant(variant)
    return trial_key(made_task, "0" * 16, made_variant, "1" * 16, index)


def prose(rng: random.Random, words: int) -> str:
    """Some words in no order."""
    return " ".join(rng.choices(SENTENCE.split(), k=words))


def a_turn(rng: random.Random, turn: int, size: int, at: float, *, last: bool) -> list[Event]:
    """A model call and, but for the last turn, the tool call that it asked for."""
    call = ToolCall(id=f"call_{turn}", name="look_up", input={"order": f"A{rng.randrange(999)}", "why": prose(rng, 6)})
    text = Text(text=prose(rng, size // 12))
    reply = Reply(
        message=Message(role="assistant", content=(text,) if last else (text, call)),
        stop_reason="end_turn" if last else "tool_use",
        usage=Usage(input=400 + 90 * turn, output=60 + size // 10),
        usd=0.001 + 0.0004 * turn,
        model="sim-1",
    )
    tries = (Attempt(error="rate limited", status=429, waited=1.0),) if rng.random() < 0.1 else ()
    asked = Asked(
        turn=turn, call=turn, purpose="act", sent=turn, held=turn, reply=reply, at=at, seconds=0.8, attempts=tries
    )
    if last:
        return [asked]
    failed = rng.random() < 0.15
    result = ToolResult(tool_use_id=call.id, content=prose(rng, size // 6), is_error=failed)
    acted = Acted(
        turn=turn,
        call=call,
        result=result,
        at=at + 1,
        seconds=0.05,
        error="unrecoverable" if failed else None,
        detail="no such order" if failed else "",
    )
    return [asked, acted]


def a_record(key: TrialKey, skill: float, *, size: int = 300) -> TrialRecord:
    """A trial that passes with probability `skill`; `size` is about the characters of each text of its trace."""
    rng = random.Random(f"{key.task}/{key.variant}/{key.index}")
    passes, broke = rng.random() < skill, rng.random() < 0.004
    capped = not passes and rng.random() < 0.5
    turns = CAP if capped else rng.randrange(2, CAP)
    events: list[Event] = []
    for turn in range(1, turns + 1):
        events += a_turn(rng, turn, size, START + turn, last=turn == turns and not capped)
    outcome, graded, stop = decided(passes=passes, capped=capped, broke=broke)
    events.append(Halted(turn=turns, stop=stop, at=START + 30))
    if graded is not None:
        reason = "the state is as asked" if graded == "pass" else "status is 'open', 'refunded' was asked for"
        events.append(
            Checked(
                turn=turns, stage="grader", kind="state", verdict=graded, reason=reason, at=START + 31, seconds=0.02
            )
        )
    asked = [event for event in events if isinstance(event, Asked)]
    return TrialRecord(
        key=key,
        seed=rng.getrandbits(63),
        outcome=outcome,
        stop=stop,
        graded=graded,
        answer=asked[-1].reply.text,
        tally=a_tally(events, rng),
        nature="simulated",
        started=START,
        seconds=turns * 0.9 + rng.random(),
        error="the provider was gone" if outcome == "error" else "",
        models=("sim-1",),
        events=tuple(events),
    )


def decided(*, passes: bool, capped: bool, broke: bool) -> tuple[Outcome, Verdict | None, Stop]:
    """Outcome, graders' word and stop of a trial."""
    if broke:
        return "error", None, Stop(reason="error:provider", detail="the provider was gone (after 5 tries)")
    if capped:
        cap = CapFired(meter="turns", limit=CAP, value=CAP, turn=CAP)
        return "failed", "fail", Stop(reason="cap:turns", cap=cap)
    return ("passed", "pass", Stop(reason="finished")) if passes else ("failed", "fail", Stop(reason="finished"))


def a_tally(events: Sequence[Event], rng: random.Random) -> Tally:
    """The counts that fit some events."""
    asked = [event for event in events if isinstance(event, Asked)]
    acted = [event for event in events if isinstance(event, Acted)]
    return Tally(
        turns=len(asked),
        calls=len(asked),
        input_tokens=sum(one.reply.usage.input for one in asked),
        output_tokens=sum(one.reply.usage.output for one in asked),
        usd=sum(one.reply.usd or 0.0 for one in asked),
        tool_calls=len(acted),
        tool_errors=sum(one.error is not None for one in acted),
        retries=sum(len(one.attempts) for one in asked),
        seconds=len(asked) * 0.85 + rng.random(),
        waited=float(sum(len(one.attempts) for one in asked)),
    )


def a_run(
    tasks: int = 3, variants: Sequence[str] = ("react", "plan", "ladder"), trials: int = 8, *, size: int = 300
) -> Iterator[TrialRecord]:
    """All trials of a run: tasks of unequal hardness, variants of unequal skill, lazily."""
    for number in range(tasks):
        ease = (0.99, 0.9, 0.6, 1.0, 0.8)[number % 5]
        for place, name in enumerate(variants):
            for index in range(1, trials + 1):
                yield a_record(a_key(f"task-{number:03d}", name, index), ease ** (1 + 0.6 * place), size=size)


def bare(record: TrialRecord) -> TrialRecord:
    """A record as an index of trials gives it: without its events."""
    return replace(record, events=())


def a_table(records: Sequence[TrialRecord], planned: int = 8, baseline: str | None = None) -> Table:
    """The table of some records, every task planned so often under every variant."""
    return Table.of(
        tasks=list(dict.fromkeys((record.key.suite, record.key.task) for record in records)),
        variants=list(dict.fromkeys(record.key.variant for record in records)),
        planned=planned,
        baseline=baseline,
        suite=[record.key.suite for record in records],
        task=[record.key.task for record in records],
        variant=[record.key.variant for record in records],
        index=[record.key.index for record in records],
        outcome=[record.outcome for record in records],
        graded=[record.graded for record in records],
        stop=[record.stop.reason for record in records],
        turns=[record.tally.turns for record in records],
        tokens=[record.tally.tokens for record in records],
        usd=[record.tally.usd for record in records],
        seconds=[record.tally.seconds for record in records],
    )
