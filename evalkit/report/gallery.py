"""All figures of a run, for those who want them as files.

Invariant: a figure shows what it shows on the page, with its legend, and is left out where there is nothing to draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalkit.core.record import TrialRecord
from evalkit.measure.counterfactual import METERS
from evalkit.measure.table import Table
from evalkit.report.about import About
from evalkit.report.figures import Sketch
from evalkit.report.headline import deepest
from evalkit.report.hindsight import NAMES, Hindsight, cap_sketch
from evalkit.report.sections import curve_sketch, stop_sketch
from evalkit.report.spending import cost_sketch, spread_sketches

POINTS = 12
"""Limits of a curve of caps in a file."""


def gallery(summary: Mapping[str, Any], table: Table, about: About, records: Iterable[TrialRecord]) -> Iterator[Sketch]:
    """Sketch each figure of a run; `records`, with their events, are read one after the other for the curves of caps."""
    if deepest(summary):
        yield curve_sketch(summary, named=True)
    if any(variant["stops"] for variant in summary["variants"].values()):
        yield stop_sketch(summary, named=True)
    cost = cost_sketch(summary, named=True)
    if cost is not None:
        yield cost
    yield from spread_sketches(summary, about)
    hindsight = Hindsight(table, about.variants)
    for record in records:
        hindsight.add(record)
    for meter in METERS:
        followed = hindsight.curves(meter, POINTS)
        if followed:
            title = (
                f"pass^{followed[0].k} and dollars a trial over limits of the cap on {NAMES[meter]}, a line a variant"
            )
            yield cap_sketch(followed, title, hindsight.names, named=True)
