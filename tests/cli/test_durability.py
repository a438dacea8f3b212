"""A run against everything that ends runs, end to end: nothing finished is lost, nothing is doubled, and the same command goes on.

What one interrupt, one kill and a second runner do is in `test_commands`; the store against kills and full disks alone in `tests/store/test_store_crash`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cli_makers import CONFIG, SUITE, run, start, write

from evalkit.store.database import FILE

SLOW = CONFIG.replace("{kind: simulated}", "{kind: simulated, latency: 20ms}").split("  bad:", maxsplit=1)[0]
WORDS = ("run", "suite.yaml", "-o", "out", "--no-report")

DEADLY = """\
version: 1
suite: deadly
configs: [config.yaml]
defaults: {trials: 1}
tasks:
  - id: fatal
    prompt: End the process that plays you.
    tools: [{kind: python, function: "deadly.py:end", writes: true}]
    graders: [{kind: contains, text: done}]
  - {id: fine, prompt: Say done., trials: 4, graders: [{kind: contains, text: done}]}
"""
CALLING = "version: 1\nvariants: {v: {provider: {kind: scripted, script: [{calls: [[end, {}]]}, {text: done}]}}}\n"
WAITS = (
    "import pathlib, time\ndef end() -> str:\n    '''Wait.'''\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n"
)

Kept = dict[str, tuple[str, str]]


def kept(folder: Path) -> Kept:
    """All records of a run by their keys: outcome and stop. The database is whole, or this fails."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT key, outcome, stop FROM trial").fetchall()
        assert len(rows) == len({key for key, *_ in rows})
        return {key: (outcome, stop) for key, outcome, stop in rows}


def attempts(folder: Path) -> dict[str | None, int]:
    """How many attempts a run has by their outcomes."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        return dict(connection.execute("SELECT outcome, count(*) FROM attempt GROUP BY outcome").fetchall())


def wait_for_records(folder: Path, count: int) -> None:
    """Wait until a run has so many records."""
    for _ in range(1_200):
        time.sleep(0.02)
        try:
            if len(kept(folder)) >= count:
                return
        except sqlite3.OperationalError:
            continue
    raise AssertionError("the run makes no progress")


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.nightly)])
def test_killed_at_random_moments_a_run_ends_as_if_it_had_not_been(tmp_path: Path, kills: int) -> None:
    trials = 10 * kills
    write(tmp_path, SUITE.replace("trials: 4", f"trials: {trials}"), SLOW)
    draw, before = random.Random(kills), Kept()
    for _ in range(kills):
        process = start(*WORDS, "-j", "2", folder=tmp_path)
        wait_for_records(tmp_path / "out", len(before) + 1)
        time.sleep(draw.random() * 0.15)
        process.kill()
        process.communicate()
        after = kept(tmp_path / "out")
        assert before.items() <= after.items()
        before = after
    assert len(before) < 2 * trials
    done = run(*WORDS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} of {2 * trials} trials are done already" in done.stderr
    after = kept(tmp_path / "out")
    assert before.items() <= after.items()
    assert len(after) == 2 * trials
    ended = attempts(tmp_path / "out")
    assert ended.pop("abandoned", 0) >= 1
    assert ended == {"passed": 2 * trials}
    shown = json.loads(run("show", "out", "--json", folder=tmp_path).stdout)
    whole = {"planned": 2 * trials, "measured": 2 * trials, "errors": 0, "missing": 0, "skipped": 0}
    assert shown["completeness"] == whole


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_what_the_first_would_wait_for(tmp_path: Path, first: signal.Signals) -> None:
    """The trials that are given up count as abandoned, never as failed."""
    write(tmp_path, DEADLY, CALLING)
    (tmp_path / "deadly.py").write_text(WAITS)
    assert run(*WORDS, "--task", "fine", folder=tmp_path).returncode == 0
    before = kept(tmp_path / "out")
    process = start(*WORDS, "-j", "1", folder=tmp_path)
    for _ in range(1_000):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.02)
    process.send_signal(first)
    assert process.stderr is not None
    told = ""
    for line in process.stderr:
        told += line
        if "once more to give them up" in line:
            break
    assert first.name in told
    process.send_signal(signal.SIGINT)
    _, more = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "evalkit run suite.yaml -o out" in more
    assert kept(tmp_path / "out") == before
    assert attempts(tmp_path / "out")[None] == 1


@contextmanager
def disk(place: Path, size: str) -> Iterator[Path]:
    """A small disk of its own; the test is skipped where none can be mounted."""
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(tmp_path: Path) -> None:
    noise = "".join(chr(97 + value) for value in random.Random(1).choices(range(26), k=30_000))
    write(tmp_path, SUITE.replace("trials: 4", "trials: 40").replace("answer: two", f"answer: two {noise}"), SLOW)
    with disk(tmp_path / "small", "2500k") as small:
        (small / "filler").write_bytes(bytes(1_800_000))
        words = ("run", "suite.yaml", "-o", "small/out", "--no-report")
        ended = run(*words, folder=tmp_path)
        assert ended.returncode == 4
        assert "full" in ended.stderr
        assert "Traceback" not in ended.stderr
        before = kept(small / "out")
        assert 0 < len(before) < 80
        (small / "filler").unlink()
        done = run(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        after = kept(small / "out")
        assert before.items() <= after.items()
        assert len(after) == 80


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_played(tmp_path: Path) -> None:
    write(tmp_path)
    with disk(tmp_path / "small", "4m") as small:
        assert run("run", "suite.yaml", "-o", "small/out", "--no-report", folder=tmp_path).returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        for out in ("small/out", "small/new"):
            ended = run("run", "suite.yaml", "-o", out, "-n", "6", folder=tmp_path)
            assert (ended.returncode, "Traceback" in ended.stderr) == (4, False), ended.stderr
            assert "small" in ended.stderr
        assert run("show", "small/out", folder=tmp_path).returncode == 0


def ordinary() -> list[str]:
    """How evalkit is started as a user who is not root; the test is skipped where that cannot be had."""
    if os.geteuid() != 0:
        return [sys.executable, "-m", "evalkit"]
    for python in (sys.executable, "/usr/bin/python3"):
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-m", "evalkit"]
        with suppress(OSError):
            if (
                subprocess.run(
                    [*words, "--help"], cwd="/", env=SURROUNDINGS, capture_output=True, check=False
                ).returncode
                == 0
            ):
                return words
    pytest.skip("needs setpriv and a Python that others may run")


SURROUNDINGS = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join(
        [str(Path(__file__).parents[2]), *(one for one in sys.path if one.endswith("site-packages"))]
    ),
}


def test_a_folder_without_the_right_to_write_is_told_to_an_ordinary_user() -> None:
    """Whether it is the place for runs, or a run of one's own that was set aside; reading it works."""
    words = ordinary()
    with TemporaryDirectory(prefix="evalkit-test-") as made:
        here = Path(made)
        write(here)

        def told(*more: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*words, *more], cwd=here, env=SURROUNDINGS, capture_output=True, text=True, check=False
            )

        here.chmod(0o777)
        assert told("run", "suite.yaml", "-o", "mine", "--no-report").returncode == 0
        for path, mode in ((here / "mine", 0o500), (here, 0o555)):
            path.chmod(mode)
        for out in ("mine", "other", "reports/new"):
            ended = told("run", "suite.yaml", "-o", out, "-n", "6")
            assert (ended.returncode, "Traceback" in ended.stderr) == (4, False), ended.stderr
            assert out.partition("/")[0] in ended.stderr
            assert "permission" in ended.stderr.lower()
        assert json.loads(told("show", "mine", "--json").stdout)["completeness"]["measured"] == 16
        for path in (here, here / "mine"):
            path.chmod(0o700)


