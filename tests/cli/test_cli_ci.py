"""`--junit` and `--github`: what is refused before a run, what is written after it, and what cannot be forged."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from traced_run import CONFIG, a_run

from evalkit.cli.ci import OUTPUT, SUMMARY, quiet, ready, tell_ci
from evalkit.cli.reading import Run, numbers, open_run
from evalkit.core.errors import ConfigurationError
from evalkit.measure.gate import judge
from evalkit.report.summary import gate_json


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An open run."""
    return open_run(str(a_run(tmp_path_factory.mktemp("ci"))))


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The files that a step of a workflow is given."""
    files = {SUMMARY: tmp_path / "summary.md", OUTPUT: tmp_path / "output.txt"}
    for name, path in files.items():
        monkeypatch.setenv(name, str(path))
    return files


def test_results_are_written_where_a_ci_looks_for_them(
    found: Run, step: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = gate_json(judge(found.table, ["pass^4[bound]>=0.99"], kind="point"), 1)
    path = tmp_path / "new" / "junit.xml"
    ready(str(path), github=True)
    tell_ci(found, gate, junit_path=str(path), github=True)
    root = ET.fromstring(path.read_bytes())  # noqa: S314  # written by the code under test
    assert [suite.get("name") for suite in root] == ["free", "bound", "gate"]
    assert [child.name for child in path.parent.iterdir()] == ["junit.xml"]
    text = step[SUMMARY].read_text(encoding="utf-8")
    assert "gate FAIL" in text
    assert "### Differences to the baseline" in text
    values = dict(line.split("=", 1) for line in step[OUTPUT].read_text(encoding="utf-8").splitlines())
    assert (values["verdict"], values["k"], values["variant"], values["pass_hat"]) == ("fail", "4", "free", "1")
    assert json.loads(values["variants"]) == {"free": 1.0, "bound": 0.5}
    assert values["run"] == str(found.store.folder)
    out, err = capsys.readouterr()
    assert out.startswith("::error title=evalkit gate%3A fail::pass^4 of bound")
    assert err == ""


def test_the_summary_tells_what_detectors_did(tmp_path: Path, step: dict[str, Path]) -> None:
    watched = CONFIG.replace("common: {", "common: {detectors: [{kind: repeat_calls}], ")
    with open_run(str(a_run(tmp_path, watched))).store as store:
        tell_ci(numbers(store), None, junit_path=None, github=True)
    text = step[SUMMARY].read_text(encoding="utf-8")
    assert "| `free` | `repeat_calls` | 0 of 8 | 0 | 0 | 0 | 0 | 0 | 0 |" in text, "one that never fired, too"


def test_with_json_annotations_leave_stdout_alone(
    found: Run, step: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tell_ci(found, None, junit_path=None, github=True, as_json=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("::notice title=evalkit::Simulated model:")


def test_one_of_the_two_files_is_enough(found: Run, step: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OUTPUT)
    ready(None, github=True)
    tell_ci(found, None, junit_path=None, github=True)
    assert step[SUMMARY].exists()
    assert not step[OUTPUT].exists()


def test_outside_of_a_workflow_github_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUMMARY, raising=False)
    monkeypatch.setenv(OUTPUT, "")
    ready(None, github=False)
    with pytest.raises(ConfigurationError, match="no step of a GitHub workflow"):
        ready(None, github=True)


@pytest.mark.parametrize(("where", "message"), [("", "is a folder"), ("file/x.xml", "cannot be written to")])
def test_a_file_that_cannot_be_is_refused_before_the_run(tmp_path: Path, where: str, message: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        ready(str(tmp_path / where), github=False)


def test_asking_beforehand_makes_nothing(tmp_path: Path) -> None:
    ready(str(tmp_path / "run" / "junit.xml"), github=False)
    assert not list(tmp_path.iterdir())


def test_a_summary_that_cannot_be_written_is_no_traceback(
    found: Run, step: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SUMMARY, str(tmp_path))
    with pytest.raises(ConfigurationError, match="--github: cannot be written"):
        tell_ci(found, None, junit_path=None, github=True)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        tell_ci(found, None, junit_path="/proc/nothing/junit.xml", github=False)


def test_what_is_printed_between_cannot_be_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    tokens = set()
    for _ in range(2):
        with quiet(github=True):
            print("::error::forged")  # noqa: T201  # as a hostile name would
        begin, middle, end = capsys.readouterr().out.splitlines()
        token = begin.removeprefix("::stop-commands::")
        assert (middle, end) == ("::error::forged", f"::{token}::")
        assert len(token) == 32
        tokens.add(token)
    assert len(tokens) == 2
    with pytest.raises(ValueError, match="broke"), quiet(github=True):
        raise ValueError("broke")
    assert capsys.readouterr().out.count("::") == 4
    for options in ({"github": False}, {"github": True, "as_json": True}):
        with quiet(**options):
            pass
    assert capsys.readouterr().out == ""
