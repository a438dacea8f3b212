"""The final state of the world: rows of a database, files of a workspace."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from evalkit.core.errors import GraderBroke, ToolError
from evalkit.core.message import JSON
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._paths import read
from evalkit.parts._sql import FILE
from evalkit.parts.checks._subject import LARGEST, decided, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Passes where the world ended as it should.

    `query` with `equals`: the rows of a query on the database, in any order unless `ordered`. `files`: each file's exact
    text; `absent`: files that must not be there.
    """

    query: str | None = None
    equals: tuple[tuple[JSON, ...], ...] | None = None
    ordered: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    COST: ClassVar[int] = 3

    def __post_init__(self) -> None:
        """Refuse a check that could not fail, and half a one."""
        if (self.query is None) != (self.equals is None):
            raise ValueError("query and equals go together")
        if self.query is None and not self.files and not self.absent:
            raise ValueError("give query with equals, files or absent: without them it could not fail")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Look at a copy of the state."""
        folder = evidence.copy()
        if self.query is not None and self.equals is not None:
            result = self._rows(folder, self.query, self.equals)
            if result.verdict != "pass":
                return result
        for name, text in self.files.items():
            try:
                found = read(folder, name, LARGEST).decode("utf-8", "replace")
            except ToolError as error:
                return CheckResult(verdict="fail", reason=str(error))
            if found != text:
                return decided(False, wanted=f"{name} as {shown(text)}", found=shown(found))
        for name in self.absent:
            if (folder / name).exists():
                return decided(False, wanted=f"no {name}", found="it")
        return CheckResult(verdict="pass", reason="the state is as it should be")

    def _rows(self, folder: Path, query: str, equals: tuple[tuple[JSON, ...], ...]) -> CheckResult:
        """Compare the rows of a query; raises `GraderBroke` where there is no database or the query cannot be made."""
        file = folder / FILE
        if not file.is_file():
            raise GraderBroke("state: this task's environment has no database to query")
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
                rows = [list(row) for row in connection.execute(query).fetchall()]
        except sqlite3.Error as error:
            raise GraderBroke(f"state: {error}") from error
        wanted: list[list[Any]] = [list(row) for row in equals]
        if not self.ordered:
            rows, wanted = sorted(rows, key=_order), sorted(wanted, key=_order)
        return decided(rows == wanted, wanted=shown(json.dumps(wanted)), found=shown(json.dumps(rows, default=str)))


def _order(row: list[Any]) -> str:
    """Something to sort rows of any types by."""
    return json.dumps(row, default=str)
