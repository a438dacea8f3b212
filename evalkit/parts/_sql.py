"""The seam between SQL tools, the state check and an environment with a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

FILE = "database.sqlite"
"""Name of the database in what a database environment exports."""

Row = dict[str, Any]


@runtime_checkable
class SupportsSql(Protocol):
    """An environment that SQL tools can be used in."""

    def execute(self, statements: Sequence[str], parameters: Mapping[str, Any]) -> tuple[list[Row], int]:
        """Run statements in one transaction; give the rows of the last and how many rows were changed in all.

        Raises `ToolFailed` with the database's own words.
        """
