"""A trial held against another on the terminal: which one is picked, where they part, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_makers import run as evalkit
from cli_makers import write

from evalkit.cli.main import main

SUITE = """\
version: 1
suite: desk
configs: [config.yaml]
defaults:
  trials: 4
  environment: {kind: database, sql: "create table t (a); insert into t values (10), (20)"}
  tools:
    - {kind: sql, name: look, description: Look., params: {a: {type: integer}}, sql: select a from t where a = :a}
tasks:
  - id: twice
    prompt: Look twice.
    graders: [{kind: contains, text: good}]
    simulate:
      steps: [{tool: look, args: {a: 10}}, {tool: look, args: {a: 20}, shows: ["20"]}]
      answer: good
      wrong_answer: bad
      answer_needs: ["20"]
"""

CONFIG = """\
version: 1
baseline: some
vary: [/provider]
variants:
  some: {provider: {kind: simulated, profile: {slip: 0, malformed: 0, spin: 0, forget: 0, premature: 0.25}}}
  never: {provider: {kind: scripted, script: [{text: bad}]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which some trials end before they have looked twice."""
    here = tmp_path_factory.mktemp("against")
    write(here, SUITE, CONFIG)
    done = evalkit("run", "suite.yaml", "-o", "out", "-n", "12", "--no-report", "--progress", "none", folder=here)
    assert done.returncode == 0, done.stderr
    return here / "out"


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Show a trial."""
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def outcomes(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[int, str]:
    """How each trial of `some` ended."""
    lines = shown(capsys, str(folder), "twice").splitlines()
    mine = [line.split() for line in lines if line.startswith("  some #")]
    return {int(words[1].strip("#:")): words[2].strip(",") for words in mine}


def test_a_failing_trial_is_held_against_a_passing_one_and_back(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = outcomes(folder, capsys)
    failing = min(index for index, outcome in ended.items() if outcome == "failed")
    passing = min(index for index, outcome in ended.items() if outcome == "passed")
    text = shown(capsys, str(folder), "twice", str(failing), "--variant", "some", "--against", "auto")
    assert f"✗ some, trial {failing}: failed" in text
    assert "✓ some, trial " in text
    assert text.index("✗ some") < text.index("✓ some")
    assert f"trial {failing} of some ended after tool call 1" in " ".join(text.split())
    back = shown(capsys, str(folder), "twice", str(passing), "--variant", "some", "--against", "auto")
    assert back.index("✓ some") < back.index("✗ some")
    assert max(map(len, text.splitlines())) <= 80


def test_what_both_did_is_told_once_and_the_rest_side_by_side_where_there_is_room(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = outcomes(folder, capsys)
    one, other = [index for index, outcome in ended.items() if outcome == "passed"][:2]
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(capsys, str(folder), "twice", str(one), "--variant", "some", "--against", str(other))
    assert "Alike in the first 2 tool calls" in text
    assert text.count("→ look") == 2
    assert "Their tool calls are all alike" in text
    assert "part" not in text
    assert text.count("stop: finished") == 2
    monkeypatch.setenv("COLUMNS", "120")
    wide = shown(capsys, str(folder), "twice", str(one), "--variant", "some", "--against", str(other))
    (line,) = [line for line in wide.splitlines() if "stop: finished" in line]
    assert line.count("stop: finished") == 2
    assert max(map(len, wide.splitlines())) <= 120


def test_a_variant_is_held_against_another_and_shares_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, str(folder), "twice", "1", "--variant", "some", "--against", "never")
    said = " ".join(text.split())
    assert "Here they part: trial 1 of never ended before its first tool call, trial 1 of some went on." in said
    assert "never, trial 1: failed" in text


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--against", "auto"], "without a trial"),
        (["twice", "1", "--variant", "never", "--against", "auto"], "ended otherwise"),
        (["twice", "1", "--variant", "some", "--against", "1"], "can be held against"),
        (["twice", "1", "--variant", "some", "--against", "99"], "no such record"),
        (["twice", "1", "--variant", "some", "--against", "nosuch"], "can be held against"),
        (["twice", "1", "--variant", "some", "--against", "auto", "--json"], "nothing with --json"),
    ],
)
def test_what_cannot_be_held_against_a_trial_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    assert main(["show", str(folder), *words]) == 2
    assert what in " ".join(capsys.readouterr().err.split())
