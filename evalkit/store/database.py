"""`trials.sqlite`: its tables, how it is opened, and what is the matter with it where it cannot be.

Invariant: the file is touched through SQLite alone (opening and closing it otherwise would drop SQLite's own locks), and a
finished run is this one file: the write-ahead log lives only while a run is being written or after it was killed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from evalkit.core.errors import StoreError
from evalkit.store.disk import fault, make_file, network_type, told

FILE = "trials.sqlite"
SCHEMA = 1
APPLICATION = 0x65766B74
"""`evkt` in ASCII: tells a store from any other SQLite file."""

PAGE = 8192
"""Bytes of a page: with small traces two fifths of the space and a third of the time that pages of 4096 take."""

BUSY = 30.0
"""Seconds to wait for another program that holds the database."""

TABLES = """
CREATE TABLE attempt(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL, number INTEGER NOT NULL, started REAL NOT NULL,
  outcome TEXT, stop TEXT, usd REAL, seconds REAL);
CREATE TABLE body(
  attempt INTEGER PRIMARY KEY, schema INTEGER NOT NULL, head INTEGER NOT NULL, text BLOB NOT NULL);
CREATE TABLE trial(
  key TEXT PRIMARY KEY, attempt INTEGER NOT NULL,
  suite TEXT NOT NULL, task TEXT NOT NULL, variant TEXT NOT NULL, trial INTEGER NOT NULL,
  task_digest TEXT NOT NULL, variant_digest TEXT NOT NULL,
  outcome TEXT NOT NULL, stop TEXT NOT NULL, graded TEXT, turns INTEGER NOT NULL, tokens INTEGER NOT NULL, usd REAL,
  seconds REAL, wall REAL, tool_errors INTEGER NOT NULL, retries INTEGER NOT NULL) WITHOUT ROWID;
"""
"""An `attempt` is a start; its `body` is what it gave; a `trial` is the attempt that counts, with what is asked of most often."""


def create(folder: Path) -> sqlite3.Connection:
    """Make the database of a new run, or take the one that an earlier making left without a single attempt."""
    path = folder / FILE
    make_file(path)
    with ExitStack() as undo, reported(path):
        connection = _connect(path, "rw")
        undo.callback(connection.close)
        connection.execute(f"PRAGMA page_size={PAGE}")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for table in filter(str.strip, TABLES.split(";")):
                connection.execute(table)
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={SCHEMA}")
        connection.execute("COMMIT")
        _check(connection, path)
        if connection.execute("SELECT count(*) FROM attempt").fetchone()[0]:
            raise fault(
                folder, "holds trials, but its run.json is missing", "restore it from a copy, or choose another folder"
            )
        _prepare(connection)
        undo.pop_all()
        return connection


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """Open the database of a run that goes on; what was committed before a crash is there."""
    path = folder / FILE
    if not path.is_file():
        what = "is no file" if path.exists() else "is missing"
        raise fault(folder, f"its {FILE} {what}", "restore it from a copy, or choose another folder")
    with ExitStack() as undo, reported(path):
        connection = _connect(path, "rw")
        undo.callback(connection.close)
        _check(connection, path)
        _prepare(connection)
        undo.pop_all()
        return connection


def open_for_reading(folder: Path) -> tuple[sqlite3.Connection, Callable[[], None]]:
    """Open a database that may be written by another process, or lie where nothing can be written; also gives how to close it.

    Where a killed run left a write-ahead log that cannot be read in place, a private copy is read instead.
    """
    path = folder / FILE
    with told(path, "cannot be opened", "see the permissions of the folder and its files"):
        if not path.is_file():
            what = "is no file" if path.exists() else "is missing"
            raise fault(folder, f"its {FILE} {what}", "restore it from a copy of the run")
    with ExitStack() as undo, reported(path):
        settled = _size(Path(f"{path}-wal")) == 0
        if os.access(folder, os.W_OK) and network_type(folder) is None:
            connection = _connect(path, "ro")
        elif settled:
            connection = _connect(path, "ro&immutable=1")
        else:
            copy = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="evalkit-")))
            with told(path, "cannot be copied for reading"):
                for name in (FILE, f"{FILE}-wal"):
                    shutil.copyfile(folder / name, copy / name)
            connection = _connect(copy / FILE, "rw")
        undo.callback(connection.close)
        _check(connection, path)
        return connection, undo.pop_all().close


def settle(connection: sqlite3.Connection) -> None:
    """Close a connection that wrote; where nobody else reads, the log is folded into the file, so that the file is the run."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn an error of SQLite in the block into a `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from error


def explained(error: sqlite3.Error, path: Path) -> StoreError:
    """Say what an error of SQLite means for a person."""
    name = str(getattr(error, "sqlite_errorname", "")) or type(error).__name__
    for start, (what, mend) in _MEANINGS.items():
        if name.startswith(start):
            return fault(path, f"{what} ({error})", mend)
    return fault(path, f"{error} [{name}]", "see that the folder is whole and can be written to")


_DAMAGED = ("is damaged", "restore the folder from a copy, or start a new one; `sqlite3 FILE .recover` may save a part")

_MEANINGS = {
    "SQLITE_FULL": ("the disk is full", "free some space and run the same command again"),
    "SQLITE_IOERR": (
        "the disk refuses to read or write",
        "see that it has room and is sound, then run the same command again",
    ),
    "SQLITE_BUSY": ("another program holds the database", "close it, then run the same command again"),
    "SQLITE_LOCKED": ("another program holds the database", "close it, then run the same command again"),
    "SQLITE_READONLY": ("cannot be written to", "see the permissions of the folder and its files"),
    "SQLITE_CANTOPEN": ("cannot be opened", "see the permissions of the folder and its files"),
    "SQLITE_PERM": ("cannot be opened", "see the permissions of the folder and its files"),
    "SQLITE_NOTADB": ("is no SQLite database", "name the folder of a run"),
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_TOOBIG": ("a record is too large to be kept", "bound the output of the tools"),
}


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to a database that exists; transactions are begun and ended by hand, threads are kept apart by the callers."""
    name = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(name, uri=True, timeout=BUSY, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Make commits durable: each is on the disk before it returns."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no store, one of a newer evalkit, or a damaged one."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION:
        raise fault(
            path,
            "was not made by evalkit, or was cut off while being made",
            "name the folder of a run, or start a new one",
        )
    schema = connection.execute("PRAGMA user_version").fetchone()[0]
    if schema not in UPGRADES:
        known = ", ".join(map(str, UPGRADES))
        raise fault(
            path,
            f"has the schema number {schema}, this evalkit reads {known}",
            "use the evalkit that wrote it, or a newer one",
        )
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise fault(path, f"{_DAMAGED[0]}: {found}", _DAMAGED[1])
    UPGRADES[schema](connection)


def _size(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


UPGRADES: dict[int, Callable[[sqlite3.Connection], None]] = {SCHEMA: lambda connection: None}  # noqa: ARG005  # today's tables need no change
"""For each schema number of the tables that can be read: what makes today's tables of them, as temporary views where they differ."""
