"""Why trials failed, by task and variant: what the first grader that said no gave as its reason, and how a trial ended that did not end by itself.

Invariant: a trial that failed or is in error has one ground, told in one harmless line, or none where nothing of it was kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypedDict

from evalkit.core.record import UNKNOWN, Checked, Reported, TrialRecord
from evalkit.report.clean import clean_line

LONGEST = 240
"""Characters of a ground."""

UNTOLD = "the graders said no, and why was not kept"
"""What is said of a trial that ended by itself and whose trace was not kept."""

Place = tuple[str, str, str]
"""Suite, task, variant."""


class Ground(TypedDict):
    """Why the trials of a task under a variant did not pass: how many did not, the commonest ground, how many have it, and the first that has."""

    suite: str
    task: str
    variant: str
    lost: int
    ground: str
    times: int
    kinds: int
    index: int


def ground(record: TrialRecord) -> str:
    """Say in a line why a trial did not pass."""
    told = []
    if record.outcome == "error":
        told.append(record.error or record.stop.detail)
    if record.stop.reason not in ("finished", UNKNOWN):
        told.append(": ".join(filter(None, (record.stop.reason, record.stop.detail, last_words(record)))))
    refused = next((one for one in record.events if isinstance(one, Checked) and _refuses(one)), None)
    if refused is not None:
        told.append(f"{refused.kind}: {refused.reason}")
    kept = [one for one, after in pairwise((*told, "")) if one not in ("", after)]
    return clean_line("; ".join(kept), LONGEST) or UNTOLD


def _refuses(check: Checked) -> bool:
    """Whether a check is a grader that did not say yes."""
    return check.stage == "grader" and check.verdict != "pass"


def last_words(record: TrialRecord) -> str:
    """The last line that an agent of its own wrote to stderr, or of its traceback."""
    told = [one.text for one in record.events if isinstance(one, Reported) and one.origin in ("stderr", "traceback")]
    lines = told[-1].strip().splitlines() if told else []
    return lines[-1].strip() if lines else ""


@dataclass(slots=True)
class Grounds:
    """Gathers grounds, record after record."""

    _found: defaultdict[Place, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _first: dict[tuple[Place, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[TrialRecord]) -> Grounds:
        """Gather those of some records, with their events."""
        found = cls()
        for record in records:
            found.add(record)
        return found

    def add(self, record: TrialRecord) -> None:
        """Read a record with its events; one that passed has no ground, and one of which nothing was kept."""
        if record.outcome == "passed" or (why := ground(record)) == UNTOLD:
            return
        place = (record.key.suite, record.key.task, record.key.variant)
        self._found[place][why] += 1
        known = self._first.get((place, why), record.key.index)
        self._first[place, why] = min(known, record.key.index)

    def told(self) -> list[Ground]:
        """Tell them, the tasks that lost most trials first."""
        rows: list[Ground] = []
        for place, counted in self._found.items():
            why, times = min(counted.items(), key=lambda item: (-item[1], self._first[place, item[0]]))
            rows.append(
                {
                    "suite": place[0],
                    "task": place[1],
                    "variant": place[2],
                    "lost": counted.total(),
                    "ground": why,
                    "times": times,
                    "kinds": len(counted),
                    "index": self._first[place, why],
                }
            )
        return sorted(rows, key=lambda row: (-row["lost"], row["suite"], row["task"], row["variant"]))
