"""`evalkit export` from a run folder: trials and figures as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cli_makers import run as evalkit
from traced_run import a_run

from evalkit.cli.export import COMMAND, run
from evalkit.core.errors import ConfigurationError
from evalkit.report.exports import COLUMNS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of sixteen trials."""
    return a_run(tmp_path_factory.mktemp("export"))


def exported(*words: str) -> int:
    """Run the command."""
    return run(COMMAND.parse(list(words)))


def test_without_a_word_a_csv_is_written_into_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exported(str(folder)) == 0
    path = folder / "trials.csv"
    assert capsys.readouterr().out.strip() == str(path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    assert list(rows[0]) == list(COLUMNS)
    assert [row["trial"] for row in rows[:4]] == ["1", "2", "3", "4"], "in the order of the plan"
    assert {row["stop"] for row in rows} == {"finished", "cap:turns"}


def test_the_files_ending_tells_the_format_and_a_flag_overrules_it(folder: Path, tmp_path: Path) -> None:
    exported(str(folder), "-o", str(tmp_path / "new" / "x.jsonl"), "--events")
    lines = [json.loads(line) for line in (tmp_path / "new" / "x.jsonl").read_text().splitlines()]
    assert len(lines) == 16
    assert {event["type"] for event in lines[0]["events"]} >= {"asked", "acted", "halted"}
    exported(str(folder), "-o", str(tmp_path / "x.csv"), "--format", "jsonl")
    assert json.loads((tmp_path / "x.csv").read_text().splitlines()[0])["variant"] == "free"
    exported(str(folder), "-o", str(tmp_path / "x.txt"))
    assert (tmp_path / "x.txt").read_text().startswith('"suite"')


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_figures_go_into_their_own_folder(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "trials.csv").exists()
    assert exported(str(folder), "--figures", form) == 0
    written = sorted(path.name for path in (folder / "figures").glob(f"*.{form}"))
    assert {f"decay.{form}", f"stops.{form}", f"cap-turns.{form}"} <= set(written)
    assert len(capsys.readouterr().out.splitlines()) == len(written)
    assert (folder / "trials.csv").exists() == before, "trials are written only where they are asked for"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "csv", "--events"], "a CSV holds no events"),
        (["-o", "."], "is a folder"),
        (["-o", "/proc/nothing/here.csv"], "cannot be written"),
    ],
)
def test_what_cannot_be_written_says_so(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        exported(str(folder), *words)


def test_the_command_gives_its_exit_codes(folder: Path) -> None:
    assert evalkit("export", "out", "-o", "x.csv", folder=folder.parent).returncode == 0
    assert evalkit("export", "out", "--format", "xls", folder=folder.parent).returncode == 2
    assert evalkit("export", "nowhere", folder=folder.parent).returncode == 4


def test_spans_go_into_a_file_or_to_a_collector_and_only_with_flags_that_mean_something(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    assert exported(str(folder), "--format", "otel") == 0
    path = folder / "trials.otel.jsonl"
    assert capsys.readouterr().out.strip() == str(path)
    lines = path.read_text().splitlines()
    assert len(lines) == 16
    assert "invoke_agent free" in lines[0]
    assert "Look once" not in path.read_text()
    assert "seen" not in path.read_text()
    exported(str(folder), "--format", "otel", "--content", "-o", str(tmp_path / "x"))
    assert "seen" in (tmp_path / "x").read_text()
    exported(str(folder), "--format", "otel", "-o", str(tmp_path / "x"))
    for words, what in (
        (["--to", "http://127.0.0.1:9", "--format", "csv"], "goes with spans alone"),
        (["--content"], "goes with spans alone"),
        (["--format", "otel", "--events"], "does nothing here"),
        (["--to", "http://127.0.0.1:9", "-o", "x"], "give one of them"),
        (["--to", "nowhere"], "no address of a collector"),
        (["--format", "csv", "-o", str(tmp_path / "x")], "holds something else"),
    ):
        with pytest.raises(ConfigurationError, match=what):
            exported(str(folder), *words)
