"""The doctor: what it says of a machine, and that it finds everything that can be done to a run's folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_makers import CONFIG, run, start, write

from evalkit.cli.main import main
from evalkit.store.database import FILE

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run."""
    folder = tmp_path_factory.mktemp("sound")
    write(folder)
    assert run("run", "suite.yaml", "-o", "out", "--no-report", folder=folder).returncode == 0
    return folder / "out"


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    """A copy of it to be damaged."""
    return Path(shutil.copytree(sound, tmp_path / "out"))


def findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    """What the doctor says of a folder, and its exit code."""
    capsys.readouterr()
    code = main(["doctor", str(folder), "--json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return code, found


def test_a_whole_run_is_fine_and_left_as_it_is(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    code, found = findings(copy, capsys)
    assert (code, {one["grade"] for one in found}) == (0, {"fine"})
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert main(["doctor", str(copy)]) == 0
    assert "ok          all 16 planned trials are decided" in capsys.readouterr().out


def sql(folder: Path, *statements: str) -> None:
    """Change the database behind the store's back."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def flip(folder: Path, share: float, count: int = 64) -> None:
    """Turn some bytes of the database into noise."""
    data = bytearray((folder / FILE).read_bytes())
    start = int(len(data) * share)
    data[start : start + count] = bytes(byte ^ 0xFF for byte in data[start : start + count])
    (folder / FILE).write_bytes(data)


def flip_trace(folder: Path) -> None:
    """Change bytes in the midst of one record, which SQLite cannot notice."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        attempt, text = connection.execute("SELECT attempt, text FROM body ORDER BY attempt LIMIT 1").fetchone()
        middle = len(text) // 2
        text = text[:middle] + bytes(byte ^ 0x55 for byte in text[middle : middle + 8]) + text[middle + 8 :]
        connection.execute("UPDATE body SET text = ? WHERE attempt = ?", (text, attempt))


def edit(folder: Path, **values: Any) -> None:
    """Change fields of run.json."""
    held = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(held | values))


def swap(folder: Path) -> None:
    """Give two trials each other's records."""
    sql(
        folder,
        "UPDATE trial SET attempt = -attempt WHERE attempt IN (1, 2)",
        "UPDATE trial SET attempt = 3 + attempt WHERE attempt < 0",
    )


DAMAGES: dict[str, tuple[Damage, str]] = {
    "no run.json": (lambda one: (one / "run.json").unlink(), "holds no run.json"),
    "a torn run.json": (lambda one: os.truncate(one / "run.json", 700), "is damaged"),
    "run.json of nothing": (lambda one: (one / "run.json").write_bytes(b""), "is damaged"),
    "run.json of noise": (lambda one: (one / "run.json").write_bytes(bytes(range(256))), "is damaged"),
    "a newer run.json": (lambda one: edit(one, schema=99), "schema number 99"),
    "no database": (lambda one: (one / FILE).unlink(), "is missing"),
    "an empty database": (lambda one: (one / FILE).write_bytes(b""), "not made by evalkit"),
    "half a database": (lambda one: os.truncate(one / FILE, (one / FILE).stat().st_size // 2), "damaged"),
    "a database without its last byte": (
        lambda one: os.truncate(one / FILE, (one / FILE).stat().st_size - 1),
        "damaged",
    ),
    "noise at its beginning": (lambda one: flip(one, 0.0), "no SQLite database"),
    "noise in its tables": (lambda one: flip(one, 0.05, 8_000), "damaged"),
    "a newer database": (lambda one: sql(one, "PRAGMA user_version = 99"), "schema number 99"),
    "another program's database": (lambda one: sql(one, "PRAGMA application_id = 7"), "not made by evalkit"),
    "a lost table": (lambda one: sql(one, "DROP TABLE trial"), "no such table"),
    "flipped bytes in a trace": (flip_trace, "cannot be trusted"),
    "a cut trace": (
        lambda one: sql(one, "UPDATE body SET text = substr(text, 1, 40) WHERE attempt = 1"),
        "cannot be trusted",
    ),
    "a lost record": (lambda one: sql(one, "DELETE FROM body WHERE attempt = 1"), "without any record: 1"),
    "records that were swapped": (swap, "of another trial"),
    "an outcome that was edited": (
        lambda one: sql(one, "UPDATE trial SET outcome = 'passed' WHERE variant = 'bad'"),
        "of another trial",
    ),
    "a lost attempt": (lambda one: sql(one, "DELETE FROM attempt WHERE id = 1"), "belong to no attempt"),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damage_is_found_and_told_with_what_to_do(copy: Path, capsys: pytest.CaptureFixture[str], how: str) -> None:
    damage, words = DAMAGES[how]
    damage(copy)
    code, found = findings(copy, capsys)
    damaged = [one for one in found if one["grade"] == "damaged"]
    assert code == 4
    assert any(words in one["what"] for one in damaged), found
    assert all(one["mend"] or "(" in one["what"] for one in damaged), damaged


@pytest.mark.parametrize("share", [0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
def test_noise_anywhere_never_ends_in_a_traceback(copy: Path, capsys: pytest.CaptureFixture[str], share: float) -> None:
    flip(copy, share)
    code, found = findings(copy, capsys)
    assert code in (0, 4)
    assert found


INCOMPLETE: dict[str, tuple[Damage, str]] = {
    "missing trials": (
        lambda one: sql(one, "DELETE FROM trial WHERE task = 'two'"),
        "8 of 16 planned trials have no record",
    ),
    "trials in error": (
        lambda one: sql(one, "UPDATE trial SET outcome = 'error', stop = 'error:provider' WHERE trial = 1"),
        "4 of 16 trials are in error",
    ),
}


@pytest.mark.parametrize("how", INCOMPLETE)
def test_what_is_not_finished_is_told_with_the_command_that_goes_on(
    copy: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    INCOMPLETE[how][0](copy)
    code, found = findings(copy, capsys)
    (told,) = [one for one in found if one["grade"] == "incomplete"]
    assert code == 4
    assert INCOMPLETE[how][1] in told["what"]
    assert "evalkit run suite.yaml -o out" in told["mend"]


def test_what_harms_nothing_is_a_note(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "holiday.jpg").touch()
    (copy / ".run.json.x1.tmp").touch()
    sql(copy, "INSERT INTO attempt (id, key, number, started) VALUES (999, 'k', 1, 0.0)")
    edit(
        copy,
        plan=[
            one | {"trials": dict.fromkeys(one["trials"], 3)}
            for one in json.loads((copy / "run.json").read_text())["plan"]
        ],
    )
    code, found = findings(copy, capsys)
    told = " | ".join(one["what"] for one in found if one["grade"] == "note")
    assert code == 0
    for words in (
        "holiday.jpg",
        ".run.json.x1.tmp",
        "1 attempts ended with their process",
        "4 records are of trials that are no longer planned",
    ):
        assert words in told


def test_a_task_that_was_edited_by_hand_is_noted(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = json.loads((copy / "run.json").read_text())
    held["suites"][0]["tasks"][0]["prompt"] = "Say anything."
    (copy / "run.json").write_text(json.dumps(held))
    _, found = findings(copy, capsys)
    assert any(one["grade"] == "note" and "the digests of one are not those" in one["what"] for one in found)


def test_a_run_that_is_written_and_one_that_was_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy without the log of a killed run is told from one with it: what the log held is then missing."""
    write(tmp_path, config=CONFIG.replace("{kind: simulated}", "{kind: simulated, latency: 300ms}"))
    process = start("run", "suite.yaml", "-o", "out", "--no-report", "-j", "1", folder=tmp_path)
    out = tmp_path / "out"
    for _ in range(1_000):
        if (out / f"{FILE}-wal").exists() and (out / f"{FILE}-wal").stat().st_size > 40_000:
            break
        time.sleep(0.02)
    code, found = findings(out, capsys)
    assert code == 4
    assert any("a living process is writing" in one["what"] for one in found)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    shutil.copytree(out, tmp_path / "torn", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    code, found = findings(out, capsys)
    assert code == 4
    assert any("holds what a killed run wrote last" in one["what"] for one in found)
    assert "damaged" not in {one["grade"] for one in found}
    code, found = findings(tmp_path / "torn", capsys)
    assert code == 4
    assert {"damaged", "incomplete"} & {one["grade"] for one in found}


def test_a_folder_that_is_none_and_words_that_are_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path / "none")]) == 4
    assert "no such folder" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["doctor", "--nonsense"])
    assert caught.value.code == 2


def test_of_a_machine_it_says_that_a_key_is_there_and_not_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary-0123456789")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "ANTHROPIC_API_KEY: set" in shown
    assert "ANTHROPIC_AUTH_TOKEN: not set" in shown
    assert "canary" not in shown
    for words in ("Python 3", "sandbox: ", "visual checks: ", "GB free"):
        assert words in shown
    assert list(tmp_path.iterdir()) == []


def test_folders_that_killed_runs_left_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("evalkit-old", "evalkit-new", "other-old"):
        (tmp_path / name).mkdir()
    (tmp_path / "evalkit-link").symlink_to(tmp_path / "other-old")
    for name in ("evalkit-old", "other-old"):
        os.utime(tmp_path / name, (0.0, 0.0))
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "1 folder of trials" in shown
    assert "evalkit-old" in shown
    assert "evalkit-new" not in shown
