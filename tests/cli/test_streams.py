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
    return subprocess.run(
        ["/bin/sh", "-c", text], cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run `r`."""
    tmp_path = tmp_path_factory.mktemp("streams")
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("gate r --min 'pass^1[good]>=0.1' --rule point", 4),
        ("gate r --min 'pass^1[bad]>=0.9' --rule point", 1),
        ("gate r --min 'pass^2[bad]>=0.9'", 3),
        ("show r --json", 4),
        ("show --help", 4),
        ("--version", 4),
    ],
)
@pytest.mark.parametrize("stdout", ["> /dev/full", "1< /dev/null"])
def test_an_answer_that_is_not_written_is_told_and_never_counts_as_passed_or_failed(
    words: str, code: int, stdout: str, folder: Path
) -> None:
    done = shell(f"evalkit {words} {stdout}", folder)
    assert done.returncode == code
    assert "stdout did not take the whole answer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_run_into_a_full_log_is_whole_and_a_full_stderr_changes_nothing(folder: Path) -> None:
    assert shell("evalkit run suite.yaml -n 1 -o full > /dev/full", folder).returncode == 4
    assert shell("evalkit doctor full", folder).returncode == 0
    for words, code in (("show r", 0), ("show none", 4), ("nothing", 2), ("run suite.yaml -n 1 -o more", 0)):
        assert shell(f"evalkit {words} 2> /dev/full", folder).returncode == code


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_terminal_cannot_write_is_written_as_an_escape(encoding: str, folder: Path) -> None:
    done = shell(f"PYTHONIOENCODING={encoding} evalkit show r", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2013" in done.stdout


def test_a_fault_of_evalkit_itself_is_no_failed_gate(tmp_path: Path) -> None:
    program = "import sys; from evalkit.cli.main import broke; sys.excepthook = broke; 1 / 0"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "ZeroDivisionError" in done.stderr
    assert "no verdict" in done.stderr


def test_a_working_folder_that_was_deleted_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for words in ("validate x.yaml", "doctor"):
        gone.mkdir()
        done = shell(f"rmdir ../gone; evalkit {words}", gone)
        assert done.returncode == 2
        assert "the working folder: is gone" in done.stderr
