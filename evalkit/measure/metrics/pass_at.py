"""pass@k, the answer to "can it do it at all?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from evalkit.measure.arrays import Bools
from evalkit.measure.metric import Shares
from evalkit.measure.metrics._attempts import attempts, read_k
from evalkit.measure.table import Table


@dataclass(frozen=True, slots=True)
class PassAt:
    """The mean over tasks of 1 - C(n - c, k) / C(n, k): the share of k-subsets of a task's n trials with a pass among them.

    It estimates the chance that of k fresh attempts at a task at least one succeeds; pass@1 is the plain pass
    rate, each task weighing the same. Chen et al. 2021 (arXiv 2107.03374).
    """

    k: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `pass@K`."""
        k = read_k(text, "pass@")
        return None if k is None else cls(k)

    @classmethod
    def forms(cls) -> tuple[str, ...]:
        """Examples."""
        return ("pass@1",)

    @property
    def text(self) -> str:
        """How people write it."""
        return f"pass@{self.k}"

    @property
    def more_is_better(self) -> bool:
        """A higher pass@k is better."""
        return True

    @property
    def unit(self) -> str:
        """A mean of shares."""
        return "share"

    def read(self, table: Table, variant: int, tasks: Bools) -> Shares:
        """A passed trial is a hit; one in error or missing is unknown."""
        return attempts(table, variant, tasks, k=self.k, any_of_k=True)
