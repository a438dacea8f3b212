"""How much of a capped trial was spent after it had stopped getting anywhere: the part that a detector could have saved.

Progress is a tool call of the trial's own that succeeded with something new: no call of that tool in the trial had given that
very result before. A call that failed is none, and neither is one that repeats a result, whatever its arguments were. Where the
trace holds the world's state after each turn (a detector wanted to see it), a state that was not there before is progress too. Where
it does not, a write counts by what it answered: the second that answers just "done" counts as none, which makes the measured share
an upper bound where writes are mute.

Invariant: only turns of the trial's own conversation are counted, each once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from evalkit.core.record import Acted, Observed, TrialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Idling:
    """The capped trials of a variant: how many, the turns of all of them, and how many of these came after the last progress.

    `share` is the mean over trials of a trial's share of turns after its last progress, `median` their median; None without trials.
    """

    trials: int
    turns: int
    idle: int
    share: float | None
    median: float | None


@dataclass(slots=True)
class Progress:
    """Gathers, record after record, what capped trials did last."""

    _found: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, record: TrialRecord) -> None:
        """Read a record with its events; trials that no cap ended, or that took no turn, are passed over."""
        if record.stop.reason.startswith("cap:") and (record.tally.known("turns") or 0) > 0 and record.events:
            pair = (record.tally.turns - last_progress(record), record.tally.turns)
            self._found.setdefault(record.key.variant, []).append(pair)

    def of(self, variant: str) -> Idling:
        """Add up a variant's capped trials."""
        found = self._found.get(variant, [])
        shares = [idle / turns for idle, turns in found]
        return Idling(
            trials=len(found),
            turns=sum(turns for _, turns in found),
            idle=sum(idle for idle, _ in found),
            share=float(np.mean(shares)) if shares else None,
            median=float(np.median(shares)) if shares else None,
        )


def last_progress(record: TrialRecord) -> int:
    """Give the turn of a trial's last progress, 0 where it made none."""
    results: set[bytes] = set()
    states: set[str] = set()
    last = 0
    for event in record.events:
        if not isinstance(event, Acted | Observed) or event.agent:
            continue
        if isinstance(event, Observed):
            if states and event.state not in states:
                last = event.turn
            states.add(event.state)
        elif event.error is None and not event.result.is_error:
            given = hashlib.blake2b(
                f"{event.call.name}\0{event.result.content}".encode("utf-8", "surrogatepass")
            ).digest()
            if given not in results:
                last = event.turn
            results.add(given)
    return min(last, record.tally.turns)
