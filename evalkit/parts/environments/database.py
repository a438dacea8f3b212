"""A SQLite database, fresh for each trial: the world of tools that look up and change records.

Invariant: each trial works on a copy of its own of the same built template; statements can reach nothing but that file.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from evalkit.core.errors import ConfigurationError, MalformedArgs, ToolFailed
from evalkit.core.message import JSON, ToolCall, ToolSpec
from evalkit.core.plan import digest
from evalkit.core.protocols import Ground
from evalkit.parts._sql import FILE, Row

SECONDS = 5.0
STEPS = 10_000
MOST_ROWS = 1000
FORBIDDEN = {getattr(sqlite3, name) for name in ("SQLITE_ATTACH", "SQLITE_DETACH", "SQLITE_PRAGMA")}
FUNCTIONS = ("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database made by the script `schema` (a path) or `sql` (its text), with `rows` of tables added."""

    schema: str | None = None
    sql: str = ""
    rows: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    FILES: ClassVar[tuple[str, ...]] = ("schema",)

    def __post_init__(self) -> None:
        """Refuse a database of nothing."""
        if self.schema is None and not self.sql:
            raise ValueError("give schema, the path of an SQL script, or sql, its text")

    def open(self, ground: Ground) -> DatabaseWorld:
        """Make a fresh database."""
        return DatabaseWorld(self._template(ground.base))

    def _template(self, base: Path) -> bytes:
        """The built database as bytes, built once."""
        script = (base / self.schema).read_text(encoding="utf-8") if self.schema else ""
        rows = tuple((table, tuple(tuple(row.items()) for row in given)) for table, given in self.rows.items())
        return _built(script + "\n" + self.sql, rows)


@lru_cache(maxsize=64)
def _built(script: str, rows: tuple[tuple[str, tuple[tuple[tuple[str, Any], ...], ...]], ...]) -> bytes:
    """Run the script and insert the rows; raises `ConfigurationError` with the database's own words."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(script)
        for table, given in rows:
            for row in given:
                columns = ", ".join(_quoted(name) for name, _ in row)
                marks = ", ".join("?" for _ in row)
                statement = f"insert into {_quoted(table)} ({columns}) values ({marks})"  # noqa: S608  # names are quoted
                connection.execute(statement, [value for _, value in row])
        connection.commit()
        return bytes(connection.serialize())
    except sqlite3.Error as error:
        raise ConfigurationError.of("environment database", f"cannot be built: {error}") from error
    finally:
        connection.close()


def _quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


class DatabaseWorld:
    """One trial's database; its tools are the suite's. It lives in memory until it is exported."""

    def __init__(self, template: bytes) -> None:
        """Begin with a copy of the template."""
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.deserialize(template)
        self._connection.set_authorizer(_allowed)
        self._deadline = 0.0
        self._connection.set_progress_handler(lambda: time.monotonic() > self._deadline, STEPS)
        self._final: bytes | None = None

    def tools(self) -> tuple[ToolSpec, ...]:
        """None of its own."""
        return ()

    def call(self, call: ToolCall) -> str:
        """Refuse: tools come from the suite."""
        raise MalformedArgs(f"there is no tool named {call.name!r}")

    def execute(self, statements: Sequence[str], parameters: Mapping[str, Any]) -> tuple[list[Row], int]:
        """Run statements in one transaction; all of them or none take effect."""
        with self._lock:
            self._deadline = time.monotonic() + SECONDS
            before = self._connection.total_changes
            try:
                self._connection.execute("begin")
                rows: list[Row] = []
                for statement in statements:
                    cursor = self._connection.execute(statement, dict(parameters))
                    names = [column[0] for column in cursor.description or ()]
                    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(MOST_ROWS)]
                self._connection.execute("commit")
            except (sqlite3.Error, OverflowError) as error:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise ToolFailed(f"database: {error}") from error
            return rows, self._connection.total_changes - before

    def state(self) -> JSON:
        """A digest of the whole content."""
        return digest(_dump(self._content()))

    def close(self) -> None:
        """Keep the final content and let go of the database."""
        if self._final is None:
            self._final = self._content()
            self._connection.close()

    def export(self, into: Path) -> None:
        """Write the database as a file."""
        (into / FILE).write_bytes(self._content())

    def _content(self) -> bytes:
        """The database as bytes."""
        if self._final is not None:
            return self._final
        with self._lock:
            return bytes(self._connection.serialize())


def _dump(content: bytes) -> list[str]:
    """The content as SQL, the same for equal contents."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(content)
        return list(connection.iterdump())
    finally:
        connection.close()


def _allowed(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """Deny what reaches beyond the one database."""
    del first, database, trigger
    if action in FORBIDDEN or (action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
