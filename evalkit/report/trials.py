"""The list of a run's trials as a page holds it: in which order they are shown, and which traces matter most.

Invariant: every trial has a row unless there are more than `ROWS`, and then the page says how many have none; failing
trials come first in both orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from evalkit.core.message import JSON
from evalkit.core.record import TrialRecord
from evalkit.report.clean import clean_name
from evalkit.report.numbers import amount, dollars, duration

ROWS = 100_000
"""Rows of a page."""

OUTCOMES = ("failed", "error", "passed")
"""Outcomes, in the order in which trials are listed."""

Place = tuple[int, int]
"""Where a trace lies: the block, and the place in it."""


def listed(rows: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Put trials into the order in which they are shown: failed, in error, passed; within that by task, variant, trial."""
    return sorted(
        rows,
        key=lambda row: (OUTCOMES.index(row.outcome), row.key.suite, row.key.task, row.key.variant, row.key.index),
    )


def by_interest(listing: Sequence[TrialRecord]) -> list[int]:
    """Order the places of a listing by how much a reader wants the trace.

    Trials that did not pass come first, one of each task and variant before a second of any; then one passing trial of
    each task and variant that also has a failing one, to hold beside it; then the rest.
    """
    failing = {_cell(row) for row in listing if row.outcome != "passed"}
    seen: dict[tuple[object, ...], int] = defaultdict(int)
    ranked = []
    for place, row in enumerate(listing):
        passed = row.outcome == "passed"
        layer = seen[_cell(row), passed]
        seen[_cell(row), passed] += 1
        group = 0 if not passed else 1 if layer == 0 and _cell(row) in failing else 2
        ranked.append((group, layer, place))
    return [place for _, _, place in sorted(ranked)]


Beside = tuple[int, int]
"""A passing trial to hold a failing one against: its place in the listing, and how many tool calls the two share."""


def index(
    listing: Sequence[TrialRecord], places: Mapping[int, Place], besides: Mapping[int, Beside] | None = None
) -> dict[str, JSON]:
    """The listing as columns: names once, then numbers that point to them; `block` is -1 where the trace was left out.

    `beside` and `common` are those of `besides`, -1 where there is none or its trace was left out.
    """
    shown = {one: found for one, found in (besides or {}).items() if one in places and found[0] in places}
    tasks, task_of = _names(listing, task_name)
    variants, variant_of = _names(listing, variant_name)
    stops, stop_of = _names(listing, lambda row: row.stop.reason)
    nowhere = (-1, -1)
    return {
        "tasks": [[clean_name(suite), clean_name(task)] for suite, task in tasks],
        "variants": [clean_name(name) for name in variants],
        "stops": [clean_name(reason) for reason in stops],
        "task": task_of,
        "variant": variant_of,
        "stop": stop_of,
        "trial": [row.key.index for row in listing],
        "outcome": [OUTCOMES.index(row.outcome) for row in listing],
        "turns": [row.tally.known("turns") for row in listing],
        "tokens": [amount(row.tally.known("tokens")) for row in listing],
        "usd": [dollars(row.tally.usd) for row in listing],
        "seconds": [duration(row.tally.known("seconds")) for row in listing],
        "block": [places.get(place, nowhere)[0] for place in range(len(listing))],
        "beside": [shown.get(place, nowhere)[0] for place in range(len(listing))],
        "common": [shown.get(place, nowhere)[1] for place in range(len(listing))],
        "at": [places.get(place, nowhere)[1] for place in range(len(listing))],
    }


def task_name(row: TrialRecord) -> tuple[str, str]:
    """Suite and task of a trial."""
    return row.key.suite, row.key.task


def variant_name(row: TrialRecord) -> str:
    """Variant of a trial."""
    return row.key.variant


def links(listing: Sequence[TrialRecord]) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """The places of tasks and of variants in `index`, which links to their trials are made of."""
    tasks, _ = _names(listing, task_name)
    variants, _ = _names(listing, variant_name)
    return {task: place for place, task in enumerate(tasks)}, {name: place for place, name in enumerate(variants)}


def _cell(row: TrialRecord) -> tuple[str, str, str]:
    """The task and variant of a trial."""
    return row.key.suite, row.key.task, row.key.variant


def _names(listing: Sequence[TrialRecord], name: Callable[[TrialRecord], Hashable]) -> tuple[list[Any], list[int]]:
    """The distinct names in order of appearance, and for each row the place of its own."""
    place: dict[Any, int] = {}
    numbers = [place.setdefault(name(row), len(place)) for row in listing]
    return list(place), numbers
