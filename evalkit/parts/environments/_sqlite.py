"""A SQLite connection that statements of a trial can be let loose on.

Invariant: what is not allowed is refused by SQLite itself when a statement is compiled: another file (ATTACH, VACUUM INTO), a setting
(PRAGMA), an extension, a transaction of one's own, and any change where only reading was asked for. Nothing that was compiled is
kept, so a permission never outlives its call.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from threading import RLock

from evalkit.core.clock import SystemClock
from evalkit.core.errors import ToolFailed
from evalkit.core.message import JSON
from evalkit.parts._sql import Answer

MOST_ROWS = 1_000
MOST_TEXT = 100_000
MOST_PAGES = 65_536
"""The size that a database may grow to, in pages: 256 MB with pages of the usual 4 kB."""

LONGEST_VALUE = 16_000_000
"""The longest text, blob or row, in bytes; a function cannot make a longer one, however it is called."""

STEPS = 10_000
LOOKS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
"""Pragmas that only tell how tables are made."""

READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
NEVER = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT}
FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}


def quoted(name: str) -> str:
    """Write a name so that SQL takes it as one."""
    return '"' + name.replace('"', '""') + '"'


def connect(data: bytes) -> sqlite3.Connection:
    """Open a database in memory from the bytes of its file."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=0)
    connection.deserialize(data)
    return connection


class Guarded:
    """A database of one trial; one thread uses it at a time."""

    def __init__(self, data: bytes, seconds: float) -> None:
        """Open it and set the guards."""
        self._clock = SystemClock()
        self._seconds = seconds
        self._until = math.inf
        self._may_write = False
        self._is_ours = True
        self._lock = RLock()
        self._kept: bytes | None = None
        self._connection = connect(data)
        self._connection.execute("pragma foreign_keys = on")
        self._connection.execute(f"pragma max_page_count = {MOST_PAGES}")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._connection.set_authorizer(self._allow)
        self._connection.set_progress_handler(self._is_over, STEPS)
        self._is_ours = False

    def execute(
        self, statements: Sequence[str], parameters: Mapping[str, JSON], *, write: bool, unchanged: str | None
    ) -> Answer:
        """Run statements in one transaction; see `parts._sql.SupportsSql`."""
        with self._lock:
            if self._kept is not None:
                raise ToolFailed("the database is closed")
            self._may_write, self._until = write, self._clock.monotonic() + self._seconds
            self._own("begin")
            done = False
            try:
                answer = self._all(statements, parameters, unchanged)
                self._own("commit")
                done = True
            except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
                raise ToolFailed(self._words(error)) from error
            finally:
                self._until, self._may_write = math.inf, False
                if not done and self._connection.in_transaction:
                    self._own("rollback")
            return answer

    def bytes(self) -> bytes:
        """The database as the bytes of its file."""
        with self._lock:
            return self._connection.serialize() if self._kept is None else self._kept

    def close(self) -> None:
        """Keep the bytes, and take no more statements."""
        with self._lock:
            if self._kept is None:
                self._kept = self._connection.serialize()
                self._connection.close()

    def _all(self, statements: Sequence[str], parameters: Mapping[str, JSON], unchanged: str | None) -> Answer:
        """Run each statement; keep the rows of the last one that gives any."""
        rows: tuple[dict[str, JSON], ...] = ()
        changed, more = 0, False
        for statement in statements:
            cursor = self._connection.execute(statement, parameters)
            if cursor.description is not None:
                rows, more = _rows(cursor)
            if cursor.rowcount == 0 and self._may_write and unchanged is not None:
                raise ToolFailed(unchanged)
            changed += max(0, cursor.rowcount)  # -1 where a statement changes no rows by its nature
        return Answer(rows=rows, changed=changed, more=more)

    def _own(self, statement: str) -> None:
        """Run a statement of our own, past the guard."""
        self._is_ours = True
        try:
            self._connection.execute(statement)
        finally:
            self._is_ours = False

    def _allow(self, action: int, first: str | None, second: str | None, *where: str | None) -> int:
        """Answer SQLite's question whether a statement may do something."""
        if self._is_ours or action in READS:
            return sqlite3.SQLITE_OK
        if action in NEVER:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if (second or "").lower() in FUNCTIONS else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if (first or "").lower() in LOOKS else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if self._may_write else sqlite3.SQLITE_DENY

    def _is_over(self) -> bool:
        """True where the time of a call is up: SQLite then ends its statement."""
        return self._clock.monotonic() > self._until

    def _words(self, error: Exception) -> str:
        """Put what SQLite says into words that tell what to do."""
        text = str(error)
        if text == "interrupted":
            return f"the statement took longer than {self._seconds:g} seconds and was undone; ask for less"
        if text == "not authorized":
            return "this statement is not allowed here: " + (
                "no other file, setting, extension or transaction of its own"
                if self._may_write
                else "it may only read, and no other file or setting"
            )
        return f"the database refused: {text}"


def _rows(cursor: sqlite3.Cursor) -> tuple[tuple[dict[str, JSON], ...], bool]:
    """Take a bounded number of rows, columns by name; a name that comes again gets a number."""
    names: list[str] = []
    for name, *_ in cursor.description:
        again = sum(known == name or known.startswith(f"{name}:") for known in names)
        names.append(f"{name}:{again}" if again else name)
    rows: list[dict[str, JSON]] = []
    size = 0
    for row in cursor:
        size += sum(len(cell) if isinstance(cell, (str, bytes)) else 8 for cell in row)
        if len(rows) == MOST_ROWS or (rows and size > MOST_TEXT):
            return tuple(rows), True
        rows.append(dict(zip(names, map(_cell, row), strict=True)))
    return tuple(rows), False


def _cell(value: object) -> JSON:
    """Write a value as JSON: bytes in hexadecimal, an infinite number as text."""
    if isinstance(value, bytes):
        return f"x'{value[: MOST_TEXT // 2].hex()}'"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
