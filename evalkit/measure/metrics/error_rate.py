"""How often our own world broke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from evalkit.measure.arrays import Bools
from evalkit.measure.metric import Shares
from evalkit.measure.table import Table


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """The mean over tasks of the share of a task's trials whose outcome is an error, so that they say nothing of the agent."""

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `error_rate`."""
        return cls() if text == "error_rate" else None

    @classmethod
    def forms(cls) -> tuple[str, ...]:
        """Examples."""
        return ("error_rate",)

    @property
    def text(self) -> str:
        """How people write it."""
        return "error_rate"

    @property
    def more_is_better(self) -> bool:
        """Fewer errors are better."""
        return False

    @property
    def unit(self) -> str:
        """A mean of shares."""
        return "share"

    def read(self, table: Table, variant: int, tasks: Bools) -> Shares:
        """A trial in error is a hit; a missing one is unknown."""
        return Shares(
            trials=table.planned[tasks, variant],
            hits=table.errors[tasks, variant],
            unknown=table.missing[tasks, variant],
        )
