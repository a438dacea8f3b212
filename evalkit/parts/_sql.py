"""What a tool or a check may ask of an environment that holds a database.

Invariant: statements given together are one transaction: all of them happen, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from evalkit.core.message import JSON

FILE = "database.sqlite"
"""The name of the database in what its environment exports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What statements gave: the rows of the last one that gives any (columns by name), and how many rows all of them changed.

    `more` says that there were more rows than are shown.
    """

    rows: tuple[dict[str, JSON], ...] = ()
    changed: int = 0
    more: bool = False


@runtime_checkable
class SupportsSql(Protocol):
    """An environment that understands SQL."""

    def execute(
        self,
        *statements: str,
        parameters: Mapping[str, JSON] | None = None,
        write: bool = False,
        unchanged: str | None = None,
    ) -> Answer:
        """Run statements with `:named` parameters in one transaction; without `write` they may only read.

        Where `unchanged` is given, a writing statement that changes no row undoes all of them and raises `ToolFailed` with that text.
        Raises `ToolFailed` for whatever the database refuses.
        """
