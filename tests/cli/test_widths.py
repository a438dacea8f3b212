"""Every line that a command prints fits the terminal, unless one word is wider: help and the views of a run. Messages stay on one line, to be searched for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from traced_run import a_run

from evalkit.cli.commands import COMMANDS
from evalkit.cli.help import folded
from evalkit.cli.main import main

VIEWS = (
    ("show", "RUN"),
    ("show", "RUN", "long"),
    ("show", "RUN", "long", "1", "--variant", "free"),
    ("show", "RUN", "long", "1", "--variant", "free", "--full"),
    ("show", "variant", "config.yaml"),
    ("compare", "RUN"),
    ("gate", "RUN", "--min", "pass^4[free]>=0.5"),
    ("gate", "RUN", "--max", "cap_rate(turns)<=0.1", "--per-task"),
    ("gate", "RUN", "--min", "pass^4>=0.5", "--rule", "anytime"),
    ("whatif", "RUN", "--cap", "turns=2"),
    ("plan", "suite.yaml"),
    ("validate", "suite.yaml", "config.yaml"),
    ("doctor", "RUN"),
    ("run", "suite.yaml", "--dry-run"),
)


PIECE = re.compile(r"\[--[^\]]*\]|\S+")
"""What is not broken: a word, and an option with its value in a line of usage."""


def columns(line: str) -> int:
    """How many columns a line takes."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)


def too_wide(text: str, width: int) -> Iterator[str]:
    """Lines that are wider, but for those that one word makes so."""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if columns(line) > width and indent + max(map(columns, PIECE.findall(line))) <= width:
            yield line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of sixteen trials, with its suite and config beside it."""
    return a_run(tmp_path_factory.mktemp("widths"))


@pytest.mark.parametrize(
    ("command", "width"), [(None, 40), *((command, width) for command in (None, *COMMANDS) for width in (80, 60))]
)
def test_help_fits(
    command: str | None, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    if command is None:
        assert main(["--help"]) == 0
    else:
        with pytest.raises(SystemExit):
            main([command, "--help"])
    text = capsys.readouterr().out
    assert len(text.splitlines()) > 10
    assert list(too_wide(text, width)) == []


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
@pytest.mark.parametrize("width", [80, 60])
def test_views_fit(
    words: tuple[str, ...],
    width: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("COLUMNS", str(width))
    main([folder.name if word == "RUN" else word for word in words])
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert list(too_wide(printed.out + printed.err, width)) == []


def test_what_continues_an_entry_stands_under_its_text() -> None:
    assert folded("  4    one two three", 14) == "  4    one two\n       three"
    assert folded("one two\n\nthree four", 8) == "one two\n\nthree\nfour"
