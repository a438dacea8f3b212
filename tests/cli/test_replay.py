"""A recorded run, exported and played again: the same trials without a model, and a clear word where they differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_makers import SUITE, write

from evalkit.cli.main import main
from evalkit.cli.reading import open_run
from evalkit.core.record import TrialRecord

PROFILE = "{slip: 0.3, malformed: 0.2, spin: 0.1}"
RECORDED = f"""\
version: 1
variants:
  react: {{provider: {{kind: simulated, profile: {PROFILE}}}}}
"""
REPLAYED = """\
version: 1
variants:
  again: {provider: {kind: replay, run: first, variant: react}}
gates:
  - {metric: pass@1, min: 0.1}
"""
TOOLS = """
def look(place: str) -> str:
    '''Look somewhere.'''
    return f"nothing at {place}"
"""
TASK = """\
  - id: three
    prompt: Look at home, then say gone.
    tools: [{kind: python, function: "tools.py:look"}]
    graders: [{kind: contains, text: gone}]
    simulate: {steps: [{tool: look, args: {place: home}, wrong: {place: away}}], answer: gone}
"""


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recorded run `first`, its replies exported, and a config that replays it."""
    write(tmp_path, SUITE + TASK, RECORDED)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "again.yaml").write_text(REPLAYED)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "suite.yaml", "-o", "first", "--no-report", "--progress", "none"]) == 0
    assert main(["export", "first", "--replies"]) == 0
    return tmp_path


def again(*words: str) -> int:
    return main(["run", "suite.yaml", "-c", "again.yaml", "-o", "second", "--progress", "none", *words])


def records(folder: str) -> list[TrialRecord]:
    run = open_run(folder)
    with run.store:
        return list(run.store.records())


def facts(record: TrialRecord) -> tuple[object, ...]:
    tally = record.tally
    return (record.key.task, record.key.index, record.outcome, record.stop, record.answer, tally.turns, tally.usage,
            tally.tool_errors, tally.usd, record.models)  # fmt: skip


def test_a_replay_gives_the_recorded_trials_and_is_marked_everywhere(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert again() == 0
    assert [facts(one) for one in records("second")] == [facts(one) for one in records("first")]
    assert {one.nature for one in records("second")} == {"replayed"}
    assert "Replayed trials:" in capsys.readouterr().out
    assert "↻ Replayed trials" in (recorded / "second" / "report.html").read_text()
    assert main(["show", "second", "three", "1"]) == 0
    assert "replayed" in capsys.readouterr().out
    assert main(["gate", "second"]) == 4
    assert "no new evidence" in capsys.readouterr().err
    assert json.loads((recorded / "second" / "run.json").read_text())["natures"] == {"again": "replayed"}


def test_an_edited_grader_judges_the_recorded_trials_anew(recorded: Path) -> None:
    suite = recorded / "suite.yaml"
    suite.write_text(suite.read_text().replace("text: gone", "text: never"))
    assert again("--no-report") == 0
    assert {one.outcome for one in records("second") if one.key.task == "three"} == {"failed"}


def test_a_request_in_other_words_ends_the_trial_and_says_what_differs(recorded: Path) -> None:
    (recorded / "others.py").write_text(TOOLS.replace("nothing at", "something at"))
    suite = recorded / "suite.yaml"
    suite.write_text(suite.read_text().replace("tools.py:look", "others.py:look"))
    assert again("--no-report", "--retries", "1") == 4
    (first, *_) = [one for one in records("second") if one.key.task == "three"]
    assert (first.outcome, first.stop.reason) == ("error", "error:provider")
    assert "call 2 of trial 1 of 'three' under 'react' was recorded with other messages" in first.error
    suite.write_text(suite.read_text().replace("Say one.", "Say just one."))
    assert again("--no-report", "--retries", "1", "--task", "one") == 4
    assert "other messages" in next(one.error for one in records("second") if one.key.task == "one")


def test_more_than_was_recorded_is_an_error_that_says_which(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert again("--no-report", "--retries", "1", "--task", "one", "-n", "5") == 4
    assert [one.error for one in records("second") if one.outcome == "error"] == [
        "first/replies.jsonl holds no trial 5 of task 'one' under 'react'"
    ]
    (recorded / "again.yaml").write_text(REPLAYED.replace("variants:", "common: {prompt: Be brief.}\nvariants:"))
    assert main(["run", "suite.yaml", "-c", "again.yaml", "-o", "third", "--progress", "none", "--no-report"]) == 4
    assert "other system prompt or tools" in records("third")[0].error


def test_without_the_file_or_with_a_torn_one_the_mend_is_named(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = recorded / "first" / "replies.jsonl"
    replies.write_text(replies.read_text()[:-40])
    assert again("--no-report", "--retries", "1") == 4
    assert "export it anew" in records("second")[0].error
    replies.unlink()
    capsys.readouterr()
    assert main(["run", "suite.yaml", "-c", "again.yaml", "-o", "third", "--no-report"]) == 2
    assert "evalkit export first --replies" in capsys.readouterr().err
