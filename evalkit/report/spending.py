"""What reliability costs, as the page shows it: cost against pass^k, and what passed and failed trials used.

Invariant: every number is one of the summary's; only `DRAWN` variants have their use drawn, and how many are not is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalkit.core.plan import Variant
from evalkit.measure.amounts import Metered
from evalkit.measure.counterfactual import METERS
from evalkit.report.about import About
from evalkit.report.charts import Box, Spot, boxes, tradeoff
from evalkit.report.clean import clean_name
from evalkit.report.figures import Sketch, drawn
from evalkit.report.headline import deepest, hat, metric_name
from evalkit.report.hindsight import NAMES, WRITE, shown
from evalkit.report.numbers import UNDEFINED, dollars, known

QUANTILES = ("p5", "p25", "p50", "p75", "p95")
SIDES = (("passed", "✓"), ("failed", "✗"))
"""Outcomes and their marks."""

DRAWN = 4
"""Variants whose use is drawn: four meters of two rows each are many elements for a page."""

NO_BREAK = "\N{NO-BREAK SPACE}"
BESIDE = "; the table beside it holds the numbers"


def spending(summary: Mapping[str, Any], about: About) -> dict[str, Any]:
    """Give what the two sections on cost show."""
    names = shown(list(summary["variants"]), about.baseline, DRAWN)
    return {
        "cost": _cost(summary),
        "sides": [side for side, _ in _sides(summary)],
        "spreads": [_spread(summary, about, meter, names) for meter in METERS if _told(summary, meter, names)],
        "medians": [_medians(summary["variants"][name], name) for name in names],
        "not_shown": len(summary["variants"]) - len(names),
    }


def cost_sketch(summary: Mapping[str, Any], *, named: bool = False) -> Sketch | None:
    """The figure of cost against reliability, None where no variant has both; `named` puts the variants' names below it."""
    k = deepest(summary)
    spots = [
        Spot(
            cost=variant["usd"]["per_trial"],
            value=found["value"],
            low=found["low"],
            high=found["high"],
            front=bool(variant["front"]),
            place=place,
        )
        for place, (variant, found) in enumerate((one, hat(one, k)) for one in summary["variants"].values())
        if known(variant["usd"]["per_trial"]) and known(found["value"])
    ]
    if not spots:
        return None
    title = f"{metric_name(k)} against dollars a trial, a marker a variant; those that none beats in both are ringed"
    names = list(summary["variants"]) if named else ()
    return tradeoff(spots, k, dollars, title + ("" if named else BESIDE), names)


def spread_sketch(summary: Mapping[str, Any], about: About, meter: Metered, names: Sequence[str]) -> Sketch:
    """The figure of what trials used of a meter: for each variant those that passed above those that failed."""
    places = list(summary["variants"])
    caps = {variant.name: _cap(variant, meter) for variant in about.variants}
    rows = []
    for name in names:
        for side, mark in _sides(summary):
            values = _values(summary, name, meter, side)
            label = f"{clean_name(name)} {mark}" if side == _sides(summary)[0][0] else mark
            cap, place = caps.get(name), places.index(name)
            rows.append(Box(label=label, values=values, place=place, filled=side == "passed", cap=cap))
    title = (
        f"{NAMES[meter].capitalize()} of trials, passed (full) and failed (hollow), with each variant's cap" + BESIDE
    )
    return boxes(rows, NAMES[meter], WRITE[meter], title)


def spread_sketches(summary: Mapping[str, Any], about: About) -> list[Sketch]:
    """The figures of all meters that anything is known of."""
    names = shown(list(summary["variants"]), about.baseline, DRAWN)
    return [spread_sketch(summary, about, meter, names) for meter in METERS if _told(summary, meter, names)]


