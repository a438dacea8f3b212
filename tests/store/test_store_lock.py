"""One writer a folder, and a lock that does not outlive its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.core.clock import ManualClock
from evalkit.core.errors import StoreError
from evalkit.store.lock import FILE, Lock, held

HOLD = """
import sys, time
from pathlib import Path
from evalkit.store.lock import Lock
lock = Lock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """A process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert held(tmp_path)
        with pytest.raises(StoreError, match=rf"is being written by process {process.pid} on .*--out"):
            Lock.take(tmp_path, ManualClock())
        process.kill()
        process.wait()
    assert not held(tmp_path)
    Lock.take(tmp_path).release()


def test_the_lock_holds_within_a_process_too_and_is_given_back(tmp_path: Path) -> None:
    lock = Lock.take(tmp_path)
    with pytest.raises(StoreError, match=f"process {os.getpid()} "):
        Lock.take(tmp_path, ManualClock())
    lock.release()
    Lock.take(tmp_path).release()
    assert not held(tmp_path)


def test_a_reader_that_looks_for_an_instant_does_not_turn_a_writer_away(tmp_path: Path) -> None:
    looking = Lock.take(tmp_path)

    class Letting(ManualClock):
        def sleep(self, seconds: float) -> None:
            looking.release()

    Lock.take(tmp_path, Letting()).release()


def test_what_a_lock_says_is_for_people_only(tmp_path: Path) -> None:
    for text in ("", "no json", '{"pid": "x"}', "[]", "x" * 10_000):
        (tmp_path / FILE).write_text(text)
        assert not held(tmp_path)
        lock = Lock.take(tmp_path)
        (tmp_path / FILE).write_text(text)
        with pytest.raises(StoreError, match="is being written by another process"):
            Lock.take(tmp_path, ManualClock())
        lock.release()


def test_where_there_is_no_lock_nobody_holds_it(tmp_path: Path) -> None:
    assert not held(tmp_path)
    assert not held(tmp_path / "none")


def test_a_folder_that_cannot_be_locked_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be locked for writing"):
        Lock.take(tmp_path / "none")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot be locked for writing"):
        Lock.take(tmp_path)