def test_whoever_reads_may_go_away_and_the_run_is_finished(tmp_path: Path) -> None:
    write(tmp_path, config=SLOW)
    process = start(*WORDS, "--progress", "plain", folder=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.wait(timeout=60)
    assert process.returncode == 0
    assert len(kept(tmp_path / "out")) == 8


def test_a_worker_that_dies_costs_the_trial_that_killed_it_and_no_other(tmp_path: Path) -> None:
    """The trial is an error, so the run is incomplete and says so: a process that ends tells nothing of the agent."""
    (tmp_path / "deadly.py").write_text("import os\ndef end() -> str:\n    '''End.'''\n    os.kill(os.getpid(), 9)\n")
    write(tmp_path, DEADLY, CALLING)
    ended = run(*WORDS, "--backend", "processes", "-j", "2", "--retries", "2", folder=tmp_path)
    assert ended.returncode == 4
    assert "Traceback" not in ended.stderr
    found = sorted(kept(tmp_path / "out").values())
    assert found == [("error", "error:worker"), *[("passed", "finished")] * 4]
    assert attempts(tmp_path / "out")["error"] == 2


@pytest.mark.parametrize("records", [0, 2])
def test_an_interrupt_from_a_terminal_lets_workers_end_what_they_play(tmp_path: Path, records: int) -> None:
    """It reaches the workers as well as the driver, for they are of one process group, and also those that have only just been started."""
    write(tmp_path, SUITE.replace("trials: 4", "trials: 100"), SLOW.replace("20ms", "100ms"))
    words = [sys.executable, "-m", "evalkit", *WORDS, "--backend", "processes", "-j", "2"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for_records(tmp_path / "out", records)
    while (
        not records and sum(attempts(tmp_path / "out").values()) < 4
    ):  # all that are handed out at once: the workers are being started
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Go on with:\n  evalkit run suite.yaml -o out" in err
    assert attempts(tmp_path / "out") == {"passed": len(kept(tmp_path / "out"))}
    assert len(kept(tmp_path / "out")) < 200


def test_an_orphaned_worker_begins_no_trial() -> None:
    program = "import os; from evalkit.run.backends import Child; Child(play=print, parent=os.getpid())('played')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_variant_that_is_removed_is_left_out_and_kept_for_its_return(tmp_path: Path) -> None:
    write(tmp_path)
    assert run(*WORDS, folder=tmp_path).returncode == 0
    before = kept(tmp_path / "out")
    write(tmp_path, config=CONFIG.split("  bad:", maxsplit=1)[0])
    assert run(*WORDS, folder=tmp_path).returncode == 0
    assert list(json.loads(run("show", "out", "--json", folder=tmp_path).stdout)["variants"]) == ["good"]
    assert kept(tmp_path / "out") == before
    write(tmp_path)
    again = run(*WORDS, folder=tmp_path)
    assert "16 of 16 trials are done already" in again.stderr
    assert kept(tmp_path / "out") == before
