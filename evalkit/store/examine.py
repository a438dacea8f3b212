"""What is the matter with a run's folder: each thing that can be wrong with it, looked for, and what to do about it.

Invariant: nothing is changed and nothing raised; the folder is read as any reader reads it, and each finding says what, and how to mend it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalkit.core.errors import StoreError
from evalkit.store import database, lock, manifest, reading
from evalkit.store.disk import network_type
from evalkit.store.manifest import Manifest

Grade = Literal["fine", "note", "incomplete", "damaged"]

OWN = {
    manifest.FILE,
    lock.FILE,
    database.FILE,
    f"{database.FILE}-wal",
    f"{database.FILE}-shm",
    f"{database.FILE}-journal",
}
MADE = {"report.html", "summary.json", "figures", "traces", "trials.csv", "trials.jsonl", "trials.parquet"}
"""What reports and exports put beside the run itself."""

SHOWN = 5
"""Of things of one kind, so many are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: how it stands, what was found, and what to do where something is to be done."""

    grade: Grade
    what: str
    mend: str = ""


def examine(folder: Path) -> Iterator[Finding]:
    """Look at everything that can be looked at; what cannot be is a finding too."""
    try:
        run = manifest.read(folder)
    except StoreError as error:
        yield Finding(grade="damaged", what=str(error))
        yield from _files(folder)
        return
    yield Finding(grade="fine", what=f"run.json: schema {run.schema}, {run.trials:,} planned trials")
    yield from _digests(run)
    yield _lock(folder)
    yield from _files(folder)
    live = lock.held(folder)
    try:
        connection, close = database.open_for_reading(folder)
    except StoreError as error:
        yield Finding(grade="damaged", what=str(error))
        return
    try:
        yield from _database(connection, folder, run, live=live)
    except sqlite3.Error as error:
        yield Finding(grade="damaged", what=str(database.explained(error, folder / database.FILE)))
    finally:
        close()


def _digests(run: Manifest) -> Iterator[Finding]:
    """Whether tasks and variants are what their digests say: an older evalkit hashed otherwise, a hand that edits does too."""
    tasks = {(task.suite, task.id): task.digest for suite in run.suites for task in suite.tasks}
    other = [one.task for one in run.plan if tasks.get((one.suite, one.task)) != one.digest]
    other += [one.name for one in run.variants if one.digest != run.digests.get(one.name)]
    if other:
        what = f"the digests of {_named(other)} are not those of what run.json holds: it is of another version of evalkit, hid a secret, or was edited"
        yield Finding(grade="note", what=what)
    else:
        yield Finding(grade="fine", what="the digests of all tasks and variants are those of what run.json holds")


def _lock(folder: Path) -> Finding:
    """Whether the run is being written."""
    if lock.held(folder):
        return Finding(
            grade="note", what="run.lock: a living process is writing this run", mend="look again when it is done"
        )
    return Finding(grade="fine", what="run.lock: nobody is writing")


def _files(folder: Path) -> Iterator[Finding]:
    """What else lies in the folder, and on what disk."""
    with suppress(OSError):
        strange = sorted(one.name for one in folder.iterdir() if one.name not in OWN | MADE)
        torn = [name for name in strange if name.startswith(f".{manifest.FILE}.") and name.endswith(".tmp")]
        if torn:
            yield Finding(
                grade="note", what=f"left by a writing that was cut off: {_named(torn)}", mend="they can be deleted"
            )
        other = [name for name in strange if name not in torn]
        if other:
            yield Finding(
                grade="note",
                what=f"files that are not evalkit's own: {_named(other)}",
                mend="evalkit leaves them alone",
            )
        kind = network_type(folder)
        if kind is not None:
            yield Finding(
                grade="note",
                what=f"the folder lies on a network file system ({kind}): it can be read, not gone on with",
                mend="copy it to a local disk to go on with it",
            )


def _database(connection: sqlite3.Connection, folder: Path, run: Manifest, *, live: bool) -> Iterator[Finding]:
    """The tables, the records, and the plan."""
    told = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    if told != ["ok"]:
        again = "restore the folder from a copy, or save what can be read with `sqlite3 FILE .recover`"
        yield Finding(grade="damaged", what=f"{database.FILE}: {'; '.join(told[:SHOWN])}", mend=again)
        return
    yield Finding(grade="fine", what=f"{database.FILE}: schema {database.SCHEMA}, whole by SQLite's own check")
    yield from _log(folder, live=live)
    yield _records(connection, folder)
    yield from _attempts(connection, live=live)
    yield from _plan(connection, run, live=live)


def _log(folder: Path, *, live: bool) -> Iterator[Finding]:
    """A write-ahead log that a killed process left."""
    log = folder / f"{database.FILE}-wal"
    if not live and log.exists() and log.stat().st_size:
        yield Finding(
            grade="note",
            what=f"{log.name} holds what a killed run wrote last: it is part of the run",
            mend=f"copy it along with {database.FILE}; it is folded in when the run goes on",
        )


_HELD = (
    "SELECT b.attempt, t.suite, t.task, t.variant, t.trial, t.task_digest, t.variant_digest, t.outcome, t.stop"
    " FROM body b LEFT JOIN trial t ON t.attempt = b.attempt"
)


def _records(connection: sqlite3.Connection, folder: Path) -> Finding:
    """Decode every record with its events, and hold it against its row."""
    wrong, count = [], 0
    for attempt, *row in connection.execute(_HELD).fetchall():
        count += 1
        try:
            record = reading.body(connection, attempt, folder, events=True)
        except StoreError as error:
            wrong.append(str(error).removeprefix(f"{folder}: "))
            continue
        key = record.key
        told = [
            key.suite,
            key.task,
            key.variant,
            key.index,
            key.task_digest,
            key.variant_digest,
            record.outcome,
            record.stop.reason,
        ]
        if row[0] is not None and row != told:
            wrong.append(f"attempt {attempt}: its record is of another trial than its row says")
    lacking = connection.execute(
        "SELECT count(*) FROM trial WHERE attempt NOT IN (SELECT attempt FROM body)"
    ).fetchone()[0]
    if lacking:
        wrong.append(f"trials without any record: {lacking}")
    if wrong:
        mend = "restore the folder from a copy; or take the rest with `evalkit export`, and run those trials anew in another folder"
        return Finding(
            grade="damaged", what=f"{len(wrong)} of {count:,} records cannot be trusted: {_named(wrong)}", mend=mend
        )
    return Finding(grade="fine", what=f"all {count:,} records can be read, with their traces")


def _attempts(connection: sqlite3.Connection, *, live: bool) -> Iterator[Finding]:
    """Attempts that were begun and never ended."""
    found = [one.outcome for one in reading.attempts(connection, live=live)]
    if found.count("running"):
        yield Finding(grade="note", what=f"{found.count('running')} trials are being played")
    if found.count("abandoned"):
        what = f"{found.count('abandoned')} attempts ended with their process and gave no record; what they cost is not known"
        yield Finding(grade="note", what=what)
    strays = connection.execute("SELECT count(*) FROM body WHERE attempt NOT IN (SELECT id FROM attempt)").fetchone()[0]
    if strays:
        yield Finding(
            grade="damaged", what=f"{strays} records belong to no attempt", mend="restore the folder from a copy"
        )


def _plan(connection: sqlite3.Connection, run: Manifest, *, live: bool) -> Iterator[Finding]:
    """Records against what was planned."""
    counted = reading.bookkeeping(connection, run, live=live)
    if counted.aside:
        yield Finding(
            grade="note",
            what=f"{counted.aside} records are of trials that are no longer planned (edited, or fewer asked for): they do not count",
        )
    missing = counted.planned - counted.recorded
    go_on = (
        ""
        if live
        else f"go on with: {run.origin.command}"
        if run.origin.command
        else "go on with the command that made it"
    )
    if missing:
        yield Finding(
            grade="incomplete", what=f"{missing:,} of {counted.planned:,} planned trials have no record yet", mend=go_on
        )
    if counted.errors:
        what = f"{counted.errors:,} of {counted.planned:,} trials are in error: our own world broke under them"
        yield Finding(grade="incomplete", what=what, mend=go_on and f"`evalkit show` tells why; {go_on}")
    if not missing and not counted.errors:
        yield Finding(grade="fine", what=f"all {counted.planned:,} planned trials are decided")


def _named(things: list[str]) -> str:
    """Name the first of many things."""
    more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return "; ".join(things[:SHOWN]) + more
