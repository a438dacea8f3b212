"""The table of tasks: which are shown, in which order, and what each cell leads to.

Invariant: no task is left out uncounted, and those that tell the variants apart stand first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.core.record import TrialRecord
from evalkit.report.trials import links

LEAST_TASKS = 10
"""Tasks that the table of tasks has room for, however full the page is."""


def task_section(
    tasks: Sequence[Mapping[str, Any]],
    variants: Sequence[str],
    baseline: str | None,
    listing: Sequence[TrialRecord],
    room: int = 0,
) -> dict[str, Any]:
    """The table of tasks, as many as `room` elements hold: those that tell the variants apart first, then those that fail most."""
    limit = max(LEAST_TASKS, room // (3 + 2 * len(variants)))
    ranked = sorted(tasks, key=lambda task: _interest(task, variants, baseline))
    task_places, variant_places = links(listing)
    rows = []
    for task in ranked[:limit]:
        place = task_places.get((task["suite"], task["task"]))
        cells = []
        for name in variants:
            known_place = place is not None and name in variant_places
            link = f"#trials/{place}/{variant_places[name]}" if known_place else ""
            cells.append(_task_cell(task["variants"].get(name), link))
        rows.append({"suite": task["suite"], "task": task["task"], "cells": cells})
    several = len({task["suite"] for task in tasks}) > 1
    return {"rows": rows, "left_out": max(0, len(tasks) - limit), "several": several, "all": len(tasks)}


def _interest(task: Mapping[str, Any], variants: Sequence[str], baseline: str | None) -> tuple[float, float, str, str]:
    """The place of a task: the largest difference to the baseline first, then the smallest share passed."""
    shares = {name: _share(task["variants"][name]) for name in variants if name in task["variants"]}
    base = shares.get(baseline) if baseline else None
    widest = (
        max((abs(one - base) for one in shares.values() if one is not None), default=0.0) if base is not None else 0.0
    )
    least = min((one for one in shares.values() if one is not None), default=2.0)
    return -widest, least, task["suite"], task["task"]


def _share(cell: Mapping[str, Any]) -> float | None:
    """The share of a task's judged trials that passed."""
    judged = cell["passed"] + cell["failed"]
    return cell["passed"] / judged if judged else None


def _task_cell(cell: Mapping[str, Any] | None, link: str) -> dict[str, Any] | None:
    """A cell of the table of tasks and how it looks: all, some, none or nothing passed."""
    if cell is None:
        return None
    part = _share(cell)
    look = "void" if part is None else "all" if part == 1 else "none" if part == 0 else "some"
    return {**cell, "judged": cell["passed"] + cell["failed"], "look": look, "link": link}
