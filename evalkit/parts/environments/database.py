"""A small SQLite database, fresh for each trial, in memory until a grader wants its file.

Invariant: every trial starts from the same bytes, built once from the schema and the rows. Statements of a trial reach this database
alone: no other file, no setting, no extension, and for a bounded time.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Annotated, ClassVar

from annotated_types import Gt

from evalkit.core.errors import ConfigurationError, MalformedArgs
from evalkit.core.message import JSON, ToolCall, ToolSpec
from evalkit.core.protocols import Ground
from evalkit.parts._duration import Duration
from evalkit.parts._sql import FILE, Answer
from evalkit.parts.environments._sqlite import Guarded, connect, quoted

BUILT = 512

Cell = str | int | float | bool | None
Row = tuple[Cell, ...] | dict[str, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An environment of tables; the suite declares the tools that use it.

    `schema` is a file of SQL, `sql` the same written in the suite, `rows` are put into the tables after both: a row is a list in the
    order of the columns, or a mapping of columns. `timeout` ends statements that take longer.
    """

    FILES: ClassVar[tuple[str, ...]] = ("schema",)

    schema: str | None = None
    sql: str = ""
    rows: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    timeout: Annotated[Duration, Gt(0)] = 5.0

    def __post_init__(self) -> None:
        """Refuse a database without tables."""
        if self.schema is None and not self.sql.strip():
            raise ValueError(
                "a database wants its tables: give schema: FILE.sql, or sql: with the statements themselves"
            )

    def announce(self) -> Mapping[str, JSON]:
        """No tool: the suite's own use it."""
        return {}

    def open(self, ground: Ground) -> DatabaseWorld:
        """Start from the built bytes."""
        return DatabaseWorld(Guarded(template(self, ground.base), self.timeout))


@dataclass(slots=True)
class DatabaseWorld:
    """The database of one trial; after `close` its last state stays as bytes."""

    guarded: Guarded

    def tools(self) -> tuple[ToolSpec, ...]:
        """None: the suite's own tools use it."""
        return ()

    def call(self, call: ToolCall) -> str:
        """Refuse: the database offers no tool by itself."""
        raise MalformedArgs(f"there is no tool named {call.name!r}")

    def execute(
        self,
        *statements: str,
        parameters: Mapping[str, JSON] | None = None,
        write: bool = False,
        unchanged: str | None = None,
    ) -> Answer:
        """Run statements in one transaction (`parts._sql.SupportsSql`)."""
        return self.guarded.execute(statements, parameters or {}, write=write, unchanged=unchanged)

    def state(self) -> JSON:
        """Each table by the number of its rows and a digest of their values, in whatever order they lie."""
        return contents(self.guarded.bytes())

    def close(self) -> None:
        """Take no more statements."""
        self.guarded.close()

    def export(self, into: Path) -> None:
        """Write the database as a file."""
        (into / FILE).write_bytes(self.guarded.bytes())


def contents(data: bytes) -> dict[str, JSON]:
    """Tell a database's tables by what they hold."""
    connection = connect(data)
    try:
        listed = connection.execute("select name, sql from sqlite_schema order by name, type").fetchall()
        tables = connection.execute("select name from sqlite_schema where type = 'table' order by name").fetchall()
        told: dict[str, JSON] = {"schema": _hash(listed)}
        told["tables"] = {
            name: _table(connection.execute(f"select * from {quoted(name)}").fetchall())  # noqa: S608  # the name is quoted
            for (name,) in tables
        }
    finally:
        connection.close()
    return told


def _table(rows: list[tuple[object, ...]]) -> dict[str, JSON]:
    """Tell one table."""
    return {"rows": len(rows), "sha256": _hash(sorted(map(repr, rows)))}


def _hash(value: object) -> str:
    """Hash what a value looks like."""
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


_built: dict[tuple[int, Path], tuple[Database, bytes]] = {}
_lock = RLock()


def template(part: Database, base: Path) -> bytes:
    """The bytes that a part's databases start from, built once; raises `ConfigurationError` where its SQL or rows are wrong.

    The part is kept beside its bytes, so that its number stays its own.
    """
    key = (id(part), base)
    found = _built.get(key)
    if found is None:
        with _lock:
            if len(_built) >= BUILT:
                _built.clear()
            found = _built[key] = (part, _build(part, base))
    return found[1]


def _build(part: Database, base: Path) -> bytes:
    """Build a database from its schema and rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    place = "database: schema"
    try:
        if part.schema is not None:
            place = f"database: {part.schema}"
            connection.executescript((base / part.schema).read_text(encoding="utf-8"))
        place = "database: sql"
        connection.executescript(part.sql)
        for table, rows in part.rows.items():
            for number, row in enumerate(rows, 1):
                place = f"database: rows of {table}, row {number}"
                _insert(connection, table, row)
        place = "database: rows"
        broken = connection.execute("pragma foreign_key_check").fetchone()
        if broken is not None:
            raise ConfigurationError.of(place, f"a row of {broken[0]} points to a row of {broken[2]} that is not there")
        connection.execute("vacuum")
        return connection.serialize()
    except (sqlite3.Error, OSError, UnicodeError, OverflowError) as error:
        raise ConfigurationError.of(place, str(error)) from error
    finally:
        connection.close()


def _insert(connection: sqlite3.Connection, table: str, row: Row) -> None:
    """Put one row into a table."""
    columns = f" ({', '.join(map(quoted, row))})" if isinstance(row, dict) else ""
    values = tuple(row.values()) if isinstance(row, dict) else row
    marks = ", ".join("?" * len(values))
    connection.execute(f"insert into {quoted(table)}{columns} values ({marks})", values)  # noqa: S608  # all names are quoted
