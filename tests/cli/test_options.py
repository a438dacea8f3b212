"""Where an option's value comes from: flag, environment, file, default, in this order."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_makers import write

from evalkit.cli.converters import positive, seconds, share, whole
from evalkit.cli.main import main
from evalkit.cli.options import Command
from evalkit.core.errors import ConfigurationError


def command() -> Command:
    """A command with one option of each kind."""
    made = Command("run", "run it")
    made.option("-j", "--jobs", help="workers", convert=whole(1), default=8)
    made.option("--task", help="tasks", many=True, default=())
    made.option("--progress", help="view", choices=("auto", "none"), default="auto")
    made.switch("--dry-run", help="only say")
    return made


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_default(elsewhere: Path) -> None:
    values = command().parse([])
    assert (values.jobs, values.task, values.progress, values.dry_run) == (8, (), "auto", False)
    assert set(values.origins.values()) == {"default"}


def test_flag_beats_environment_beats_file_beats_default(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "pyproject.toml").write_text("[tool.evalkit.run]\njobs = 2\nprogress = 'none'\ntask = ['a', 'b']\n")
    values = command().parse([])
    assert (values.jobs, values.progress, values.task) == (2, "none", ["a", "b"])
    monkeypatch.setenv("EVALKIT_JOBS", "3")
    monkeypatch.setenv("EVALKIT_DRY_RUN", "yes")
    values = command().parse([])
    assert (values.jobs, values.dry_run) == (3, True)
    values = command().parse(["-j", "4", "--task", "x", "--task", "y"])
    assert (values.jobs, values.task) == (4, ["x", "y"])
    assert values.origins == {
        "jobs": "flag",
        "task": "flag",
        "progress": "pyproject.toml",
        "dry_run": "EVALKIT_DRY_RUN",
    }
    assert "jobs = 4  (flag)" in values.described()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("EVALKIT_JOBS", "0", "no whole number of at least 1"),
        ("EVALKIT_JOBS", "many", "no whole number of at least 1"),
        ("EVALKIT_PROGRESS", "loud", "not one of auto, none"),
        ("EVALKIT_DRY_RUN", "perhaps", "neither on nor off"),
    ],
)
def test_a_bad_value_of_the_environment_names_the_variable(
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=message) as caught:
        command().parse([])
    assert variable in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.evalkit.run]\njob = 2", "did you mean jobs"),
        ("[tool.evalkit.run\n", "cannot be read"),
        ("[tool.evalkit.run]\njobs = 'x'", "no whole number"),
    ],
)
def test_a_bad_file_says_what_is_wrong(elsewhere: Path, text: str, message: str) -> None:
    (elsewhere / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        command().parse([])


@pytest.mark.parametrize("argv", [["-j", "0"], ["--jobs", "x"], ["--job", "3"], ["--progress", "loud"], ["extra"]])
def test_bad_flags_end_with_the_usage_code(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command().parse(argv)
    assert caught.value.code == 2
    assert "usage: evalkit run" in capsys.readouterr().err


def test_converters() -> None:
    assert (whole(0)("0"), positive("0.5"), share("1")) == (0, 0.5, 1.0)
    for convert, text in [(positive, "0"), (positive, "nan"), (positive, "inf"), (share, "1.1"), (share, "nan")]:
        with pytest.raises(Exception, match="is no number"):
            convert(text)


@pytest.mark.parametrize("text", ["\u0663", "1_0", "0x10", "1e3", "", " ", "nan", "1.0", "9" * 30, "1001"])
def test_what_is_no_whole_number_within_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="from 1 to 1,000"):
        whole(1, 1_000)(text)


@pytest.mark.parametrize("convert", [positive, share, seconds])
@pytest.mark.parametrize("text", ["\u0660.\u0665", "0_5", "0x1", "nan", "inf", "-1", "", "1e999", "0,5", "x"])
def test_what_is_no_number_is_refused(convert: Callable[[str], float], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no number"):
        convert(text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("export", "r --out="),
        ("plan", "s.yaml --pilot="),
        ("plan", "s.yaml --variant="),
        ("run", "s.yaml --config="),
        ("serve-sim", "s.yaml --profile="),
        ("gate", "r --min="),
    ],
)
def test_a_word_of_nothing_is_refused(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, *words.split()]) == 2
    assert "is empty" in capsys.readouterr().err
    first = words.split(maxsplit=1)[0]
    assert main([name, *["" if word == first else word + "x" for word in words.split()]]) == 2


@pytest.mark.parametrize("words", [["init", ""], ["init", " "], ["doctor", ""], ["show", ""]])
def test_a_place_of_nothing_is_refused(words: list[str], elsewhere: Path) -> None:
    assert main(words) == 2
    assert not list(elsewhere.iterdir())


def test_a_rate_that_is_given_twice_is_refused(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(elsewhere)
    assert main(["serve-sim", "suite.yaml", "--profile", '{"slip": 0.1, "slip": 0.2}']) == 2
    assert "'slip' is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "told"),
    [("--trails", "(did you mean --trials?)"), ("--trails=8", "(did you mean --trials?)"), ("--qq", "")],
)
def test_a_flag_that_is_not_known_is_told_with_the_one_that_was_meant(
    flag: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from evalkit.cli.run import COMMAND as RUN  # noqa: PLC0415  # a real command's flags

    with pytest.raises(SystemExit) as ended:
        RUN.parse(["suite.yaml", flag, "8"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "unrecognized arguments" in said
    assert ("did you mean" in said) is bool(told)
    assert told in said
