"""A stream that was closed changes nothing of what a command does, and no file takes its number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_makers import write


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell in which `evalkit` is the command."""
    text = line.replace("evalkit", f"'{sys.executable}' -m evalkit")
    return subprocess.run(["/bin/sh", "-c", text], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a run `r`."""
    write(tmp_path)
    assert shell("evalkit run suite.yaml -c config.yaml -n 1 -o r --no-report", tmp_path).returncode == 0
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("gate r --min 'pass^1[good]>=0.1' --rule point", 0),
        ("gate r --min 'pass^1[bad]>=0.9' --rule point --json", 1),
        ("show r", 0),
        ("show r --json", 0),
        ("compare r", 0),
    ],
)
def test_the_exit_code_is_that_of_an_open_stdout(words: str, code: int, folder: Path) -> None:
    assert shell(f"evalkit {words}", folder).returncode == code
    for closed in (">&-", ">&- 2>&-", ">&- 2>&- <&-"):
        done = shell(f"evalkit {words} {closed}", folder)
        assert (done.returncode, done.stderr) == (code, "")


def test_a_run_whose_streams_are_closed_is_whole(folder: Path) -> None:
    done = shell("evalkit run suite.yaml -c config.yaml -n 2 -o closed --progress plain >&- 2>&- <&-", folder)
    assert done.returncode == 0
    shown = json.loads(shell("evalkit show closed --json", folder).stdout)
    assert shown["completeness"]["measured"] == 8
    assert shell("evalkit doctor closed", folder).returncode == 0
