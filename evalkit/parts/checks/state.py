"""The final state of the world: rows of a database, files of a workspace."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from evalkit.core.clock import SystemClock
from evalkit.core.errors import GraderBroke, ToolError
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._paths import folder_at, read, steps
from evalkit.parts._sql import FILE
from evalkit.parts._template import CACHES, lay
from evalkit.parts._tree import digests
from evalkit.parts.checks._subject import MOST_BYTES, failed, passed, shown

SECONDS = 10.0
STEPS = 100_000
MOST_ROWS = 10_000

Cell = str | int | float | bool | None
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Passes where the world ended as it should.

    `query` with `equals`: the rows of a query on the database, in any order unless `ordered`; numbers are compared to nine digits.
    `files`: each file's exact text. `absent`: what must not be there. `unchanged`: files or folders that have to be as the workspace
    started, with nothing added to a folder and nothing taken away (Python's caches count not).
    """

    query: str | None = None
    equals: tuple[Row, ...] | None = None
    ordered: bool = False
    files: dict[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    COST: ClassVar[int] = 3

    def __post_init__(self) -> None:
        """Refuse a check that could not fail, half a one, and paths that lead nowhere."""
        if (self.query is None) != (self.equals is None):
            raise ValueError("query and equals go together")
        if self.query is None and not (self.files or self.absent or self.unchanged):
            raise ValueError("give query with equals, files, absent or unchanged: without them it could not fail")
        for path in (*self.files, *self.absent, *self.unchanged):
            try:
                steps(path)
            except ToolError as error:
                raise ValueError(str(error)) from None

    def judge(self, evidence: Evidence) -> CheckResult:
        """Look at a copy of the state; the first thing that is not as it should be decides."""
        folder = evidence.copy()
        if self.query is not None and self.equals is not None:
            fault = _rows_fault(folder / FILE, self.query, self.equals, ordered=self.ordered)
            if fault is not None:
                return fault
        for path, text in self.files.items():
            fault = _text_fault(folder, path, text)
            if fault is not None:
                return fault
        for path in self.absent:
            if _is_there(folder, path):
                return failed(wanted=f"no {path}", found="it there")
        return self._compare(evidence, folder) if self.unchanged else passed("the state is as it should be")

    def _compare(self, evidence: Evidence, folder: Path) -> CheckResult:
        """Compare with what the workspace started from."""
        start = evidence.task.environment
        if start.kind != "workspace":
            raise GraderBroke(f"state: unchanged needs a workspace, and this task's environment is {start.kind}")
        with tempfile.TemporaryDirectory(prefix="evalkit-state-") as original:
            options = start.options
            lay(Path(evidence.task.base), options.get("folder"), options.get("files", {}), Path(original))
            before, after = digests(Path(original)), digests(folder)
        for path in self.unchanged:
            name = "/".join(steps(path))
            then, now = _below(before, name), _below(after, name)
            if not then:
                raise GraderBroke(f"state: unchanged names {path}, which the workspace did not start with")
            changed = sorted(one for one in then.keys() | now.keys() if then.get(one) != now.get(one))
            if changed:
                return failed(wanted=f"{path} as it was", found=f"changes in {', '.join(changed[:10])}")
        return passed("the state is as it should be")


def _below(all_of_it: dict[str, str], name: str) -> dict[str, str]:
    """The file of a name, or the files in the folder of that name."""
    return {
        path: digest
        for path, digest in all_of_it.items()
        if (not name or path == name or path.startswith(f"{name}/")) and CACHES.isdisjoint(path.split("/"))
    }


def _text_fault(folder: Path, path: str, text: str) -> CheckResult | None:
    """Compare a file's text."""
    try:
        found = read(folder, path, MOST_BYTES).decode("utf-8", "replace")
    except ToolError as error:
        return CheckResult(verdict="fail", reason=str(error))
    return None if found == text else failed(wanted=f"{path} as {shown(text)}", found=shown(found))


def _is_there(folder: Path, path: str) -> bool:
    """True where anything has a path, also a link that leads nowhere."""
    *above, name = steps(path) or (".",)
    try:
        with folder_at(folder, tuple(above)) as parent:
            return name == "." or name in os.listdir(parent)  # noqa: PTH208  # pathlib knows no folder handles
    except ToolError:
        return False


def _rows_fault(file: Path, query: str, wanted: tuple[Row, ...], *, ordered: bool) -> CheckResult | None:
    """Compare the rows of a query; raises `GraderBroke` where there is no database or the query cannot be made."""
    if not file.is_file():
        raise GraderBroke("state: this task's environment has no database to query")
    clock = SystemClock()
    until = clock.monotonic() + SECONDS
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.set_progress_handler(lambda: clock.monotonic() > until, STEPS)
            rows = connection.execute(query).fetchmany(MOST_ROWS)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise GraderBroke(f"state: the query cannot be made: {error}") from error
    found, expected = [tuple(map(_plain, row)) for row in rows], [tuple(map(_plain, row)) for row in wanted]
    if found == expected or (not ordered and sorted(found, key=repr) == sorted(expected, key=repr)):
        return None
    return failed(wanted=_written(list(wanted)), found=_written(rows))


def _plain(cell: object) -> tuple[str, object]:
    """A value as it is compared: a number to nine digits, true and false as SQLite keeps them."""
    if isinstance(cell, float):
        return ("number", str(int(cell)) if cell.is_integer() else f"{cell:.9g}")
    if isinstance(cell, int):
        return ("number", str(int(cell)))
    return ("other", cell)


def _written(rows: list[Row]) -> str:
    """Write rows for a reason."""
    return shown(json.dumps(rows, default=repr, ensure_ascii=False), 600)
