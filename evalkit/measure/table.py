"""The one table that all numbers are made from: what was planned, and one row for each recorded trial.

Invariant: the plan is the denominator. Rows outside the plan, or two rows of one trial, are refused; a planned trial without a row is
counted as missing. Columns are plain arrays, so that a million trials are counted in a moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.measure.arrays import Bools, Floats, Ints

OUTCOMES = ("failed", "passed", "error")
"""What the codes of `Table.outcome` mean."""

VERDICTS = ("fail", "pass", "unknown", None)
"""What the codes of `Table.graded` mean; None is a trial whose graders were not asked."""

FAILED, PASSED, ERROR = range(3)

_SHOWN = 3


class Columns(TypedDict):
    """The recorded trials by column: `index` counts from 1, `stop` is a reason, `usd` None where a price is unknown, `turns` and `tokens` where nobody counted."""

    suite: Iterable[str]
    task: Iterable[str]
    variant: Iterable[str]
    index: Iterable[int]
    outcome: Iterable[str]
    graded: Iterable[str | None]
    stop: Iterable[str]
    turns: Iterable[float | None]
    tokens: Iterable[float | None]
    usd: Iterable[float | None]
    seconds: Iterable[float | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A run as arrays: T tasks, V variants, R recorded trials.

    `tasks` are (suite, id) in the order of the plan, `planned` (T, V) how many trials were asked for. Of shape (R,): `task`,
    `variant` and `stop` are places in `tasks`, `variants` and `stops`, `index` counts a task's trials under a variant from 1,
    `outcome` and `graded` are codes of `OUTCOMES` and `VERDICTS`, `usd` is NaN where a price is unknown, `turns` and `tokens`
    where nobody counted. `first_failure` says that a task's later trials were skipped once one had failed, `curtailed` that no trial was
    started any more once a gate's verdict stood. `order`, (T,), is the rank of each task in the order of play, by default that of the plan. Counted from these, (T, V): `passed`, `failed`, `errors` and `missing`, which add up
    to `planned`.
    Raises `RunInvalid` for rows beside the plan, doubled rows, and columns that do not fit each other.
    """

    tasks: tuple[tuple[str, str], ...]
    variants: tuple[str, ...]
    baseline: str | None
    planned: Ints
    task: Ints
    variant: Ints
    index: Ints
    outcome: Ints
    graded: Ints
    stop: Ints
    stops: tuple[str, ...]
    turns: Floats
    tokens: Floats
    usd: Floats
    seconds: Floats
    first_failure: bool = False
    curtailed: bool = False
    order: Ints | None = None
    passed: Ints = field(init=False, repr=False)
    failed: Ints = field(init=False, repr=False)
    errors: Ints = field(init=False, repr=False)
    missing: Ints = field(init=False, repr=False)
    one_suite: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Hold the table to its invariant and count it up."""
        object.__setattr__(self, "one_suite", len({suite for suite, _ in self.tasks}) <= 1)
        if self.baseline is not None and self.baseline not in self.variants:
            raise RunInvalid(f"the baseline {self.baseline!r} is no variant of the run: {listed(self.variants)}")
        for what, names in (("task", self.tasks), ("variant", self.variants)):
            if len(set(names)) != len(names):
                raise RunInvalid(f"the plan names a {what} twice")
        if self.planned.shape != (len(self.tasks), len(self.variants)) or (self.planned < 0).any():
            raise RunInvalid("the plan does not say how many trials each task has under each variant")
        self._check_rows()
        for name, code in (("failed", FAILED), ("passed", PASSED), ("errors", ERROR)):
            object.__setattr__(self, name, self.count(self.outcome == code))
        object.__setattr__(self, "missing", self.planned - self.passed - self.failed - self.errors)

    def _check_rows(self) -> None:
        """Refuse rows beside the plan and rows of a trial that has one already."""
        whole = (self.task, self.variant, self.index, self.outcome, self.graded, self.stop, self.turns, self.tokens)
        if len({column.shape for column in (*whole, self.usd, self.seconds)}) != 1:
            raise RunInvalid("the columns of the run's records are of unequal length")
        beside = (self.index < 1) | (self.index > self.planned[self.task, self.variant])
        if beside.any():
            row = int(np.flatnonzero(beside)[0])
            where = f"{self.task_name(int(self.task[row]))} under {self.variants[self.variant[row]]}"
            raise RunInvalid(
                f"{int(beside.sum())} records are beside the plan, first trial {self.index[row]} of {where}"
            )
        cell = self.task * len(self.variants) + self.variant
        trials = np.sort(cell * (int(self.planned.max(initial=0)) + 1) + self.index)
        if (trials[1:] == trials[:-1]).any():
            raise RunInvalid("the run holds two records of one trial")

    @classmethod
    def of(
        cls,
        *,
        tasks: Sequence[tuple[str, str]],
        variants: Sequence[str],
        planned: npt.ArrayLike,
        baseline: str | None = None,
        first_failure: bool = False,
        curtailed: bool = False,
        order: Ints | None = None,
        **columns: Unpack[Columns],
    ) -> Table:
        """Build a table from columns as a store gives them, one entry a recorded trial, in any order.

        `planned` is one number for all, one for each task, shape (T,), or one for each task and variant, shape (T, V).
        Raises `RunInvalid` as the class does, and for names that the plan does not hold.
        """
        reasons = list(columns["stop"])
        named = tuple(dict.fromkeys(reasons))
        places = tuple((str(suite), str(task)) for suite, task in tasks)
        return cls(
            tasks=places,
            variants=tuple(variants),
            baseline=baseline,
            planned=_spread(planned, (len(places), len(variants))),
            task=coded("a task that is not planned", _paired(columns["suite"], columns["task"]), places),
            variant=coded("a variant that is not planned", columns["variant"], variants),
            index=np.array(list(columns["index"]), dtype=np.int64),
            outcome=coded("an outcome that there is not", columns["outcome"], OUTCOMES),
            graded=coded("a graders' word that there is not", columns["graded"], VERDICTS),
            stop=coded("a stop that there is not", reasons, named),
            stops=named,
            turns=np.array(list(columns["turns"]), dtype=np.float64),
            tokens=np.array(list(columns["tokens"]), dtype=np.float64),
            usd=np.array(list(columns["usd"]), dtype=np.float64),
            seconds=np.array(list(columns["seconds"]), dtype=np.float64),
            first_failure=first_failure,
            curtailed=curtailed,
            order=order,
        )

    @property
    def defined(self) -> Bools:
        """Where a task's planned trials were all measured, shape (T, V): none missing, none in error, and at least one planned."""
        whole: Bools = (self.planned > 0) & (self.missing == 0) & (self.errors == 0)
        return whole

    @property
    def skipped(self) -> Ints:
        """Missing trials that were not started on purpose, shape (T, V): after a task's first failure, or after the verdict stood."""
        if self.curtailed:
            return self.missing
        return np.where(self.failed > 0, self.missing, 0) if self.first_failure else np.zeros_like(self.missing)

    @property
    def lost(self) -> Ints:
        """Missing trials that nobody skipped on purpose, shape (T, V)."""
        return self.missing - self.skipped

    def count(self, rows: Bools) -> Ints:
        """Count the rows that are True, shape (R,), by task and variant, shape (T, V)."""
        cells = (self.task * len(self.variants) + self.variant)[rows]
        counted = np.bincount(cells, minlength=self.planned.size)
        return counted.astype(np.int64).reshape(self.planned.shape)

    def find_variant(self, name: str) -> int:
        """Give a variant's place in `variants`; a `ConfigurationError` names those that there are."""
        if name in self.variants:
            return self.variants.index(name)
        raise ConfigurationError.of(f"variant {name}", "the run has no such variant", meant(name, self.variants))

    def find_task(self, name: str) -> int:
        """Give the place in `tasks` of an id, or of `suite/id` where two suites share the id; errors as `find_variant`."""
        found = [place for place, task in enumerate(self.tasks) if name in (task[1], "/".join(task))]
        if len(found) == 1:
            return found[0]
        if found:
            several = listed(tuple("/".join(self.tasks[place]) for place in found))
            raise ConfigurationError.of(f"task {name}", "several suites have such a task", f"write one of {several}")
        ids = tuple(task[1] for task in self.tasks)
        raise ConfigurationError.of(f"task {name}", "the run has no such task", meant(name, ids))

    def task_name(self, place: int) -> str:
        """Name a task for people: its id, with the suite before it where the run has several suites."""
        suite, task = self.tasks[place]
        return task if self.one_suite else f"{suite}/{task}"


