"""The one thread that writes: what is handed to it is committed in groups, and each commit is on the disk.

Invariant: an entry stays in memory until it is committed, and entries can be written twice without harm, so an error
(a full disk, a locked file) loses nothing: it is told at the next call, and tried again then and every second.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Any

from evalkit.core.errors import StoreError
from evalkit.store.database import explained, settle
from evalkit.store.disk import fault

LINGER = 0.05
"""Seconds that the first entry of a group waits for others; what a killed process may lose, and run again."""

AGAIN = 1.0
"""Seconds between tries while the disk refuses."""

MOST = 32 * 1024 * 1024
"""Bytes that may wait in memory; more are committed before the call returns."""

BEGIN = "INSERT OR IGNORE INTO attempt(id, key, number, started) VALUES (?, ?, ?, ?)"

END = """
INSERT INTO attempt(id, key, number, started, outcome, stop, usd, seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT(id) DO UPDATE SET outcome=excluded.outcome, stop=excluded.stop, usd=excluded.usd, seconds=excluded.seconds
"""

BODY = "INSERT OR REPLACE INTO body(attempt, schema, head, text) VALUES (?, ?, ?, ?)"

TRIAL = """
INSERT INTO trial(key, attempt, suite, task, variant, trial, task_digest, variant_digest,
  outcome, stop, graded, turns, tokens, usd, seconds, wall, tool_errors, retries)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT(key) DO UPDATE SET attempt=excluded.attempt, outcome=excluded.outcome, stop=excluded.stop, graded=excluded.graded,
  turns=excluded.turns, tokens=excluded.tokens, usd=excluded.usd, seconds=excluded.seconds, wall=excluded.wall,
  tool_errors=excluded.tool_errors, retries=excluded.retries
WHERE trial.outcome = 'error'
"""
"""The first decided record of a trial stays; one that was an error gives way."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Rows that belong together: the start of an attempt, or its end, its body and its trial."""

    begin: Row | None = None
    end: Row | None = None
    body: Row | None = None
    trial: Row | None = None
    size: int = 0


class Writer:
    """Commits entries in the order in which they come; `commits` counts its transactions."""

    def __init__(self, connection: sqlite3.Connection, path: Path, linger: float = LINGER) -> None:
        """Start the thread; the connection is its own from now on. `linger` is how long a group waits for others, in seconds."""
        self.commits = 0
        self._connection = connection
        self._path = path
        self._file = path.stat()
        self._linger = linger
        self._pending: list[Entry] = []
        self._size = 0
        self._taken = 0
        self._settled = 0
        self._tries = 0
        self._busy = False
        self._urgent = False
        self._closing = False
        self._ended = False
        self._fault: StoreError | None = None
        lock = Lock()
        self._work = Condition(lock)
        self._done = Condition(lock)
        self._thread = Thread(target=self._main, name="evalkit-store", daemon=True)
        self._thread.start()

    def add(self, entry: Entry) -> None:
        """Take an entry; returns at once unless the disk refuses (then it is asked again, and a `StoreError` says so) or much waits."""
        with self._work:
            if self._closing:
                raise fault(self._path, "the run's store is closed")
            self._pending.append(entry)
            self._size += entry.size
            self._taken += 1
            if len(self._pending) == 1:
                self._work.notify()
            pressed = self._fault is not None or self._ended or self._size > MOST
        if pressed:
            self.flush()

    def flush(self) -> None:
        """Return when all that was taken is on the disk; raises `StoreError` where the disk still refuses, and keeps what waits."""
        with self._work:
            target, tries = self._taken, self._tries + (2 if self._busy else 1)
            if self._settled < target:
                self._urgent = True
                self._work.notify()
            self._done.wait_for(
                lambda: self._settled >= target or self._ended or (self._fault is not None and self._tries >= tries)
            )
            if self._fault is not None:
                raise StoreError(f"{self._fault}; {self._waiting()} wait in memory and are tried again")
            if self._settled < target:
                raise fault(self._path, f"the writer has ended before its time; {self._waiting()} were not written")

    def close(self) -> None:
        """Commit what waits, and end; raises `StoreError` where something could not be written and is lost now."""
        problem = ""
        try:
            self.flush()
        except StoreError as error:
            problem = str(self._fault or error)
        finally:
            with self._work:
                self._closing = self._urgent = True
                self._work.notify()
            self._thread.join()
            settle(self._connection)
        if self._pending:
            raise StoreError(f"{problem}; {self._waiting()} could not be written: those trials will be run again")

    def _waiting(self) -> str:
        """Say how much is not on the disk."""
        records = sum(1 for entry in self._pending if entry.body is not None)
        return f"{records} records and {len(self._pending) - records} starts of trials"

    def _main(self) -> None:
        """Commit group after group."""
        try:
            while (group := self._next()) is not None:
                self._commit(group)
        finally:
            with self._done:
                self._ended = True
                self._done.notify_all()

    def _next(self) -> list[Entry] | None:
        """Wait for entries and let others join them; None when there is nothing more to do."""
        with self._work:
            while not self._pending:
                if self._closing:
                    return None
                self._work.wait()
            self._work.wait_for(lambda: self._urgent, self._linger if self._fault is None else AGAIN)
            self._urgent = False
            if self._closing and self._fault is not None:
                return None
            group, self._pending = self._pending, []
            self._busy = True
            return group

    def _commit(self, entries: list[Entry]) -> None:
        """Commit entries together; where the disk refused the last time, each by itself, so that whatever fits gets in."""
        groups = [entries] if self._fault is None else [[entry] for entry in entries]
        left: list[Entry] = []
        problem: StoreError | None = None
        for number, group in enumerate(groups):
            if not self._there():
                problem = fault(self._path, "was removed while the run went on", "begin the run anew")
                left += [entry for later in groups[number:] for entry in later]
                break
            try:
                self._write(group)
            except sqlite3.Error as error:
                problem = explained(error, self._path)
                left += group
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    left += [entry for later in groups[number + 1 :] for entry in later]
                    break
        with self._done:
            self._pending = left + self._pending
            self._size = sum(entry.size for entry in self._pending)
            self._settled += len(entries) - len(left)
            self._fault = problem
            self._tries += 1
            self._busy = False
            self._done.notify_all()

    def _there(self) -> bool:
        """True while the database is where it was opened: one that was deleted takes records that nobody will ever read."""
        try:
            return os.path.samestat(self._file, self._path.stat())
        except OSError:
            return False

    def _write(self, group: Sequence[Entry]) -> None:
        """Write entries in one transaction."""
        run = self._connection
        run.execute("BEGIN IMMEDIATE")
        try:
            run.executemany(BEGIN, [entry.begin for entry in group if entry.begin is not None])
            run.executemany(END, [entry.end for entry in group if entry.end is not None])
            run.executemany(BODY, [entry.body for entry in group if entry.body is not None])
            run.executemany(TRIAL, [entry.trial for entry in group if entry.trial is not None])
            run.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                run.execute("ROLLBACK")
            raise
        self.commits += 1
