"""What reliability costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from evalkit.measure.arrays import Bools
from evalkit.measure.metric import Amount
from evalkit.measure.metrics.pass_hat import PassHat
from evalkit.measure.table import Table


@dataclass(frozen=True, slots=True)
class UsdPerReliableSuccess:
    """Dollars spent for each task that succeeds k times out of k: k u / pass^k.

    u is the mean over tasks of the mean dollars of a task's trial, k the smallest number of trials that any task has. Numerator
    and denominator are what k attempts at an average task cost, and the chance that all of them succeed; with
    equal trials it is simply all dollars over the number of tasks that passed every time. (Price per success at k = 1 is
    the cost-of-pass of Erol et al. 2025, arXiv 2504.13359.) As k is in it, compare it only between variants of the same n.
    Undefined where pass^k is 0 or undefined, or where any trial's price is unknown. A ratio: it has no interval here.
    """

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `usd_per_reliable_success`."""
        return cls() if text == "usd_per_reliable_success" else None

    @classmethod
    def forms(cls) -> tuple[str, ...]:
        """Examples."""
        return ("usd_per_reliable_success",)

    @property
    def text(self) -> str:
        """How people write it."""
        return "usd_per_reliable_success"

    @property
    def more_is_better(self) -> bool:
        """Fewer dollars are better."""
        return False

    @property
    def unit(self) -> str:
        """Dollars."""
        return "dollars"

    def read(self, table: Table, variant: int, tasks: Bools) -> Amount:
        """Price the variant on some tasks, each with trials planned."""
        trials = table.planned[tasks, variant]
        if trials.size == 0:
            return Amount(value=None, why="no task is planned")
        k = int(trials.min())
        shares = PassHat(k).read(table, variant, tasks)
        if shares.open.any():
            lost = int(shares.unknown.sum())
            return Amount(value=None, why=f"{lost} of {int(trials.sum())} trials are missing or in error")
        skipped = int(table.skipped[tasks, variant].sum())
        if skipped:
            return Amount(
                value=None,
                why=f"{skipped} of {int(trials.sum())} trials were skipped, and what they had cost is unknown",
            )
        rows = (table.variant == variant) & tasks[table.task]
        unpriced = int(np.isnan(table.usd[rows]).sum())
        if unpriced:
            return Amount(value=None, why=f"the price of {unpriced} of {int(rows.sum())} trials is unknown")
        reliable = float(shares.values.mean())
        if reliable == 0.0:
            return Amount(value=None, why=f"no task passed {k} of {k} times")
        spent = np.bincount(table.task[rows], weights=table.usd[rows], minlength=len(table.tasks))[tasks]
        return Amount(value=k * float((spent / trials).mean()) / reliable)
