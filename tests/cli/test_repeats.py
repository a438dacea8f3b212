"""What is asked for twice, or by a name that nobody knows, is told and never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_makers import write

from evalkit.cli.main import main
from evalkit.cli.options import Command
from evalkit.cli.variables import unknown
from evalkit.core.errors import ConfigurationError


@pytest.mark.parametrize(
    "more",
    [
        ("./suite.yaml",),
        ("link.yaml",),
        ("-c", "config.yaml", "-c", "./config.yaml"),
        ("--variant", "good", "--variant", "good"),
        ("--task", "one", "--task", "one"),
        ("-n", "4", "--trials", "8"),
    ],
)
def test_nothing_is_asked_for_twice(
    more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    (tmp_path / "link.yaml").symlink_to("suite.yaml")
    code: object
    try:
        code = main(["run", "suite.yaml", *more])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr().err
    assert code == 2
    assert "given twice" in told or "is the same as" in told
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.evalkit.rnu]\njobs = 2", "did you mean run"),
        ("[tool.evalkit]\njobs = 2", "unknown command 'jobs'"),
        ("[tool.evalkit]\nrun = 3", "is no table"),
        ("tool = 3", "is no table"),
        ("[tool.evalkit.run]\nseed = [1]", "is not one value"),
    ],
)
def test_a_key_of_the_file_that_sets_nothing_is_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    command = Command("run", "run it")
    command.option("--seed", help="seed")
    with pytest.raises(ConfigurationError, match=message):
        command.parse([])


def test_a_variable_that_sets_nothing_is_told_of() -> None:
    told = list(
        unknown(
            {"EVALKIT_MAX_UDS": "5", "evalkit_jobs": "2", "EVALKIT_CAP": "", "EVALKIT_PROMPT_FILE": "", "HOME": "/"}
        )
    )
    assert len(told) == 2
    assert "did you mean EVALKIT_MAX_USD?" in told[0]
    assert "did you mean EVALKIT_JOBS?" in told[1]


@pytest.mark.parametrize("words", [("whatif", "nosuch"), ("gate", "nosuch", "--max-drop", "0.1")])
def test_a_run_that_there_is_not_is_told_first(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 4
    assert "nosuch" in capsys.readouterr().err
