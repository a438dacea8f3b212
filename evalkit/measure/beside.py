"""Two runs of the same tasks put into one table, so that they can be compared as two variants of one run are.

Invariant: unlike runs are refused, not silently cut down to what they share; a cut is made only where it is asked for, and `Match` says how much
it leaves out. What is left has the same tasks and as many trials of each on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.core.errors import RunInvalid
from evalkit.measure.arrays import Ints
from evalkit.measure.table import Table, listed
from evalkit.measure.words import counted, span

Name = tuple[str, str]
"""A task: its suite and its id."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """One of two runs: its `name` for people, its table, and the digest of each task's content."""

    name: str
    table: Table
    digests: Mapping[Name, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The tasks of two runs, each in one place: `alike` in all, on one side only, of another content under one name, or of unlike trials.

    `uneven` are like tasks with (trials of the candidate, trials of the baseline). Of a task in `shared` there are trials on both sides.
    """

    candidate: str
    baseline: str
    alike: tuple[Name, ...] = ()
    only_candidate: tuple[Name, ...] = ()
    only_baseline: tuple[Name, ...] = ()
    edited: tuple[Name, ...] = ()
    uneven: tuple[tuple[Name, int, int], ...] = ()

    @property
    def shared(self) -> int:
        """How many tasks both runs have, whatever the number of their trials."""
        return len(self.alike) + len(self.uneven)

    @property
    def whole(self) -> bool:
        """True where every task is alike."""
        return not (self.only_candidate or self.only_baseline or self.edited or self.uneven)

    def faults(self) -> tuple[str, ...]:
        """Say which tasks are unlike, one sentence for each kind of fault."""
        told = []
        for names, where in (
            (self.only_candidate, f"only in {self.candidate}"),
            (self.only_baseline, f"only in {self.baseline}"),
            (self.edited, "of one name but unlike content"),
        ):
            if names:
                told.append(f"{counted(len(names), 'task')} {where}: {listed(_texts(names))}")
        if self.uneven:
            shown = tuple(
                f"{text} ({mine} trials in {self.candidate}, {theirs} in {self.baseline})"
                for text, (_, mine, theirs) in zip(_texts([one[0] for one in self.uneven]), self.uneven, strict=True)
            )
            told.append(f"{counted(len(shown), 'task')} with unlike numbers of trials: {listed(shown)}")
        return tuple(told)

    def mend(self) -> str:
        """Say what can be done about unlike tasks."""
        text = f"--shared compares the {counted(self.shared, 'task')} that both have"
        if self.uneven:
            most = max(max(mine, theirs) for _, mine, theirs in self.uneven)
            text += f", and of each the trials that both have; or run the one with fewer trials again with -n {most}"
        return text

    def cut(self) -> str:
        """Say what is compared where only the shared tasks are: both denominators, and the trials that are left."""
        mine = self.shared + len(self.only_candidate) + len(self.edited)
        theirs = self.shared + len(self.only_baseline) + len(self.edited)
        text = (
            f"{counted(self.shared, 'shared task')} compared, of {mine:,} in {self.candidate} and {theirs:,} in {self.baseline}: "
            "what is said holds for these alone"
        )
        if self.uneven:
            kept = [min(mine, theirs) for _, mine, theirs in self.uneven]
            both = span((min(kept), max(kept)))
            text += f"; of {counted(len(kept), 'task')} with unlike numbers of trials the first that both have ({both})"
        return text


def match(candidate: Side, base: Side, pairs: Sequence[tuple[str, str]]) -> Match:
    """Hold the tasks of two runs against each other, as they were planned for the variants compared: (candidate's, baseline's).

    A task is the same task where its digest is. Tasks come in the candidate's order, then in the baseline's. Raises `ConfigurationError`
    for a variant that a run has not.
    """
    mine, theirs = (
        _planned(side.table, [couple[place] for couple in pairs]) for place, side in enumerate((candidate, base))
    )
    alike: list[Name] = []
    only: tuple[list[Name], list[Name]] = ([], [])
    edited: list[Name] = []
    uneven: list[tuple[Name, int, int]] = []
    nothing = np.zeros(len(pairs), dtype=np.int64)
    for task in dict.fromkeys((*candidate.table.tasks, *base.table.tasks)):
        here, there = mine.get(task, nothing), theirs.get(task, nothing)
        if not here.any() and not there.any():
            continue
        if not here.all() or not there.all():
            only[0 if here.any() and not there.all() else 1].append(task)
        elif candidate.digests.get(task) != base.digests.get(task):
            edited.append(task)
        elif np.array_equal(here, there):
            alike.append(task)
        else:
            uneven.append((task, int(here.min()), int(there.min())))
    return Match(
        candidate=candidate.name,
        baseline=base.name,
        alike=tuple(alike),
        only_candidate=tuple(only[0]),
        only_baseline=tuple(only[1]),
        edited=tuple(edited),
        uneven=tuple(uneven),
    )


def beside(
    candidate: Side, base: Side, pairs: Sequence[tuple[str, str]], *, label: str = "baseline", shared: bool = False
) -> tuple[Table, Match]:
    """Put the variants of `pairs` (candidate's, baseline's) into one table, the baseline's renamed `label:NAME`; and say how the tasks match.

    With `shared` unlike tasks are left out, and of tasks with unlike numbers of trials the first that all have are kept: which those are was
    fixed before any was played. Tasks are in the candidate's order. The table's baseline is the one baseline of all pairs, else None. Raises
    `RunInvalid` where tasks are unlike and `shared` is not given, where none is shared, and where two variants would have one name.
    """
    found = match(candidate, base, pairs)
    if not found.shared:
        why = "; ".join(found.faults()) or "no task is planned"
        raise RunInvalid(f"{candidate.name} and {base.name} share no task, so there is nothing to compare: {why}")
    if not found.whole and not shared:
        raise RunInvalid(
            f"{candidate.name} and {base.name} are of unlike tasks: {'; '.join(found.faults())}. {found.mend()}"
        )
    mine, theirs = (tuple(dict.fromkeys(couple[place] for couple in pairs)) for place in (0, 1))
    renamed = tuple(f"{label}:{name}" for name in theirs)
    if set(mine) & set(renamed):
        raise RunInvalid(f"{candidate.name} has a variant named as those of the baseline are to be: {listed(renamed)}")
    kept = {*found.alike, *(task for task, *_ in found.uneven)}
    tasks = tuple(task for task in candidate.table.tasks if task in kept)
    few = dict.fromkeys(tasks, int(candidate.table.planned.max(initial=0)))
    few |= {task: min(here, there) for task, here, there in found.uneven}
    most = np.array([few[task] for task in tasks], dtype=np.int64)
    one, other = (_cut(side.table, tasks, names, most) for side, names in ((candidate, mine), (base, theirs)))
    return _joined(one, other, renamed), found


def _texts(names: Sequence[Name]) -> tuple[str, ...]:
    """Name tasks for people, with their suite where there are several."""
    several = len({suite for suite, _ in names}) > 1
    return tuple(f"{suite}/{task}" if several else task for suite, task in names)


def _planned(table: Table, variants: Sequence[str]) -> dict[Name, Ints]:
    """Give each task's numbers of planned trials under some variants, shape (variants,)."""
    columns = [table.find_variant(name) for name in variants]
    return {task: table.planned[place, columns] for place, task in enumerate(table.tasks)}


def _cut(table: Table, tasks: Sequence[Name], variants: Sequence[str], most: Ints) -> Table:
    """Keep some tasks and variants, and of each task at most so many trials, the first ones."""
    places = {task: place for place, task in enumerate(table.tasks)}
    rows = np.array([places[task] for task in tasks], dtype=np.int64)
    columns = np.array([table.find_variant(name) for name in variants], dtype=np.int64)
    new_task, new_variant = np.full(len(table.tasks), -1), np.full(len(table.variants), -1)
    new_task[rows], new_variant[columns] = np.arange(rows.size), np.arange(columns.size)
    task, variant = new_task[table.task], new_variant[table.variant]
    kept = (task >= 0) & (variant >= 0)
    kept &= table.index <= most[np.where(kept, task, 0)]
    return Table(
        tasks=tuple(tasks),
        variants=tuple(variants),
        baseline=None,
        first_failure=table.first_failure,
        curtailed=table.curtailed,
        planned=np.minimum(table.planned[np.ix_(rows, columns)], most[:, None]),
        task=task[kept],
        variant=variant[kept],
        stops=table.stops,
        **{
            name: getattr(table, name)[kept]
            for name in ("index", "outcome", "graded", "stop", "turns", "tokens", "usd", "seconds")
        },
    )


def _joined(one: Table, other: Table, renamed: Sequence[str]) -> Table:
    """Put two tables of the same tasks into one; the variants of the second get new names."""
    stops = tuple(dict.fromkeys((*one.stops, *other.stops)))
    stop = np.array([stops.index(reason) for reason in other.stops], dtype=np.int64)
    moved = {"variant": other.variant + len(one.variants), "stop": stop[other.stop]}
    names = ("task", "variant", "index", "outcome", "graded", "stop", "turns", "tokens", "usd", "seconds")
    return Table(
        tasks=one.tasks,
        variants=(*one.variants, *renamed),
        first_failure=one.first_failure or other.first_failure,
        curtailed=one.curtailed or other.curtailed,
        baseline=renamed[0] if len(renamed) == 1 else None,
        planned=np.hstack((one.planned, other.planned)),
        stops=stops,
        **{name: np.concatenate((getattr(one, name), moved.get(name, getattr(other, name)))) for name in names},
    )
