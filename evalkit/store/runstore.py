"""A run on disk: keeps what was played, tells what is done, reads it back.

Invariant: there is one writer, and it holds the folder's lock. `keep` and `begin` return before their rows are on the disk;
`done`, and everything else that reads, waits for them first and tells of committed rows only.
"""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock as Mutex
from types import TracebackType
from typing import Self

from evalkit.core.clock import Clock, SystemClock
from evalkit.core.plan import Trial
from evalkit.core.record import Counter, Tally, TrialRecord
from evalkit.store import database, manifest, reading
from evalkit.store.codec import Encoded, encode
from evalkit.store.disk import fault, make_folder, refuse_network
from evalkit.store.lock import Lock, held
from evalkit.store.manifest import Manifest
from evalkit.store.reading import UNKNOWN, Bookkeeping, Columns, Started
from evalkit.store.redact import Redactor
from evalkit.store.writer import Entry, Row, Writer

ABANDON = "UPDATE attempt SET outcome = 'abandoned' WHERE outcome IS NULL"
COUNTS = "SELECT id, number FROM trial JOIN attempt ON attempt.id = trial.attempt WHERE trial.key = ?"
LARGEST = 2**63 - 1


class RunStore:
    """The store of one run; made by `create` or `open`, ended by `close` or as a context manager. Any thread may call it."""

    def __init__(self, folder: Path, run: Manifest, clock: Clock, environ: Mapping[str, str]) -> None:
        """Hold what is common to reading and writing; use `create` or `open`."""
        self.folder = folder
        self._path = folder / database.FILE
        self.manifest = run
        self._clock = clock
        self._environ = environ
        self._writer: Writer | None = None
        self._lock: Lock | None = None
        self._reader: sqlite3.Connection | None = None
        self._close_reader: Callable[[], None] = _nothing
        self._mutex = Mutex()
        self._open: defaultdict[tuple[str, int], deque[int]] = defaultdict(deque)
        self._attempt = 0
        self._closed = False

    @cached_property
    def _redactor(self) -> Redactor:
        """What hides secrets in all that is written; a reader has no use of it."""
        return Redactor.of(self._environ, self.manifest.names, self.manifest.key_variables)

    @classmethod
    def create(
        cls, folder: Path, run: Manifest, *, clock: Clock | None = None, environ: Mapping[str, str] = os.environ
    ) -> RunStore:
        """Make a new run in a folder of its own; raises `StoreError` where there is one already or it cannot be written."""
        make_folder(folder)
        refuse_network(folder)
        store = cls(folder, run, clock or SystemClock(), environ)
        with ExitStack() as undo:
            store._lock = Lock.take(folder, store._clock)
            undo.callback(store._lock.release)
            if (folder / manifest.FILE).exists():
                raise fault(folder, "holds a run already", "go on with it, or choose another folder with --out")
            connection = database.create(folder)
            undo.callback(connection.close)
            store.manifest = manifest.write(folder, run, store._redactor)
            store._start(connection)
            undo.pop_all()
        return store

    @classmethod
    def open(
        cls, folder: Path, *, write: bool, clock: Clock | None = None, environ: Mapping[str, str] = os.environ
    ) -> RunStore:
        """Open a run, to go on with it or to read it; raises `StoreError` where it is locked, damaged, foreign or of a newer evalkit."""
        run = manifest.read(folder)
        store = cls(folder, run, clock or SystemClock(), environ)
        if not write:
            store._reader, store._close_reader = database.open_for_reading(folder)
            return store
        refuse_network(folder)
        with ExitStack() as undo:
            store._lock = Lock.take(folder, store._clock)
            undo.callback(store._lock.release)
            store.manifest = manifest.read(folder)
            connection = database.open_for_writing(folder)
            undo.callback(connection.close)
            store._start(connection)
            undo.pop_all()
        return store

    def _start(self, connection: sqlite3.Connection) -> None:
        """Mark what a killed process left, and hand the connection to the thread that writes."""
        with database.reported(self._path):
            connection.execute(ABANDON)
            self._attempt = connection.execute("SELECT coalesce(max(id), 0) FROM attempt").fetchone()[0]
        self._writer = Writer(connection, self._path)

    def __enter__(self) -> Self:
        """Use the store until the block ends."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def begin(self, trial: Trial) -> None:
        """Note that an attempt starts; raises `StoreError` where the disk refuses."""
        key = trial.key.digest
        with self._mutex:
            self._attempt += 1
            attempt = self._attempt
            self._open[key, trial.attempt].append(attempt)
        self._writing.add(Entry(begin=(attempt, key, trial.attempt, self._clock.time())))

    def keep(self, record: TrialRecord) -> None:
        """Keep a record; raises `StoreError` where the disk refuses, and still holds it to be written when there is room."""
        writer, encoded, key = self._writing, encode(record, self._redactor), record.key.digest
        with self._mutex:
            begun = self._open.get((key, record.attempt))
            if begun:
                attempt = begun.popleft()
                if not begun:
                    del self._open[key, record.attempt]
            else:
                self._attempt += 1
                attempt = self._attempt
        writer.add(_entry(attempt, key, record, encoded))

    def flush(self) -> None:
        """Return when everything kept and begun is on the disk; raises `StoreError` where the disk refuses."""
        self._writing.flush()

    def update_plan(self, run: Manifest) -> None:
        """Replace the run's manifest; records that it does not plan stay on disk and are no longer told of.

        Raises `StoreError` where the seed is another: seeds are no part of a trial's key, so trials of two would be mixed.
        """
        if self._writer is None:
            raise fault(self.folder, "is open for reading only")
        if run.seed != self.manifest.seed:
            raise fault(
                self.folder,
                f"was run with seed {self.manifest.seed}, not {run.seed}",
                "choose another folder with --out for another seed",
            )
        self._redactor = Redactor.of(self._environ, run.names, run.key_variables)
        self.manifest = manifest.write(self.folder, run, self._redactor)

    def clean(self, text: str) -> str:
        """A text as the run's folder would hold it: without secrets, for what is shown of a record before it is read back."""
        return self._redactor.clean(text)

    def done(self) -> frozenset[str]:
        """Digests of the keys whose trials passed or failed; an errored trial is not done."""
        with self._reading() as connection:
            return frozenset(key for (key,) in connection.execute("SELECT key FROM trial WHERE outcome <> 'error'"))

    def records(self) -> Iterator[TrialRecord]:
        """The records of all planned trials that have one, without their events, in the order of the plan."""
        with self._reading() as connection:
            chosen = [row[-1] for row in reading.planned_rows(connection, self.manifest)]
        for attempt in chosen:
            with self._reading(settle=False) as connection:
                record = reading.body(connection, attempt, self.folder, events=False)
            yield record

    def columns(self) -> Columns:
        """The numbers of all planned trials that have a record, in the order of the plan; no record is decoded."""
        with self._reading() as connection:
            return reading.columns(connection, self.manifest)

    def record(self, key: str, seen: TrialRecord | None = None) -> TrialRecord:
        """The record of a trial by its key's digest, with its events; what `records` gave of it need not be decoded again."""
        with self._reading() as connection:
            found = connection.execute(COUNTS, (key,)).fetchone()
            if found is None:
                raise fault(self.folder, f"holds no record of trial {key}")
            known = seen if seen is not None and seen.attempt == found[1] else None
            return reading.body(connection, found[0], self.folder, events=True, seen=known)

    def history(self, key: str) -> tuple[TrialRecord, ...]:
        """Every record that attempts at a trial gave, with its events, oldest first: errors and those that came second too."""
        with self._reading() as connection:
            found = connection.execute(
                "SELECT attempt FROM body JOIN attempt ON attempt.id = body.attempt WHERE key = ? ORDER BY id", (key,)
            ).fetchall()
            return tuple(reading.body(connection, attempt, self.folder, events=True) for (attempt,) in found)

    def attempts(self) -> list[Started]:
        """All attempts that were ever started in this folder, oldest first."""
        with self._reading() as connection:
            return reading.attempts(connection, live=held(self.folder))

    def bookkeeping(self) -> Bookkeeping:
        """The run counted up: planned, recorded, set aside, abandoned, refused, spent."""
        with self._reading() as connection:
            return reading.bookkeeping(connection, self.manifest, live=held(self.folder))

    @property
    def commits(self) -> int:
        """Transactions that this store has written."""
        return self._writing.commits

    def close(self) -> None:
        """Write what waits, and let go of the folder; raises `StoreError` where something could not be written and is lost."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            self._close_reader()
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    @property
    def _writing(self) -> Writer:
        """The writer."""
        if self._writer is None:
            raise fault(self.folder, "is open for reading only")
        return self._writer

    @contextmanager
    def _reading(self, *, settle: bool = True) -> Iterator[sqlite3.Connection]:
        """Read alone, after everything that was kept before is on the disk."""
        if self._writer is not None and settle:
            self._writer.flush()
        with self._mutex, database.reported(self._path):
            if self._closed:
                raise fault(self.folder, "the run's store is closed")
            if self._reader is None:
                self._reader, self._close_reader = database.open_for_reading(self.folder)
            yield self._reader


def _nothing() -> None:
    """Close nothing."""


def _entry(attempt: int, key: str, record: TrialRecord, encoded: Encoded) -> Entry:
    """The rows of a record, their texts as a reader will see them."""
    seen, tally = encoded.seen, encoded.seen.tally
    where = seen.key
    trial: Row = (
        key,
        attempt,
        where.suite,
        where.task,
        where.variant,
        where.index,
        where.task_digest,
        where.variant_digest,
        seen.outcome,
        seen.stop.reason,
        seen.graded,
        _counted(tally, "turns"),
        _counted(tally, "tokens"),
        tally.usd,
        tally.known("seconds"),
        None if "seconds" in tally.uncounted else seen.seconds,
        _fits(tally.tool_errors),
        _fits(tally.retries),
    )
    return Entry(
        end=(attempt, key, record.attempt, seen.started, seen.outcome, seen.stop.reason, _spent(seen), seen.seconds),
        body=(attempt, seen.schema, encoded.head, encoded.text),
        trial=trial,
        size=len(encoded.text),
    )


def _spent(record: TrialRecord) -> float | None:
    """What an attempt cost in all, its graders included; None where any price is unknown."""
    own, grading = record.tally.usd, record.grading.usd
    return None if own is None or grading is None else own + grading


def _counted(tally: Tally, counter: Counter) -> int:
    """A count as the index holds it, which takes no null: a negative one stands for what is not known."""
    return UNKNOWN if counter in tally.uncounted else _fits(getattr(tally, counter))


def _fits(number: int) -> int:
    """A count as SQLite can hold it."""
    return min(number, LARGEST)
