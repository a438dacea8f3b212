"""Where replies came from, as a run's folder tells it: never more than its records do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_makers import write

from evalkit.cli.main import main
from evalkit.core.message import Message, Nature, Reply, Request, Text
from evalkit.serve.messages import MessagesServer

CONFIG = """\
version: 1
variants:
  served: {provider: {kind: anthropic, model: any, usd_price: {input: 0, output: 0}}}
gates:
  - {metric: pass@1, min: 0.1}
"""


def answer(request: Request, _: str | None) -> Reply:
    """Say one and two, which both tasks take."""
    return Reply(message=Message(role="assistant", content=(Text(text="one two"),)), stop_reason="end_turn")


@pytest.mark.parametrize(("nature", "badge"), [("simulated", "◌ Simulated model"), ("local", "◍ Local model")])
def test_a_run_against_a_server_is_what_the_server_says(
    nature: Nature, badge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, config=CONFIG)
    monkeypatch.chdir(tmp_path)
    with MessagesServer(answer, nature=nature) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert main(["run", "suite.yaml", "-o", "out", "--progress", "none"]) == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["natures"] == {"served": nature}
    assert badge in (tmp_path / "out" / "report.html").read_text()
    assert f"{badge[2:]}:" in capsys.readouterr().out


def test_a_gate_on_replayed_trials_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, config=CONFIG)
    monkeypatch.chdir(tmp_path)
    with MessagesServer(answer, nature="replayed") as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert main(["run", "suite.yaml", "-o", "out", "--progress", "none", "--no-report", "--gate"]) == 4
    assert "no new evidence" in capsys.readouterr().err
    assert main(["gate", "out", "--min", "pass@1>=0.1"]) == 4
    assert "no new evidence" in capsys.readouterr().err


MIXED = """\
version: 1
vary: [/loop]
common: {provider: {kind: simulated}, caps: {seconds: 30s}}
variants:
  alone: {loop: {kind: python, agent: "agent.py:alone"}}
  asks: {loop: {kind: python, agent: "agent.py:asks"}}
  both: {loop: {kind: python, agent: "agent.py:both"}}
  plain: {loop: {kind: react}}
"""
AGENTS = """\
def alone(task, session):
    return "one two"
def asks(task, session):
    return session.ask().text
def both(task, session):
    return alone(task, session) if task.id == "one" else asks(task, session)
"""


def test_a_provider_that_an_agent_left_alone_is_not_claimed_however_often_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, config=MIXED)
    (tmp_path / "agent.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    for trials in ("1", "1", "2"):
        words = ("run", "suite.yaml", "-o", "out", "--progress", "none", "--no-report", "-n", trials, "-j", "2")
        assert main(words) == 0
        natures = json.loads((tmp_path / "out" / "run.json").read_text())["natures"]
        assert natures == {"alone": "external", "asks": "simulated", "both": "simulated", "plain": "simulated"}
