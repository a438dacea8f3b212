"""How the meters of trials rose, read off their traces: what every question about other caps is answered from.

A course is the row of checkpoints at which the engine asks a trial's caps: before each model call, after its reply, before each
tool call; and, where a cap ended the trial, the check that did so. Events of classes that this file does not know are passed over.
Calls aside (a reflection, a memo) and those of a conversation that the trial delegated count tokens, dollars and time, but no turn,
as they do in the tally.

Invariant: only numbers are kept, so that traces can be read one after the other, however many there are. Along a course no meter
ever falls, and none ends above what the trial's tally or the cap that fired says.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalkit.core.errors import RunInvalid
from evalkit.core.record import Acted, Asked, Attempt, Halted, TrialRecord, Unanswered
from evalkit.measure.arrays import Bools, Floats, Ints
from evalkit.measure.table import ERROR, Table


class Checkpoint(NamedTuple):
    """The meters at one checkpoint; `usd` is NaN once a price is unknown.

    `asking` where it stands before a model call, `turning` where that call is a turn of the trial's own conversation.
    """

    asking: bool
    turning: bool
    turns: float
    tokens: float
    usd: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flat:
    """The courses of a table's trials laid end to end, S checkpoints in all; each array of shape (S,) but for the last two.

    `owner` is the row of the table that a checkpoint belongs to; a trial's checkpoints stand together and in order. Of shape (R,):
    `last` is the place of a trial's last checkpoint, -1 where it has no course, `traced` False where its events do not say how
    its meters rose, so that its course is its end alone.
    """

    owner: Ints
    asking: Bools
    turning: Bools
    turns: Floats
    tokens: Floats
    usd: Floats
    seconds: Floats
    last: Ints
    traced: Bools


class Courses:
    """Gathers the courses of trials, one record after the other."""

    def __init__(self) -> None:
        """Begin with none."""
        self._keys: list[tuple[str, str, str, int]] = []
        self._lengths = array("q")
        self._traced = array("b")
        self._columns = {name: array("d") for name in Checkpoint._fields}

    def add(self, record: TrialRecord) -> None:
        """Read a record, events and all."""
        key = record.key
        before = len(self._columns["asking"])
        for name, values in zip(Checkpoint._fields, zip(*checkpoints(record), strict=True), strict=False):
            self._columns[name].extend(values)
        self._keys.append((key.suite, key.task, key.variant, key.index))
        self._lengths.append(len(self._columns["asking"]) - before)
        used = record.tally.turns or record.tally.tokens or record.tally.usd
        self._traced.append(not used or any(isinstance(event, Asked) for event in record.events))

    def flat(self, table: Table) -> Flat:
        """Lay the courses out along a table's rows; raises `RunInvalid` unless every measured trial has just one course."""
        places = {
            (*table.tasks[task], table.variants[variant], int(index)): row
            for row, (task, variant, index) in enumerate(zip(table.task, table.variant, table.index, strict=True))
        }
        rows = np.array([places.get(key, -1) for key in self._keys], dtype=np.int64)
        lengths = np.array(self._lengths, dtype=np.int64)
        found = np.bincount(rows[rows >= 0], minlength=table.outcome.size)
        if (rows < 0).any() or (found > 1).any():
            raise RunInvalid("traces were read that are no part of the run, or twice")
        lost = int(((found == 0) & (table.outcome != ERROR)).sum())
        if lost:
            raise RunInvalid(f"the traces of {lost} measured trials were not read")
        last, traced = np.full(found.size, -1, dtype=np.int64), np.zeros(found.size, dtype=bool)
        last[rows] = np.cumsum(lengths) - 1
        traced[rows] = np.array(self._traced, dtype=bool)
        columns = {name: np.array(column, dtype=np.float64) for name, column in self._columns.items()}
        asking, turning = (columns.pop(name) > 0.0 for name in ("asking", "turning"))
        owner = np.repeat(rows, lengths)
        return Flat(owner=owner, asking=asking, turning=turning, last=last, traced=traced, **columns)


def checkpoints(record: TrialRecord) -> Iterator[Checkpoint]:
    """Tell a trial's course.

    Seconds are working time: from the moment at which the trial's watch was started (its end, less what the tally counted) to
    the event, less what was waited for the provider by then; held between the value before and the tally's.
    """
    watch = _Watch(record)
    turns, tokens, usd = 0, 0, 0.0

    def at(moment: float, *, asking: bool = False, turning: bool = False) -> Checkpoint:
        """The checkpoint at a moment, in seconds since the epoch."""
        return Checkpoint(asking, turning, turns, tokens, usd, watch.at(moment))

    for event in record.events:
        if isinstance(event, Asked):
            is_turn = not event.agent and event.turn > turns
            yield at(event.at, asking=True, turning=is_turn)
            turns, tokens = turns + is_turn, tokens + event.reply.usage.total
            usd += math.nan if event.reply.usd is None else event.reply.usd
            watch.wait(event.attempts)
            yield at(event.at + event.seconds)
        elif isinstance(event, Unanswered):
            yield at(event.at, asking=True, turning=not event.agent)
            watch.wait(event.attempts)
        elif isinstance(event, Acted):
            yield at(event.at)
    yield from _end(record, turns, tokens, watch)


def _end(record: TrialRecord, turns: int, tokens: int, watch: _Watch) -> Iterator[Checkpoint]:
    """The check that ended a capped trial, and what the tally knows beyond the events."""
    cap, tally, capped = record.stop.cap, record.tally, record.stop.reason.startswith("cap:")
    untimed = watch.start is None and tally.seconds > 0.0
    if not (capped or untimed or turns < tally.turns or tokens < tally.tokens):
        return
    refused = capped and (cap is None or cap.value <= cap.limit)
    timed = cap.value if cap is not None and cap.meter == "seconds" else tally.seconds if untimed else 0.0
    yield Checkpoint(
        asking=refused,
        turning=refused,
        turns=max(turns, tally.turns),
        tokens=max(tokens, tally.tokens),
        usd=math.nan if tally.usd is None else tally.usd,
        seconds=max(watch.now, timed),
    )


class _Watch:
    """Working time along a trace; it stands still where the trace does not say when the trial ended."""

    def __init__(self, record: TrialRecord) -> None:
        """Find the moment at which the trial's watch was started, in seconds since the epoch."""
        tally = record.tally
        halted = next((event for event in reversed(record.events) if isinstance(event, Halted)), None)
        self.start = None if halted is None else halted.at - tally.seconds - tally.waited
        self.now = 0.0
        self._most = tally.seconds
        self._waited = 0.0

    def wait(self, attempts: Sequence[Attempt]) -> None:
        """Leave the waits between attempts out of account."""
        self._waited += sum(attempt.waited for attempt in attempts)

    def at(self, moment: float) -> float:
        """Working time at a moment."""
        if self.start is not None:
            self.now = min(self._most, max(self.now, moment - self.start - self._waited))
        return self.now
