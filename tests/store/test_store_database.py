"""What is no store, a damaged one or one of the future is told apart; one is read wherever it lies."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from store_makers import a_manifest, play_all
from store_mounts import mounted

from evalkit.core.errors import StoreError
from evalkit.store import database
from evalkit.store.manifest import Manifest
from evalkit.store.runstore import RunStore


@pytest.fixture
def folder(tmp_path: Path, manifest: Manifest) -> Path:
    """A finished run."""
    with RunStore.create(tmp_path / "run", manifest, environ={}) as store:
        play_all(store)
    return tmp_path / "run"


@pytest.fixture
def killed(tmp_path: Path, manifest: Manifest) -> Path:
    """A copy of a run as a killed process leaves it: with a write-ahead log."""
    with RunStore.create(tmp_path / "live", manifest, environ={}) as store:
        play_all(store)
        store.flush()
        shutil.copytree(tmp_path / "live", tmp_path / "killed")
    (tmp_path / "killed" / f"{database.FILE}-shm").unlink()
    assert (tmp_path / "killed" / f"{database.FILE}-wal").stat().st_size
    return tmp_path / "killed"


def both_ways(folder: Path) -> Iterator[StoreError]:
    """The errors of opening a folder for reading and for writing."""
    for write in (False, True):
        with pytest.raises(StoreError) as caught:
            RunStore.open(folder, write=write)
        yield caught.value


def test_a_finished_run_is_one_private_file(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"run.json", "run.lock", database.FILE}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_reading_leaves_nothing_behind(folder: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    with RunStore.open(folder, write=False) as store:
        assert len(store.columns()) == 4
        assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_while_it_is_written_everything_is_private_too(store: RunStore) -> None:
    play_all(store)
    store.flush()
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()} == {0o600}


def test_a_foreign_database_is_refused(folder: Path) -> None:
    (folder / database.FILE).unlink()
    with closing(sqlite3.connect(folder / database.FILE)) as other:
        other.execute("CREATE TABLE trial(key)")
    for error in both_ways(folder):
        assert "was not made by evalkit" in str(error)


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "cut off while being made"), (b"hello " * 500, "is no SQLite database")]
)
def test_what_is_no_database_is_refused(folder: Path, content: bytes, words: str) -> None:
    (folder / database.FILE).write_bytes(content)
    for error in both_ways(folder):
        assert words in str(error)


def test_a_newer_schema_is_named(folder: Path) -> None:
    with closing(sqlite3.connect(folder / database.FILE)) as connection:
        connection.execute("PRAGMA user_version=7")
    for error in both_ways(folder):
        assert "schema number 7, this evalkit reads 1" in str(error)


def test_a_missing_database_is_named_and_not_made(folder: Path) -> None:
    (folder / database.FILE).unlink()
    for error in both_ways(folder):
        assert "its trials.sqlite is missing" in str(error)
    assert not (folder / database.FILE).exists()


def test_a_pipe_is_no_database_and_not_waited_for(folder: Path) -> None:
    (folder / database.FILE).unlink()
    os.mkfifo(folder / database.FILE)
    for error in both_ways(folder):
        assert "its trials.sqlite is no file" in str(error)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_off_copy_is_damaged(folder: Path, share: float) -> None:
    path = folder / database.FILE
    os.truncate(path, int(path.stat().st_size * share))
    for error in both_ways(folder):
        assert "is damaged" in str(error)
        assert "restore the folder from a copy" in str(error)


def test_a_page_of_noise_is_damage(folder: Path) -> None:
    with (folder / database.FILE).open("r+b") as file:
        file.seek(database.PAGE)
        file.write(os.urandom(3 * database.PAGE))
    for error in both_ways(folder):
        assert "is damaged" in str(error)


def test_a_run_without_its_manifest_is_no_run_and_is_not_overwritten(folder: Path, manifest: Manifest) -> None:
    (folder / "run.json").unlink()
    for error in both_ways(folder):
        assert "holds no run.json" in str(error)
    with pytest.raises(StoreError, match=r"holds trials, but its run\.json is missing"):
        RunStore.create(folder, manifest)


def test_a_making_that_was_cut_off_is_made_again(tmp_path: Path, manifest: Manifest) -> None:
    database.create(tmp_path).close()
    RunStore.create(tmp_path, manifest).close()
    (tmp_path / "run.json").unlink()
    (tmp_path / database.FILE).write_bytes(b"")
    with RunStore.create(tmp_path, manifest) as store:
        assert store.done() == frozenset()


def test_a_run_is_not_made_over_a_run(folder: Path, manifest: Manifest) -> None:
    with pytest.raises(StoreError, match="holds a run already"):
        RunStore.create(folder, manifest)
    with RunStore.open(folder, write=True) as store:
        assert len(store.done()) == 4


def test_what_a_killed_process_had_committed_is_read(killed: Path) -> None:
    with RunStore.open(killed, write=False) as store:
        assert len(store.columns()) == 4
    with RunStore.open(killed, write=True) as store:
        assert len(store.columns()) == 4
    assert not (killed / f"{database.FILE}-wal").exists()


def test_a_run_is_read_on_a_read_only_disk(folder: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", folder, size="4m") as disk, RunStore.open(disk, write=False) as store:
        assert len(store.columns()) == 4
        assert {path.name for path in disk.iterdir()} == {"run.json", "run.lock", database.FILE}


def test_a_killed_run_is_read_on_a_read_only_disk_with_what_its_log_holds(killed: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", killed, size="4m") as disk:
        with RunStore.open(disk, write=False) as store:
            assert len(store.columns()) == 4
            assert all(record.outcome == "passed" for record in store.records())
        with pytest.raises(StoreError, match="cannot be locked for writing"):
            RunStore.open(disk, write=True)


def test_a_private_copy_goes_when_the_store_is_closed(killed: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", killed, size="4m") as disk:
        connection, close = database.open_for_reading(disk)
        copy = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        assert copy.parent != disk
        assert copy.exists()
        close()
        assert not copy.parent.exists()


def test_a_run_is_read_while_another_writes_it(store: RunStore) -> None:
    with RunStore.open(store.folder, write=False) as reader:
        assert len(reader.columns()) == 0
        play_all(store)
        store.flush()
        assert len(reader.columns()) == 4


def test_a_reader_that_stays_does_not_keep_the_writer_from_closing(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", a_manifest()) as store:
        play_all(store)
        store.flush()
        reader = RunStore.open(store.folder, write=False)
        looking = reader._reader
        assert looking is not None
        looking.execute("BEGIN")
        looking.execute("SELECT * FROM trial")  # a read that is under way
    looking.execute("COMMIT")
    assert len(reader.columns()) == 4
    reader.close()
    with RunStore.open(tmp_path / "run", write=False) as again:
        assert len(again.columns()) == 4


def test_a_path_full_of_signs_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "a b?mode=memory&x=%41#é'\""
    with RunStore.create(folder, a_manifest()) as store:
        play_all(store)
    with RunStore.open(folder, write=False) as store:
        assert len(store.columns()) == 4
    assert (folder / database.FILE).stat().st_size
