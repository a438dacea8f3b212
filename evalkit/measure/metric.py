"""What a metric is to the rest of the room: something that reads a variant's trials, task by task.

Invariant: a metric never decides what to do about trials that are missing or in error. It says which of a task's trials count, which
are known to be hits, and which are unknown; whoever asks decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from evalkit.measure.arrays import Bools, Floats, Ints
from evalkit.measure.passing import histogram, pass_at_k, pass_hat_k
from evalkit.measure.table import Table

LOST = "missing or in error"
"""What unknown trials usually are."""

SPARED = "skipped on purpose, missing or in error"
"""What they are in a run that was cut short on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """A metric that is a mean over tasks of values in [0, 1], as counts of shape (tasks,).

    Of a task's `trials` planned ones, `hits` are known to be hits and of `unknown` ones nobody knows. A task's value
    is the share of its k-subsets of trials that are all hits, or that hold at least one where `any_of_k`. `doubt` says what unknown trials are.
    """

    trials: Ints
    hits: Ints
    unknown: Ints
    k: int = 1
    any_of_k: bool = False
    doubt: str = LOST

    @property
    def short(self) -> Bools:
        """Which tasks have fewer than k trials planned, so that no result could give them a value."""
        return self.trials < self.k

    @property
    def open(self) -> Bools:
        """Which tasks have trials that nobody knows."""
        return self.unknown > 0

    @property
    def values(self) -> Floats:
        """The value of each task, NaN where it is short or open."""
        value = pass_at_k if self.any_of_k else pass_hat_k
        return np.where(self.open, np.nan, value(self.trials, self.hits, self.k))

    def filled(self, *, hit: bool) -> Shares:
        """Read every unknown trial as a hit, or as none."""
        hits = self.hits + self.unknown if hit else self.hits
        return replace(self, hits=hits, unknown=np.zeros_like(self.unknown))

    def only(self, tasks: Bools) -> Shares:
        """Keep some tasks."""
        return replace(self, trials=self.trials[tasks], hits=self.hits[tasks], unknown=self.unknown[tasks])

    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """Count the tasks by trials and hits: three arrays, trials, hits, tasks. Only where no task is open."""
        return histogram(self.trials, self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A metric that is one number for all tasks together, such as a price; None, and why, where it is undefined."""

    value: float | None
    why: str = ""


class Metric(Protocol):
    """One way to put a number on a variant: a file in `evalkit/measure/metrics/`, its class named after the file."""

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read the metric as people write it; None where the text is another metric's."""

    @classmethod
    def forms(cls) -> tuple[str, ...]:
        """Examples of how it is written, for help and for "did you mean"."""

    @property
    def text(self) -> str:
        """How people write it."""

    @property
    def more_is_better(self) -> bool:
        """Whether a higher value is the better one."""

    @property
    def unit(self) -> str:
        """`share` for a metric that reads `Shares`, else the unit of its `Amount`."""

    def read(self, table: Table, variant: int, tasks: Bools) -> Shares | Amount:
        """Read the trials of a variant (its place in the table) on some tasks, a mask of shape (T,) of tasks planned for it."""
