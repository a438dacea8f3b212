"""Makers of tables: a run from the number of passes of each task, as a store would give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.measure.table import Table

Cell = tuple[int, int, int, int]
"""Trials of a task: passed, failed, in error, missing."""

Cells = Sequence[int | Cell]
"""The tasks of a variant: the passes of each, or all four counts."""

COLUMNS = ("suite", "task", "variant", "index", "outcome", "graded", "stop", "turns", "tokens", "usd", "seconds")
"""What a store gives of each trial."""


def a_table(
    cells: Mapping[str, Cells],
    *,
    n: int = 8,
    baseline: str | None = None,
    usd: float | None = 0.01,
    suites: Sequence[str] = (),
    failed_stop: str = "finished",
) -> Table:
    """Make a run: for each variant and task the passes out of `n`, or all four counts; failed trials end by `failed_stop`."""
    variants = list(cells)
    count = len(next(iter(cells.values()), ()))
    tasks = [(suites[place] if suites else "s", f"t{place}") for place in range(count)]
    planned = [[0] * len(variants) for _ in tasks]
    rows: list[dict[str, Any]] = []
    for column, variant in enumerate(variants):
        for place, cell in enumerate(cells[variant]):
            passed, failed, errors, missing = cell if isinstance(cell, tuple) else (cell, n - cell, 0, 0)
            planned[place][column] = passed + failed + errors + missing
            ends = ["passed"] * passed + ["failed"] * failed + ["error"] * errors
            rows.extend(
                a_row(tasks[place], variant, index, outcome, usd=usd, failed_stop=failed_stop)
                for index, outcome in enumerate(ends, start=1)
            )
    return table_of(rows, tasks=tasks, variants=variants, planned=planned, baseline=baseline)


def a_row(
    task: tuple[str, str],
    variant: str,
    index: int,
    outcome: str,
    *,
    usd: float | None = 0.01,
    failed_stop: str = "finished",
    **changes: Any,
) -> dict[str, Any]:
    """Make one record's columns."""
    stop = {"passed": "finished", "failed": failed_stop, "error": "error:provider"}[outcome]
    graded = {"passed": "pass", "failed": "fail", "error": None}[outcome]
    row = {"suite": task[0], "task": task[1], "variant": variant, "index": index, "outcome": outcome, "graded": graded}
    return {**row, "stop": stop, "turns": index, "tokens": 100 * index, "usd": usd, "seconds": 0.5 * index, **changes}


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Turn rows into columns."""
    return {name: [row[name] for row in rows] for name in COLUMNS}


def table_of(rows: Sequence[Mapping[str, Any]], **plan: Any) -> Table:
    """Make a table of rows and a plan."""
    return Table.of(**plan, **columns_of(rows))