def _cost(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The section of cost against reliability; the cheapest variant first, those of unknown cost last."""
    k = deepest(summary)
    rows = [
        {"name": name, "place": place, "variant": variant, "hat": hat(variant, k), "front": variant["front"]}
        for place, (name, variant) in enumerate(summary["variants"].items())
    ]
    rows.sort(key=lambda row: (row["variant"]["usd"]["per_trial"] is None, row["variant"]["usd"]["per_trial"] or 0.0))
    sketch = cost_sketch(summary)
    return {"figure": drawn(sketch) if sketch else "", "k": k, "rows": rows}


def _spread(summary: Mapping[str, Any], about: About, meter: Metered, names: Sequence[str]) -> dict[str, Any]:
    """The section of one meter."""
    caps = {variant.name: _cap(variant, meter) for variant in about.variants}
    places = list(summary["variants"])
    write = WRITE[meter]
    rows = []
    for name in names:
        cap = caps.get(name)
        sides = [{"side": side, "mark": mark, **_row(summary, name, meter, side)} for side, mark in _sides(summary)]
        rows.append({"name": name, "place": places.index(name), "cap": write(cap) if cap else "", "sides": sides})
    return {"meter": NAMES[meter], "figure": drawn(spread_sketch(summary, about, meter, names)), "rows": rows}


def _row(summary: Mapping[str, Any], name: str, meter: Metered, side: str) -> dict[str, Any]:
    """The written quantiles of one outcome's trials."""
    values, write = _values(summary, name, meter, side), WRITE[meter]
    trials = summary["variants"][name]["spread"][meter][side]["trials"]
    if values is None:
        return {"trials": trials, "middle": UNDEFINED, "half": UNDEFINED, "most": UNDEFINED}
    low, first, middle, third, high = values
    return {
        "trials": trials,
        "middle": write(middle).replace(" ", NO_BREAK),
        "half": span(first, third, write),
        "most": span(low, high, write),
    }


def span(low: float, high: float, write: Callable[[float], str]) -> str:
    """Write a range in one line, with a unit that its ends share once: `14.2 – 99.2 ms`, `$0.0067 – 0.0116`; of one value that value."""
    first, last = write(low), write(high)
    if first == last:
        return first.replace(" ", NO_BREAK)
    head, _, unit = first.partition(" ")
    if unit and unit == last.partition(" ")[2] and " " not in unit:
        first = head
    if first.startswith("$") and last.startswith("$"):
        last = last.removeprefix("$")
    return f"{first} – {last}".replace(" ", NO_BREAK)


def _sides(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The outcomes that any trial has."""
    return [(side, mark) for side, mark in SIDES if any(one[side] for one in summary["variants"].values())]


def _values(summary: Mapping[str, Any], name: str, meter: Metered, side: str) -> list[float] | None:
    """The five quantiles, None where they are not known."""
    found = summary["variants"][name]["spread"][meter][side]
    values = [found[one] for one in QUANTILES]
    return values if all(known(one) for one in values) else None


def _told(summary: Mapping[str, Any], meter: Metered, names: Sequence[str]) -> bool:
    """True where something but zero is known of a meter."""
    found = [_values(summary, name, meter, side) for name in names for side, _ in SIDES]
    return any(values and values[-1] > 0 for values in found)


def _medians(variant: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Median and 95th percentile of each meter over a variant's judged trials, with their bounds, written."""
    cells = []
    for meter in METERS:
        write, found = WRITE[meter], variant[meter]
        for key in ("p50", "p95"):
            low, high = (found.get(f"{key}_{end}") for end in ("low", "high"))
            ends = f"{write(low) if known(low) else '…'} – {write(high) if known(high) else '…'}"
            value = found.get(key)
            shown_ends = ends if known(low) or known(high) else ""
            cells.append({"value": write(value) if known(value) else UNDEFINED, "ends": shown_ends})
    return {"name": name, "cells": cells}


def _cap(variant: Variant, meter: Metered) -> float | None:
    """A variant's cap on a meter."""
    found: float | None = getattr(variant.caps, meter)
    return found