def joined(table: Table, other: Table) -> Table:
    """Add the rows of another table of the same plan; where both have a row of one trial, the other's stands. Raises `RunInvalid` for unlike plans."""
    if (table.tasks, table.variants) != (other.tasks, other.variants) or (table.planned != other.planned).any():
        raise RunInvalid("tables of unlike plans have no rows in common")
    stops = tuple(dict.fromkeys((*table.stops, *other.stops)))
    places = np.array([stops.index(reason) for reason in other.stops], dtype=np.int64)
    size = int(table.planned.max(initial=0)) + 1
    trials = [(one.task * len(one.variants) + one.variant) * size + one.index for one in (table, other)]
    kept = ~np.isin(trials[0], trials[1])
    names = ("task", "variant", "index", "outcome", "graded", "turns", "tokens", "usd", "seconds")
    columns: dict[str, Any] = {
        name: np.concatenate((getattr(table, name)[kept], getattr(other, name))) for name in names
    }
    stop = np.concatenate((table.stop[kept], places[other.stop]))
    return replace(table, stops=stops, stop=stop, **columns)


def _paired(suite: Iterable[str], task: Iterable[str]) -> list[tuple[str, str]]:
    """Put each record's suite and task together."""
    suites, tasks = list(suite), list(task)
    if len(suites) != len(tasks):
        raise RunInvalid("the columns of the run's records are of unequal length")
    return list(zip(suites, tasks, strict=True))


