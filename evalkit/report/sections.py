"""Puts together what the page's templates show, section by section, as plain values.

Invariant: templates decide how a thing looks, this file which things there are; each list that could grow without end is
cut here, and what was left out is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.core.record import TrialRecord
from evalkit.report.about import About
from evalkit.report.canvas import BANDS, SERIES
from evalkit.report.clean import clean_name
from evalkit.report.configs import differences
from evalkit.report.figures import Bar, Curve, Sketch, decay, drawn, stacked
from evalkit.report.headline import GATE_TONES, caveats, deepest, depths, hat, reasons, size, verdict
from evalkit.report.limits import limits
from evalkit.report.numbers import known, times
from evalkit.report.quality import Counts, depth, warnings
from evalkit.report.spending import spending
from evalkit.report.tasks import task_section

VARIANTS = 10
"""Variants that a page tells of: more columns than that no screen holds, and a browser must lay out all of them before anything is shown."""

SETTINGS = 40
"""Settings in which variants differ that are listed."""

RULES = 100
"""Rules of a gate that are shown, those that did not pass first."""

STATIC_ROWS = 40
"""Trials that are listed without a script."""

EACH_K = 16
"""Up to this k the table of pass^k has every k, beyond only powers of two and the last."""

MOVED = 20
"""Shifts of a reason under a variant that are listed."""

TABLE_BESIDE = "; the table beside it holds the numbers"

LETTERS = "ABCDEFGH"
"""Marks of the parts of a bar; what does not get one of its own goes into the last."""


def sections(
    summary: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    comparisons: Sequence[Mapping[str, Any]],
    gate: Mapping[str, Any] | None,
    about: About,
    listing: Sequence[TrialRecord],
    found: Mapping[str, Counts],
    hindsight: Mapping[str, Any],
    told: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Give all values that the templates use; `found` counts all trials, `listing` holds those that get a row.

    `hindsight` is what the trials' traces tell (`report.hindsight`), `told` are the variants that tables and figures hold (`those_told`), else all.
    """
    whole, told = summary, list(summary["variants"] if told is None else told)
    summary = {**whole, "variants": {name: whole["variants"][name] for name in told}}
    compared = (
        [one for one in comparisons if one["variant"] in told]
        if len(told) < len(whole["variants"])
        else list(comparisons)
    )
    differ = differences([one for one in about.variants if one.name in told])
    most = deepest(summary)
    ks = [1, *depths(most)] if most > 1 else [1]
    return {
        "about": about,
        "summary": summary,
        "size": size(whole),
        "passed": sum(variant["passed"] for variant in whole["variants"].values()),
        "failed": sum(variant["failed"] for variant in whole["variants"].values()),
        "judged": sum(variant["passed"] + variant["failed"] for variant in whole["variants"].values()),
        "not_told": len(whole["variants"]) - len(told),
        "verdict": verdict(whole, comparisons, gate),
        "caveats": list(caveats(whole)),
        "rules": rules(gate),
        "ks": ks,
        "deepest": ks[-1],
        "variants": [
            _variant(name, variant, place, ks) for place, (name, variant) in enumerate(summary["variants"].items())
        ],
        "undefined": list(reasons(summary, ks)),
        "curves": curves(summary, most),
        "comparisons": compared,
        "reach": reach(compared),
        "limits": list(limits(comparisons)),
        "tasks": task_section(tasks, told, about.baseline, listing),
        "stops": stops(summary),
        "spending": spending(summary, about),
        "hindsight": hindsight,
        "trials": listing[:STATIC_ROWS],
        "quality": [
            {"name": name, "variant": variant, "counts": found.get(name, Counts()), "depth": depth(tasks, name)}
            for name, variant in summary["variants"].items()
        ],
        "warnings": list(warnings(whole, tasks, found)),
        "differences": differ[:SETTINGS],
        "differences_left": max(0, len(differ) - SETTINGS),
        "methods": methods(summary),
    }


def those_told(summary: Mapping[str, Any], baseline: str | None) -> list[str]:
    """The variants that a page tells of, in the run's order: all, or the baseline and those that are highest at the deepest k."""
    names, most = list(summary["variants"]), deepest(summary)
    if len(names) <= VARIANTS:
        return names

    def rank(name: str) -> tuple[bool, float]:
        """The baseline first, then by the value."""
        value = hat(summary["variants"][name], most)["value"]
        return name != baseline, -value if known(value) else 1.0

    kept = set(sorted(names, key=rank)[:VARIANTS])
    return [name for name in names if name in kept]


def rules(gate: Mapping[str, Any] | None) -> dict[str, Any]:
    """A gate's rules, those that did not pass first."""
    order = {"invalid": 0, "fail": 1, "inconclusive": 2, "pass": 3}
    ranked = sorted(gate["rules"], key=lambda rule: order[rule["verdict"]]) if gate else []
    shown = [{**rule, "mark": GATE_TONES[rule["verdict"]]} for rule in ranked[:RULES]]
    words = Counter(rule["verdict"] for rule in ranked)
    count = ", ".join(f"{words[word]:,} {word}" for word in order if words[word])
    return {
        "shown": shown,
        "left_out": max(0, len(ranked) - RULES),
        "count": f"{times(len(ranked), 'rule')}: {count}",
        "why": gate.get("why", "") if gate else "",
    }


def reach(comparisons: Sequence[Mapping[str, Any]]) -> float:
    """How far the axis of differences goes to each side: to the widest interval, rounded up to a quarter."""
    ends = [abs(one[end]) for one in comparisons for end in ("low", "high", "difference") if known(one[end])]
    return max(0.25, math.ceil(4 * max(ends, default=0.25)) / 4)


