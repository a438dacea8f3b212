"""Commits come in groups, and an error of the disk loses nothing."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalkit.core.errors import StoreError
from evalkit.store import database
from evalkit.store.writer import Entry, Writer

BODY = (1, 1, 1, b"text")


def entry(number: int, outcome: str = "passed", *, key: str | None = None, size: int = 0) -> Entry:
    """The rows of a record."""
    name = key or f"key {number}"
    return Entry(
        end=(number, name, 1, 1.0, outcome, "finished", 0.5, 1.0),
        body=(number, 1, 1, b"text"),
        trial=(name, number, "s", "t", "v", 1, "d", "d", outcome, "finished", None, 1, 1, 0.5, 1.0, 1.0, 0, 0),
        size=size,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an empty database."""
    database.create(tmp_path).close()
    return tmp_path


@pytest.fixture
def writer(folder: Path) -> Iterator[Writer]:
    """A writer that does not wait long for a locked database."""
    made = Writer(impatient(folder), folder / database.FILE)
    yield made
    try:
        made.close()
    except StoreError:
        assert made._pending  # what could not be written is what the test was about


def impatient(folder: Path) -> sqlite3.Connection:
    """A connection that gives up on a locked database at once."""
    connection = database.open_for_writing(folder)
    connection.execute("PRAGMA busy_timeout=1")
    return connection


def rows(folder: Path, sql: str = "SELECT key, attempt, outcome FROM trial ORDER BY key") -> list[tuple[object, ...]]:
    """What is committed, as another connection sees it."""
    connection, close = database.open_for_reading(folder)
    try:
        return connection.execute(sql).fetchall()
    finally:
        close()


class Other:
    """Another program that holds the database."""

    def __init__(self, folder: Path) -> None:
        """Take it."""
        self.connection = sqlite3.connect(folder / database.FILE, isolation_level=None, timeout=0)
        self.connection.execute("BEGIN IMMEDIATE")

    def let_go(self) -> None:
        """Give it back."""
        self.connection.execute("ROLLBACK")
        self.connection.close()


def test_what_comes_within_a_while_is_committed_together(folder: Path) -> None:
    writer = Writer(impatient(folder), folder / database.FILE, linger=3600)
    for number in range(1, 501):
        writer.add(Entry(begin=(number, f"key {number}", 1, 1.0)))
        writer.add(entry(number))
    with writer._done:
        assert not writer._done.wait_for(lambda: writer._settled > 0, timeout=0.2)
    assert (writer.commits, rows(folder)) == (0, [])
    writer.flush()
    assert (writer.commits, len(rows(folder))) == (1, 500)
    writer.close()


def test_what_waits_is_committed_without_being_asked(writer: Writer, folder: Path) -> None:
    writer.add(entry(1))
    with writer._done:
        assert writer._done.wait_for(lambda: writer._settled == 1, timeout=30)
    assert len(rows(folder)) == 1


def test_flush_commits_at_once_and_only_what_there_is(writer: Writer, folder: Path) -> None:
    writer.flush()
    assert writer.commits == 0
    for number in (1, 2, 3):
        writer.add(entry(number))
        writer.flush()
        assert len(rows(folder)) == number
    assert writer.commits == 3


def test_a_start_is_written_too(writer: Writer, folder: Path) -> None:
    writer.add(Entry(begin=(7, "key", 2, 1.5)))
    writer.flush()
    assert rows(folder, "SELECT id, key, number, started, outcome FROM attempt") == [(7, "key", 2, 1.5, None)]


def test_the_first_decided_record_stays_and_an_error_gives_way(writer: Writer, folder: Path) -> None:
    for number, outcome in enumerate(["error", "error", "failed", "passed", "error"], 1):
        writer.add(entry(number, outcome, key="one"))
    writer.flush()
    assert rows(folder) == [("one", 3, "failed")]
    assert [row[0] for row in rows(folder, "SELECT outcome FROM attempt ORDER BY id")] == [
        "error",
        "error",
        "failed",
        "passed",
        "error",
    ]


