"""How good a run's data is: what is missing, what broke, what was tried again, and what follows for the numbers.

Invariant: a warning says what was found, in numbers, and what it does to the result; nothing is corrected here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalkit.core.record import TrialRecord
from evalkit.report.clean import clean_name
from evalkit.report.headline import judged
from evalkit.report.numbers import percent, share, times

ERROR_GAP = 0.02
"""Error rates of two variants further apart than this are worth a warning."""

UNTOLD = {"turns": "turns", "tokens": "tokens", "tool_calls": "tool calls", "seconds": "time"}
"""How the counters are named that an agent or another harness may leave untold."""


@dataclass(slots=True, kw_only=True)
class Counts:
    """What the trials of one variant add up to, beside their outcomes."""

    retries: int | None = 0
    tool_errors: int | None = 0
    again: int = 0
    again_passed: int = 0
    unpriced: int = 0
    uncounted: int = 0
    untold: set[str] = field(default_factory=set)
    broke: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)

    def add(self, row: TrialRecord) -> None:
        """Count a trial."""
        untold = row.tally.uncounted
        self.retries = _sum(self.retries, None if {"turns", "tool_calls"} & {*untold} else row.tally.retries)
        self.tool_errors = _sum(self.tool_errors, None if "tool_calls" in untold else row.tally.tool_errors)
        self.unpriced += row.tally.usd is None
        self.uncounted += bool(untold)
        self.untold.update(untold)
        self.models.update(row.models)
        if row.outcome == "error":
            self.broke[row.stop.reason] += 1
        elif row.attempt > 1:
            self.again += 1
            self.again_passed += row.outcome == "passed"


def _sum(so_far: int | None, more: int | None) -> int | None:
    """Add a number that may not be known, after which the sum is not."""
    return None if so_far is None or more is None else so_far + more


def counts(rows: Sequence[TrialRecord]) -> dict[str, Counts]:
    """Add up the trials of each variant."""
    found: dict[str, Counts] = {}
    for row in rows:
        found.setdefault(row.key.variant, Counts()).add(row)
    return found


def depth(tasks: Sequence[Mapping[str, Any]], variant: str) -> tuple[int, int]:
    """The least and the most judged trials that a task has under a variant."""
    cells = [task["variants"][variant] for task in tasks if variant in task["variants"]]
    numbers = [cell["passed"] + cell["failed"] for cell in cells]
    return min(numbers, default=0), max(numbers, default=0)


def warnings(
    summary: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], found: Mapping[str, Counts]
) -> Iterator[str]:
    """Say what a reader must know of the data, one sentence each."""
    yield from _of_errors(summary)
    for name, variant in summary["variants"].items():
        shown, counted = clean_name(name), found.get(name, Counts())
        least, most = depth(tasks, name)
        if least != most:
            yield f"{shown}: tasks have between {least} and {most} judged trials; pass^k is undefined where k is more than a task has."
        if counted.again:
            once = judged(variant) - counted.again
            passed = variant["passed"] - counted.again_passed
            yield (
                f"{shown}: {times(counted.again, 'trial')} judged only after our own world had broken under an earlier attempt; "
                f"{share(counted.again_passed, counted.again)} of them passed, {share(passed, once)} of the others."
            )
        if counted.unpriced:
            yield f"{shown}: the cost of {times(counted.unpriced, 'trial')} is unknown, so sums of dollars are too."
        if counted.uncounted:
            told = [words for name, words in UNTOLD.items() if name in counted.untold]
            what = " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))
            yield f"{shown}: nobody told the {what} of {times(counted.uncounted, 'trial')}, so they are unknown."
        if len(counted.models) > 1:
            yield f"{shown}: {len(counted.models)} models answered: {', '.join(map(clean_name, sorted(counted.models)))}."


def _of_errors(summary: Mapping[str, Any]) -> Iterator[str]:
    """Warn of trials that are missing or in error, and of variants that differ in it."""
    done = summary["completeness"]
    if done["errors"]:
        yield f"{times(done['errors'], 'trial')} of {done['planned']:,} ended in error: they count neither as passed nor as failed."
    if done["missing"]:
        yield f"{times(done['missing'], 'trial')} of {done['planned']:,} planned ones are missing."
    rates = {
        name: variant["errors"] / (judged(variant) + variant["errors"])
        for name, variant in summary["variants"].items()
        if judged(variant) + variant["errors"]
    }
    if rates and max(rates.values()) - min(rates.values()) > ERROR_GAP:
        worst, best = max(rates, key=lambda name: rates[name]), min(rates, key=lambda name: rates[name])
        yield (
            f"Errors are not alike: {percent(rates[worst])} of the trials of {clean_name(worst)}, {percent(rates[best])} of "
            f"{clean_name(best)}. If errors fall on hard trials, the variant that has more of them looks better than it is."
        )