def _spread(planned: npt.ArrayLike, shape: tuple[int, int]) -> Ints:
    """Give the planned number of trials of each task and variant, from one number, one a task, or all of them."""
    counts = np.asarray(planned)
    if counts.size and counts.dtype.kind not in "iu":
        raise RunInvalid("the plan's numbers of trials are not whole")
    counts = counts[:, None] if counts.ndim == 1 else counts
    if counts.ndim not in {0, 2} or (
        counts.ndim == 2 and (counts.shape[0] != shape[0] or counts.shape[1] not in {1, shape[1]})
    ):
        raise RunInvalid(f"the plan's numbers of trials have the shape {counts.shape}, not {shape}")
    return np.broadcast_to(counts, shape).astype(np.int64)


def coded(what: str, names: Iterable[object], known: Sequence[object]) -> Ints:
    """Turn names into their places in `known`, shape (names,); raises `RunInvalid` for one that is not there."""
    places = {name: place for place, name in enumerate(known)}
    held = names if isinstance(names, Collection) else list(names)
    try:
        return np.fromiter(map(places.__getitem__, held), dtype=np.int64, count=len(held))
    except KeyError as error:
        strange = dict.fromkeys(name for name in held if name not in places)
        text = listed(tuple(str("/".join(name) if isinstance(name, tuple) else name) for name in strange))
        raise RunInvalid(f"records with {what}: {text}") from error


def listed(names: Sequence[str]) -> str:
    """Write names for people, the first few of many."""
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def meant(name: str, known: Sequence[str]) -> str:
    """Say which known name was probably meant, or which there are."""
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are: {listed(known)}"


def of_variant(table: Table, name: str) -> Table:
    """Keep one variant of a run, with all tasks; a `ConfigurationError` names those that there are."""
    place = table.find_variant(name)
    kept = table.variant == place
    columns = ("task", "index", "outcome", "graded", "stop", "turns", "tokens", "usd", "seconds")
    return Table(
        tasks=table.tasks,
        variants=(name,),
        baseline=None,
        planned=table.planned[:, [place]],
        variant=np.zeros(int(kept.sum()), dtype=np.int64),
        stops=table.stops,
        first_failure=table.first_failure,
        curtailed=table.curtailed,
        order=table.order,
        **{column: getattr(table, column)[kept] for column in columns},
    )