def test_writing_the_same_entries_twice_changes_nothing(writer: Writer, folder: Path) -> None:
    for _ in range(2):
        writer.add(Entry(begin=(1, "key 1", 1, 1.0)))
        writer.add(entry(1))
        writer.flush()
    assert rows(folder) == [("key 1", 1, "passed")]
    assert rows(folder, "SELECT count(*), (SELECT count(*) FROM body) FROM attempt") == [(1, 1)]


def test_an_error_is_told_at_the_next_call_and_nothing_is_lost(writer: Writer, folder: Path) -> None:
    other = Other(folder)
    writer.add(entry(1))
    with pytest.raises(
        StoreError, match=r"another program holds the database.*1 records and 0 starts of trials wait in memory"
    ):
        writer.flush()
    with pytest.raises(StoreError, match="2 records and 0 starts"):
        writer.add(entry(2))
    with pytest.raises(StoreError, match="2 records and 1 starts"):
        writer.add(Entry(begin=(3, "key 3", 1, 1.0)))
    assert rows(folder) == []
    other.let_go()
    writer.add(entry(4))
    writer.flush()
    assert [row[0] for row in rows(folder)] == ["key 1", "key 2", "key 4"]
    assert len(rows(folder, "SELECT id FROM attempt")) == 4


def test_it_is_tried_again_without_being_asked(writer: Writer, folder: Path) -> None:
    other = Other(folder)
    writer.add(entry(1))
    with pytest.raises(StoreError):
        writer.flush()
    other.let_go()
    with writer._done:
        assert writer._done.wait_for(lambda: writer._settled == 1, timeout=30)
    assert len(rows(folder)) == 1
    writer.flush()


def test_one_entry_that_cannot_be_written_does_not_hold_up_the_others(writer: Writer, folder: Path) -> None:
    writer.add(Entry(end=(1, None, 1, 1.0, "passed", "finished", 0.5, 1.0), body=BODY))  # a key is NOT NULL
    writer.add(entry(2))
    for _ in range(2):
        with pytest.raises(StoreError, match="NOT NULL"):
            writer.flush()
    assert rows(folder) == [("key 2", 2, "passed")]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_database_that_was_deleted_takes_no_more_records(replaced: bool, writer: Writer, folder: Path) -> None:
    writer.add(entry(1))
    writer.flush()
    for path in folder.iterdir():
        path.unlink()
    if replaced:
        database.create(folder).close()
    writer.add(entry(2))
    with pytest.raises(StoreError, match="was removed while the run went on"):
        writer.flush()


def test_closing_writes_what_waits(folder: Path) -> None:
    writer = Writer(impatient(folder), folder / database.FILE)
    for number in range(1, 6):
        writer.add(entry(number))
    writer.close()
    assert len(rows(folder)) == 5
    assert [path.name for path in folder.iterdir()] == [database.FILE]


def test_closing_says_what_is_lost(folder: Path) -> None:
    writer = Writer(impatient(folder), folder / database.FILE)
    other = Other(folder)
    writer.add(entry(1))
    with pytest.raises(StoreError, match=r"another program.*1 records and 0 starts of trials could not be written"):
        writer.close()
    other.let_go()
    with pytest.raises(StoreError, match="is closed"):
        writer.add(entry(2))


def test_much_that_waits_is_written_before_more_is_taken(writer: Writer, folder: Path) -> None:
    writer.add(entry(1, size=10**12))
    assert len(rows(folder)) == 1


def test_many_threads_may_add_and_flush(writer: Writer, folder: Path) -> None:
    def add(start: int) -> None:
        for number in range(start, start + 50):
            writer.add(entry(number))
            if number % 10 == 0:
                writer.flush()

    threads = [threading.Thread(target=add, args=(1 + 50 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.flush()
    assert len(rows(folder)) == 400
