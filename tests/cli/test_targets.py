"""Results are written over nothing but earlier results of their kind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cli_makers import write

from evalkit.cli.main import main
from evalkit.cli.targets import target
from evalkit.core.errors import ConfigurationError


def evalkit(*words: str) -> int:
    """Call the command line."""
    return main(words)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run `r`."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    assert evalkit("run", "suite.yaml", "-c", "config.yaml", "-n", "1", "-o", "r", "--no-report") == 0
    return tmp_path


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_takes_the_place_of_an_earlier_one_and_of_nothing_else(form: str, here: Path) -> None:
    path = here / f"x.{form}"
    for _ in range(2):
        assert evalkit("export", "r", "-o", str(path)) == 0
    path.write_text("precious")
    assert evalkit("export", "r", "-o", str(path)) == 2
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["run.json", "trials.sqlite", "run.lock"])
def test_a_runs_own_files_are_no_target(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (here / "r" / name).read_bytes()
    for words in (("export", "r", "-o", f"r/{name}"), ("gate", "r", "--min", "pass@1>=0.1", "--junit", f"r/{name}")):
        assert evalkit(*words) == 2
        assert "is a file of the run itself" in capsys.readouterr().err
    assert (here / "r" / name).read_bytes() == before
    assert evalkit("show", "r") == 0


def test_a_suite_is_no_target(here: Path) -> None:
    before = (here / "suite.yaml").read_text()
    assert evalkit("run", "suite.yaml", "-c", "config.yaml", "-n", "1", "-o", "r2", "--junit", "suite.yaml") == 2
    assert (here / "suite.yaml").read_text() == before
    assert not (here / "r2").exists()


def test_junit_takes_the_place_of_an_earlier_one(here: Path) -> None:
    for _ in range(2):
        assert evalkit("gate", "r", "--min", "pass@1>=0.1", "--junit", "j.xml") in (0, 1, 3)
    assert "<testsuites" in (here / "j.xml").read_text()


def test_a_link_stays_one_and_what_it_names_is_written(here: Path) -> None:
    (here / "link.csv").symlink_to("real.csv")
    assert evalkit("export", "r", "-o", "link.csv") == 0
    assert (here / "link.csv").is_symlink()
    assert (here / "real.csv").read_text().startswith('"suite"')


def test_a_pipe_and_a_device_are_left_as_they_are(here: Path) -> None:
    os.mkfifo(here / "pipe.csv")
    assert evalkit("export", "r", "-o", "pipe.csv") == 2
    assert stat.S_ISFIFO((here / "pipe.csv").stat().st_mode)
    (here / "none.csv").symlink_to("/dev/null")
    for path in (Path("/dev/null"), here / "none.csv"):
        with pytest.raises(ConfigurationError, match="is a device or a pipe"):
            target("--out", path, lambda _: True)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_folder_of_other_things_is_no_runs_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "notes.txt").write_text("precious")
    for more in ((), ("--dry-run",)):
        assert evalkit("run", "suite.yaml", "-n", "1", "-o", "mine", *more) == 2
        assert "holds no run but other things (notes.txt)" in capsys.readouterr().err
    assert [path.name for path in (here / "mine").iterdir()] == ["notes.txt"]


def test_what_a_killed_start_left_is_no_hindrance(here: Path) -> None:
    (here / "left").mkdir()
    (here / "left" / "run.lock").touch()
    assert evalkit("run", "suite.yaml", "-n", "1", "-o", "left", "--no-report") == 0


def test_a_new_run_in_a_named_folder_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (here / "r" / "run.json").read_bytes()
    assert evalkit("run", "suite.yaml", "-n", "1", "-o", "r", "--new") == 2
    assert "--new: does nothing with --out" in capsys.readouterr().err
    assert (here / "r" / "run.json").read_bytes() == before


LONG = "a" * 300


@pytest.mark.parametrize("words", ["show", "compare", "gate", "report", "export", "doctor", "whatif --cap turns=2"])
def test_a_name_that_is_no_path_is_told_as_no_run(words: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "round").symlink_to("round")
    for name in (LONG, "round", "round/x"):
        assert evalkit(*words.split(), name) == 4
        assert name[:60] in "".join(capsys.readouterr())


@pytest.mark.parametrize("words", ["export r -o", "gate r --min pass^1>=0 --junit", "run suite.yaml -o", "init"])
def test_a_name_that_is_no_path_is_no_place_for_results(words: str, here: Path) -> None:
    (here / "round").symlink_to("round")
    for name in (LONG, f"{LONG}/x", "round/x"):
        assert evalkit(*words.split(), name) == 2


def test_a_report_that_cannot_be_written_is_told_and_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "r" / "report.html").mkdir()
    before = sorted(path.name for path in (here / "r").iterdir())
    assert evalkit("report", "r") == 4
    assert "report.html: cannot be written" in capsys.readouterr().err
    assert sorted(path.name for path in (here / "r").iterdir()) == before


def test_latest_is_the_run_that_was_begun_last_and_not_the_last_by_name(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evalkit("show", "latest") == 4
    assert "name the folder that --out gave" in capsys.readouterr().err
    assert evalkit("run", "suite.yaml", "-n", "1", "-o", "reports/main-run", "--no-report") == 0
    assert evalkit("run", "suite.yaml", "-n", "1", "--seed", "1", "--no-report") == 0
    capsys.readouterr()
    assert evalkit("compare", "main-run", "latest") == 0
    assert "main-run" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", ["show r --full", "show r --against auto", "show nothing --full", "show r one 1 --json --against auto"]
)
def test_a_flag_that_does_nothing_is_told_before_a_run_is_read(words: str, here: Path) -> None:
    (here / "r" / "trials.sqlite").write_bytes(b"")
    assert evalkit(*words.split()) == 2
