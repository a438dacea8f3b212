"""pass^k, the answer to "can it be relied on?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from evalkit.measure.arrays import Bools
from evalkit.measure.metric import Shares
from evalkit.measure.metrics._attempts import attempts, read_k
from evalkit.measure.table import Table


@dataclass(frozen=True, slots=True)
class PassHat:
    """The mean over tasks of C(c, k) / C(n, k): the share of k-subsets of a task's n trials in which all passed.

    It estimates the chance that k fresh attempts at a task all succeed. Yao et al. 2024 (arXiv 2406.12045).
    """

    k: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `pass^K`."""
        k = read_k(text, "pass^")
        return None if k is None else cls(k)

    @classmethod
    def forms(cls) -> tuple[str, ...]:
        """Examples."""
        return ("pass^8",)

    @property
    def text(self) -> str:
        """How people write it."""
        return f"pass^{self.k}"

    @property
    def more_is_better(self) -> bool:
        """A higher pass^k is better."""
        return True

    @property
    def unit(self) -> str:
        """A mean of shares."""
        return "share"

    def read(self, table: Table, variant: int, tasks: Bools) -> Shares:
        """A passed trial is a hit; one in error or missing is unknown."""
        return attempts(table, variant, tasks, k=self.k, any_of_k=False)
