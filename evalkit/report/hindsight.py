"""What the traces of a run tell in hindsight: tighter caps, turns that led nowhere, and where failures begin.

Invariant: each trace is read once, while the page is packed or after it, and only numbers are kept of it; of a run with more than
`TRACES` trials none is read, and the page says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalkit.core.plan import TrialKey, Variant
from evalkit.core.record import TrialRecord
from evalkit.measure.cap_curve import CapCurve, Point, curve, limits, point
from evalkit.measure.counterfactual import METERS, Meter, warned
from evalkit.measure.courses import Courses
from evalkit.measure.divergence import Cluster, Divergence, Divergences, clusters
from evalkit.measure.estimate import Estimate
from evalkit.measure.progress import Progress
from evalkit.measure.table import Table
from evalkit.report.figures import Curve, Limits, Sketch, cap_curves, drawn
from evalkit.report.grounds import Ground, Grounds
from evalkit.report.numbers import amount, count, dollars, duration

TRACES = 20_000
"""Traces that are read for a page."""

CELLS = 32
"""Cells of a table of limits."""

FEWEST, MOST = 3, 8
"""Limits of a cap in a table: how many with many variants, how many with few."""

SHOWN = 8
"""Variants whose curves are shown, the baseline among them: each has a colour of its own."""

CLUSTERS = 15
"""Kinds of first divergences that are listed."""

GROUNDS = 20
"""Tasks of which it is listed why their trials did not pass."""


WRITE: Mapping[Meter, Callable[[float], str]] = {
    "turns": count,
    "tokens": amount,
    "seconds": duration,
    "usd": dollars,
}
"""How a limit of each meter is written."""

NAMES: Mapping[Meter, str] = {"turns": "turns", "tokens": "tokens", "seconds": "time", "usd": "dollars"}
"""What a cap on each meter is called in a heading."""


class Hindsight:
    """Reads traces, one after the other, and then tells what they say together."""

    def __init__(self, table: Table, variants: Iterable[Variant] = (), names: Sequence[str] | None = None) -> None:
        """Begin with the run's numbers, how its variants were made, and no trace; `names` are the variants that may be shown, else all."""
        self._table = table
        self.names = list(table.variants) if names is None else list(names)
        self._told = warned(variants)
        self._courses, self._progress, self._divergences = Courses(), Progress(), Divergences()
        self._grounds = Grounds()
        self._read: set[TrialKey] = set()

    def add(self, record: TrialRecord) -> None:
        """Read a trace, once."""
        if record.key not in self._read:
            self._read.add(record.key)
            for reader in (self._courses, self._progress, self._divergences, self._grounds):
                reader.add(record)

    def watching(self, trace: Callable[[TrialRecord], TrialRecord]) -> Callable[[TrialRecord], TrialRecord]:
        """Give traces as `trace` does, reading each on the way."""

        def read(row: TrialRecord) -> TrialRecord:
            """Read one."""
            record = trace(row)
            self.add(record)
            return record

        return read

    def rest(self, rows: Sequence[TrialRecord], trace: Callable[[TrialRecord], TrialRecord]) -> None:
        """Read the traces of those rows that were not read yet."""
        for row in rows:
            if row.key not in self._read:
                self.add(trace(row))

    def curves(self, meter: Meter, most: int) -> tuple[CapCurve, ...]:
        """Follow the variants that are shown over limits of a cap; nothing where no limit would change a thing."""
        at = limits(self._table, self._courses, meter, most)
        names = self._shown()
        return curve(self._table, self._courses, meter, at, variants=names, told=self._told) if len(at) > 1 else ()

    def _shown(self) -> list[str]:
        """The variants whose curves are shown."""
        return shown(self.names, self._table.baseline)

    def told(self, listing: Sequence[TrialRecord]) -> dict[str, Any]:
        """Give what the page's sections on hindsight show; `listing` holds the trials that a link can lead to, in order."""
        diverged = self._divergences.found()
        found = clusters(diverged)
        places = {
            (row.key.suite, row.key.task, row.key.variant, row.key.index): place for place, row in enumerate(listing)
        }
        grounds = self._grounds.told()
        idle = [(name, self._progress.of(name)) for name in self._table.variants]
        return {
            "caps": [section for meter in METERS for section in self._capped(meter)],
            "idle": [{"name": name, "found": one} for name, one in idle if one.trials],
            "clusters": [_cluster(one, places) for one in found[:CLUSTERS]],
            "left_out": sum(len(one.found) for one in found[CLUSTERS:]),
            "grounds": [{**one, "row": places.get(_place(one))} for one in grounds[:GROUNDS]],
            "grounds_left_out": max(0, len(grounds) - GROUNDS),
            "diverged": sum(len(one.found) for one in found),
            "alone": self._divergences.alone(),
            "untraced": self._divergences.untraced,
            "not_shown": len(self._table.variants) - len(self._shown()),
            "besides": dict(_besides(diverged, places)),
            "unread": 0,
            "full": [],
        }

    def _capped(self, meter: Meter) -> list[dict[str, Any]]:
        """The section of one meter, or none."""
        table = self._table
        followed = self.curves(meter, max(FEWEST, min(MOST, CELLS // max(1, len(self._shown())))))
        if not followed:
            return []
        k, write = followed[0].k, WRITE[meter]
        metric = f"pass^{k}" if k > 1 else "pass@1"
        title = f"{metric} and dollars a trial over limits of the cap on {NAMES[meter]}, a line a variant; the table beside it holds the numbers"
        rows = [
            {"limit": write(at.limit), "cells": [_cell(one.points[row]) for one in followed]}
            for row, at in enumerate(followed[0].points)
        ]
        rows.append({"limit": "as run", "cells": [_cell(point(table, one.variant, k)) for one in followed]})
        unknown = [
            (one.variant, next(at.why for at in one.points[::-1] if at.why))
            for one in followed
            if any(at.why for at in one.points)
        ]
        return [
            {
                "meter": NAMES[meter],
                "k": k,
                "figure": drawn(cap_sketch(followed, title, self.names)),
                "variants": [{"name": one.variant, "place": self.names.index(one.variant)} for one in followed],
                "rows": rows,
                "unknown": unknown,
            }
        ]


def _place(one: Ground) -> tuple[str, str, str, int]:
    """The trial that is an example of a ground."""
    return one["suite"], one["task"], one["variant"], one["index"]


def shown(names: Sequence[str], baseline: str | None, most: int = SHOWN) -> list[str]:
    """The variants that are drawn, `most` at most: the first ones, with the baseline in the place of the last where it is none of them."""
    if baseline is not None and baseline in names[most:]:
        return [*names[: most - 1], baseline]
    return list(names[:most])


def unread(trials: int) -> dict[str, Any]:
    """Give what the sections show where traces were not read."""
    empty: dict[str, Any] = {"caps": [], "idle": [], "clusters": []}
    return empty | {
        "besides": {},
        "left_out": 0,
        "grounds": [],
        "grounds_left_out": 0,
        "diverged": 0,
        "alone": 0,
        "untraced": 0,
        "not_shown": 0,
        "unread": trials,
        "full": [],
    }


def cap_sketch(followed: Sequence[CapCurve], title: str, order: Sequence[str], *, named: bool = False) -> Sketch:
    """The figure of a cap's curves, each in the colour of its variant's place in `order`; `named` puts the variants' names below it."""
    first = followed[0]
    lines, costs = [], []
    for one in followed:
        hats = [at.pass_hat for at in one.points]
        lines.append(
            Curve(
                values=[None if hat is None else hat.value for hat in hats],
                lows=[None if hat is None else hat.low for hat in hats],
                highs=[None if hat is None else hat.high for hat in hats],
                place=order.index(one.variant),
            )
        )
        costs.append([at.usd for at in one.points])
    over = Limits(at=[at.limit for at in first.points], meter=NAMES[first.meter], k=first.k, write=WRITE[first.meter])
    return cap_curves(lines, costs, over, title, [one.variant for one in followed] if named else ())


def _cell(at: Point) -> dict[str, Any]:
    """A cell of a table of limits."""
    found: Estimate | None = at.pass_hat
    return {
        "known": not at.why,
        "hat": {
            "value": None if found is None else found.value,
            "low": None if found is None else found.low,
            "high": None if found is None else found.high,
            "why": at.why or (found.why if found is not None else ""),
            "worst": None if found is None else found.worst,
            "best": None if found is None else found.best,
        },
        "usd": at.usd,
        "cap_rate": at.cap_rate,
    }


def _besides(
    diverged: Iterable[Divergence], places: Mapping[tuple[str, str, str, int], int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """For each failing trial in the list the passing one to hold it against: its place, and how many calls they share."""
    for one in diverged:
        cell = (one.suite, one.task, one.variant)
        failed, passed = places.get((*cell, one.index)), places.get((*cell, one.beside))
        if failed is not None and passed is not None:
            yield failed, (passed, one.common)


def _cluster(found: Cluster, places: Mapping[tuple[str, str, str, int], int]) -> dict[str, Any]:
    """A row of the table of first divergences, with the place of an example in the list of trials, None where it has none."""
    first = found.found[0]
    variants = dict.fromkeys(one.variant for one in found.found)
    return {
        "how": found.how,
        "tool": found.tool,
        "instead": found.instead[:3],
        "error": found.error.replace("_", " "),
        "after": found.after.replace("_", " "),
        "trials": len(found.found),
        "tasks": found.tasks,
        "step": found.step,
        "variants": {name: sum(one.variant == name for one in found.found) for name in variants},
        "task": first.task,
        "index": first.index,
        "row": places.get((first.suite, first.task, first.variant, first.index)),
    }