def curves(summary: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The figure of pass^k over k, and the numbers beside it."""
    ks = range(1, most + 1)
    series = [[hat(variant, k) for k in ks] for variant in summary["variants"].values()]
    shown = [k for k in ks if most <= EACH_K or k == most or k & (k - 1) == 0]
    return {
        "figure": drawn(curve_sketch(summary)) if any(known(one["value"]) for row in series for one in row) else "",
        "ks": shown,
        "rows": series,
        "bands": len(series) <= BANDS,
    }


def curve_sketch(summary: Mapping[str, Any], *, named: bool = False) -> Sketch:
    """The figure of pass^k over k; `named` puts the variants' names below it."""
    most = deepest(summary)
    rows = [[hat(variant, k) for k in range(1, most + 1)] for variant in summary["variants"].values()]
    lines = [
        Curve(
            values=[one["value"] for one in row],
            lows=[one["low"] for one in row],
            highs=[one["high"] for one in row],
        )
        for row in rows
    ]
    title = f"pass^k for k from 1 to {most}, one line a variant" + ("" if named else TABLE_BESIDE)
    return decay(lines, title, list(summary["variants"]) if named else ())


def stops(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Why trials ended: the most frequent reasons as parts of bars and columns of a table, the rest as one part."""
    groups = _stop_groups(summary)
    rows = [_stop_row(name, variant, groups) for name, variant in summary["variants"].items()]
    judged = any(sum(row["left"]) + sum(row["right"]) for row in rows)
    return {
        "figure": drawn(stop_sketch(summary)) if judged else "",
        "any": bool(groups and rows),
        "names": list(zip(LETTERS, _stop_names(groups), strict=False)),
        "own": [not any(map(ends_badly, group)) for group in groups],
        "rows": rows,
    }


def ends_badly(reason: str) -> bool:
    """True where a trial did not end by itself, so that its graders alone make it no pass."""
    return reason not in ("finished", "unknown") and not reason.startswith("other:")


def shifted(shifts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How stops differ from the baseline's: a sentence each, and the shifts of single reasons, the clearest first."""
    sentences = [one["sentence"] for one in shifts]
    rows = [(one["variant"], moved) for one in shifts for moved in one["reasons"] if moved["difference"]]
    rows.sort(key=lambda row: (row[1]["p_adjusted"], -abs(row[1]["difference"])))
    return {"sentences": sentences, "moved": rows[:MOVED], "moved_left": max(0, len(rows) - MOVED)}


def stop_sketch(summary: Mapping[str, Any], *, named: bool = False) -> Sketch:
    """The figure of stops; `named` puts what its letters mean below it."""
    groups = _stop_groups(summary)
    rows = [_stop_row(name, variant, groups) for name, variant in summary["variants"].items()]
    bars = [Bar(label=row["name"], left=row["left"], right=row["right"]) for row in rows]
    title = "Why trials ended, a bar a variant: passed by the graders to the right, the others to the left" + (
        "" if named else TABLE_BESIDE
    )
    meanings = [f"{letter} {name}" for letter, name in zip(LETTERS, _stop_names(groups), strict=False)]
    return stacked(bars, LETTERS, title, meanings if named else ())


def _stop_groups(summary: Mapping[str, Any]) -> list[list[str]]:
    """The reasons of each part of a bar, the most frequent first, but `finished` before all."""
    totals: Counter[str] = Counter()
    for variant in summary["variants"].values():
        totals.update(variant["stops"])
    ranked = sorted(totals, key=lambda reason: (reason != "finished", -totals[reason], reason))
    groups = [[reason] for reason in ranked]
    own = len(LETTERS) - 1
    if len(groups) > len(LETTERS):
        groups = [*groups[:own], [reason for group in groups[own:] for reason in group]]
    return groups


def _stop_names(groups: Sequence[Sequence[str]]) -> list[str]:
    """What each part of a bar is called."""
    return [clean_name(group[0]) if len(group) == 1 else f"{len(group)} others" for group in groups]


def _stop_row(name: str, variant: Mapping[str, Any], groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Counts of a variant's trials for each group of reasons, and their shares on each side of its bar; errors are on neither."""
    stops, passed = variant["stops"], variant["stops_passed"]
    numbers = [sum(stops.get(reason, 0) for reason in group) for group in groups]
    good = [sum(passed.get(reason, 0) for reason in group) for group in groups]
    void = [sum(variant["stops_errors"].get(reason, 0) for reason in group) for group in groups]
    total = sum(numbers)
    whole = total or 1
    return {
        "name": clean_name(name),
        "total": total,
        "cells": [{"number": one, "passed": well} for one, well in zip(numbers, good, strict=True)],
        "left": [max(0, one - well - lost) / whole for one, well, lost in zip(numbers, good, void, strict=True)],
        "right": [well / whole for well in good],
    }


def _variant(name: str, variant: Mapping[str, Any], place: int, ks: Sequence[int]) -> dict[str, Any]:
    """A row of the headline table."""
    last = hat(variant, ks[-1])
    drawn = all(known(last[end]) for end in ("value", "low", "high"))
    return {
        "name": name,
        "series": place % SERIES,
        "place": place,
        "variant": variant,
        "hats": [hat(variant, k) for k in ks],
        "at": variant["pass_at"].get(str(ks[-1])),
        "whisker": last if drawn else None,
    }


def methods(summary: Mapping[str, Any]) -> list[str]:
    """How intervals were made, each way once."""
    found = {
        (one.get("method"), one.get("scope"), one.get("confidence"))
        for variant in summary["variants"].values()
        for one in variant["pass_hat"].values()
        if one.get("method")
    }
    return [
        f"{method}, scope {scope}, confidence {confidence:.0%}" if confidence else f"{method}, scope {scope}"
        for method, scope, confidence in sorted(found, key=str)
    ]
