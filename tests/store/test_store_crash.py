"""Nothing finished is lost: not to `kill -9`, not to a full disk."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from store_makers import a_manifest, a_record, a_start, a_task
from store_mounts import mounted

from evalkit.core.errors import StoreError
from evalkit.store.database import FILE
from evalkit.store.manifest import planned_keys
from evalkit.store.runstore import RunStore

CHILD = Path(__file__).with_name("store_crash_child.py")
TRIALS = 400


def played_until_killed(folder: Path, lines: int) -> list[str]:
    """Let a process play, kill it after so many lines, and give what it had said to be durable."""
    with subprocess.Popen([sys.executable, CHILD, folder, str(TRIALS)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        told = [process.stdout.readline().strip() for _ in range(lines)]
        process.kill()
        told += process.stdout.read().splitlines()
    assert told[0] == "ready"
    return [line for line in told[1:] if len(line) == 32]


def test_killed_at_random_moments_a_run_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    folder, draw, acknowledged = tmp_path / "run", random.Random(5), set[str]()
    for _ in range(5):
        told = played_until_killed(folder, draw.randint(1, 60))
        assert acknowledged.isdisjoint(told), "a trial that was done was run again"
        acknowledged.update(told)
        with RunStore.open(folder, write=False) as store:
            done = store.done()
            assert acknowledged <= done
            assert {record.key.digest for record in store.records()} == done
    with closing(sqlite3.connect(folder / FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) - count(DISTINCT key) FROM trial").fetchone() == (0,)
    subprocess.run([sys.executable, CHILD, folder, str(TRIALS)], check=True, capture_output=True)
    with RunStore.open(folder, write=False) as store:
        counted = store.bookkeeping()
        assert (counted.planned, counted.recorded, counted.running, counted.refused) == (TRIALS, TRIALS, 0, 0)
        assert counted.attempts == TRIALS + counted.abandoned


def test_a_full_disk_loses_nothing_that_fits_later(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="3m") as disk:
        filler = disk / "filler"
        manifest = a_manifest((a_task(trials=4000),))
        keys = planned_keys(manifest)
        noise = "".join(chr(33 + value) for value in random.Random(1).choices(range(90), k=20_000))
        with RunStore.create(disk / "run", manifest, environ={}) as store:
            filler.write_bytes(b"x" * 1_000_000)
            taken = []
            with pytest.raises(StoreError, match=r"(disk is full|disk refuses).*wait in memory"):
                for key in keys:
                    taken.append(key.digest)
                    store.begin(a_start(manifest, key))
                    store.keep(a_record(key, answer=noise))
                    store.flush()
            assert taken
            with pytest.raises(StoreError, match="wait in memory"):
                store.keep(a_record(last := next(keys), answer=noise))
            filler.unlink()
            store.flush()
            assert sum(1 for _ in store.records()) == len(store.done())
        with RunStore.open(disk / "run", write=False) as again:
            assert again.done() == {last.digest, *taken}


def test_a_disk_that_stays_full_is_told_of_and_keeps_what_was_there(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="2m") as disk:
        manifest = a_manifest((a_task(trials=4000),))
        store = RunStore.create(disk / "run", manifest, environ={})
        noise = "".join(chr(33 + value) for value in random.Random(1).choices(range(90), k=20_000))
        kept = 0
        with suppress(StoreError):
            for key in planned_keys(manifest):
                store.keep(a_record(key, answer=noise))
                store.flush()
                kept += 1
        with pytest.raises(StoreError, match="could not be written: those trials will be run again"):
            store.close()
        with RunStore.open(disk / "run", write=False) as again:
            assert len(again.done()) == kept
