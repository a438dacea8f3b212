"""Which trial is which: tasks and variants of imported trials, their numbers from 1, and how many were planned.

Invariant: the plan is what the files say was planned, else what they hold. No number is guessed to be missing, no trial is dropped,
and different inputs under one name are never pooled.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from evalkit.cli.survey import Survey
from evalkit.core.errors import ConfigurationError, Problem
from evalkit.parts.importers._rows import plainly, shown
from evalkit.report.numbers import times

MOST_NAMED = 5
"""Tasks that a message names."""

POOLED = (
    "pass^k asks whether k attempts at one task succeed; over different tasks it is something else. Import them as tasks of their own with"
    " --group-by-input"
)

Place = tuple[str, str, str]
"""Suite, task and variant."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """The trials of a task under a variant: `rows` in the order of the files, their own `labels`, and the `planned` number of them."""

    rows: list[int] = field(default_factory=list)
    labels: list[int | str | None] = field(default_factory=list)
    headers: set[int] = field(default_factory=set)
    planned: int = 0


def split_tasks(survey: Survey) -> frozenset[tuple[str, str]]:
    """The tasks whose trials have different inputs; raises `ConfigurationError` where these are not to be tasks of their own."""
    found = [place for place, inputs in survey.wheres.items() if sum(map(bool, inputs)) > 1]
    if found and not survey.choices.by_input:
        problems = []
        for suite, task in found[:MOST_NAMED]:
            inputs = [where for one, where in survey.wheres[suite, task].items() if one]
            what = f"its trials have {len(inputs)} different inputs, such as those of {inputs[0]} and {inputs[1]}"
            problems.append(Problem(where=f"task {shown(task)}", what=what))
        more = f"{len(found)} tasks" if len(found) > 1 else "a task"
        raise ConfigurationError(*problems, Problem(where="import", what=f"{more} with different inputs", mend=POOLED))
    return frozenset(found)


def task_name(task: str, digest: str, *, split: bool) -> str:
    """The name of a task, with its input's digest where there are several."""
    return f"{task} [{digest[:8] or 'unknown input'}]" if split else task


def cells_of(survey: Survey, split: frozenset[tuple[str, str]]) -> dict[Place, Cell]:
    """The trials by task and variant, each in the order of the files."""
    cells: dict[Place, Cell] = {}
    for (suite, task, variant, digest), group in survey.groups.items():
        name = task_name(task, digest, split=(suite, task) in split)
        cell = cells.setdefault((suite, name, variant), Cell())
        pairs = sorted(
            zip([*cell.rows, *group.rows], [*cell.labels, *group.labels], strict=True), key=lambda one: one[0]
        )
        cell.rows, cell.labels = [row for row, _ in pairs], [label for _, label in pairs]
        cell.headers |= group.headers
    for place, (suite, variant, header) in enumerate(survey.headers):
        for task in header.tasks or ():
            if (suite, task, variant) in cells:
                cells[suite, task, variant].headers.add(place)
    return cells


def check_doubles(cells: Mapping[Place, Cell], survey: Survey) -> None:
    """Refuse two trials of one number, naming them."""
    if survey.choices.duplicates == "renumber":
        return
    named, count = [], 0
    for (_, task, variant), cell in cells.items():
        for label, often in Counter(cell.labels).items():
            if label is not None and often > 1:
                count += 1
                named.append(f"trial {shown(label)} of task {shown(task)} under {plainly(variant)}, {often} times")
        named = named[:MOST_NAMED]
    if count:
        more = f"; and {count - len(named):,} more" if count > len(named) else ""
        mend = "--duplicates renumber where they are different trials, --name where they are of different variants"
        raise ConfigurationError.of("import", f"trials are there more than once: {'; '.join(named)}{more}", mend)


def number_trials(cells: Mapping[Place, Cell], survey: Survey, place: array[int], number: array[int]) -> Iterator[str]:
    """Number the trials of each cell from 1 and say how many were planned; tell of gaps that nobody says were planned."""
    most = Counter[str]()
    for (_, _, variant), cell in cells.items():
        most[variant] = max(most[variant], len(cell.rows))
    gaps: list[str] = []
    low = min((one for cell in cells.values() for one in cell.labels if isinstance(one, int)), default=1)
    for where, ((_, task, variant), cell) in enumerate(cells.items()):
        planned = _planned(cell, survey, most[variant])
        base = next((survey.headers[one][2].first for one in sorted(cell.headers)), None)
        numbers = _numbers(cell, planned, base if base is not None else min(max(low, 0), 1))
        if numbers is None:
            what = f"has {times(len(cell.rows), 'trial')} under {plainly(variant)}, but {planned} were planned"
            raise ConfigurationError.of(f"task {shown(task)}", what, f"--planned {len(cell.rows)} says otherwise")
        if planned is None and _gap(cell):
            gaps.append(f"{shown(task)} has {', '.join(map(str, sorted(cell.labels, key=str)[:8]))}")
        cell.planned = len(cell.rows) if planned is None else planned
        for row, one in zip(cell.rows, numbers, strict=True):
            place[row], number[row] = where, one
    if gaps:
        yield (
            f"the trial numbers of {times(len(gaps), 'task')} have gaps ({gaps[0]}): nothing says that the others were planned, so the trials"
            " that are there are numbered anew and none is missing; --planned says otherwise"
        )


def _planned(cell: Cell, survey: Survey, most: int) -> int | None:
    """How many trials of a cell were planned; None where nobody says."""
    if survey.choices.planned is not None:
        return most if survey.choices.planned == "max" else survey.choices.planned
    told = [survey.headers[one][2].trials for one in cell.headers]
    known = [one for one in told if one is not None]
    return sum(known) if known and len(known) == len(told) else None


def _numbers(cell: Cell, planned: int | None, first: int) -> list[int] | None:
    """The numbers of a cell's trials from 1: their own where they fit the plan, else by rank; None where there are more than planned."""
    labels = [one for one in cell.labels if isinstance(one, int)]
    whole = len(labels) == len(cell.labels) == len(set(labels))
    if planned is not None and whole and all(0 <= one - first < planned for one in labels):
        return [one - first + 1 for one in labels]
    if planned is not None and len(cell.rows) > planned:
        return None
    if not whole:
        return list(range(1, len(cell.rows) + 1))
    ranks = {label: rank for rank, label in enumerate(sorted(labels), 1)}
    return [ranks[label] for label in labels]


def _gap(cell: Cell) -> bool:
    """Tell whether a cell's own numbers leave one out."""
    labels = {one for one in cell.labels if isinstance(one, int)}
    return len(labels) == len(cell.labels) and max(labels) - min(labels) >= len(labels)


def plan_absent(cells: dict[Place, Cell], survey: Survey, split: frozenset[tuple[str, str]]) -> Iterator[str]:
    """Plan the tasks that a file says were planned and of which it holds no trial."""
    most = Counter[str]()
    for (_, _, variant), cell in cells.items():
        most[variant] = max(most[variant], cell.planned)
    unclear = 0
    for place, (suite, variant, header) in enumerate(survey.headers):
        for task in header.tasks or ():
            if (suite, task) in split:
                unclear += not any(
                    key[0] == suite and key[1].startswith(f"{task} [") and key[2] == variant for key in cells
                )
                continue
            cell = cells.setdefault((suite, task, variant), Cell())
            cell.headers.add(place)
            if not cell.rows:
                cell.planned = _planned(cell, survey, most[variant]) or most[variant]
    if unclear:
        yield f"{times(unclear, 'planned task')} without any trial have several inputs elsewhere, so nobody can say which is missing: left out"
