"""`evalkit whatif` from a run folder: what it prints, refuses and gives as exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_makers import run as evalkit
from traced_run import a_run

from evalkit.cli.options import Values
from evalkit.cli.reading import open_run
from evalkit.cli.whatif import COMMAND, courses, run
from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.core.plan import Caps
from evalkit.measure.counterfactual import whatif
from evalkit.report.whatif import whatif_json, whatif_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run: one task takes two turns, the other four; one variant is capped at three."""
    return a_run(tmp_path_factory.mktemp("whatif"))


def asked(*words: str) -> Values:
    """What a command line gives."""
    return COMMAND.parse(list(words))


def test_each_variant_stands_as_it_was_run_and_as_it_would_have_been(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(asked(str(folder), "--cap", "turns=3", "--no-color")) == 0
    out = capsys.readouterr().out
    assert "desk had the caps been turns=3" in out
    assert "Simulated model" in out
    assert "4 trials would have ended there, 4 of which had passed" in out
    assert "nothing changes: every trial ends as it did" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(("  as run", "  capped"))]
    assert [row[:3] for row in rows if row[0] == "capped"] == [["capped", "0.500", "0.500"]] * 2
    assert ["as", "run", "1.000"] in [row[:3] for row in rows]


def test_json_is_one_object_with_both_sides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(asked(str(folder), "--cap", "turns=2", "--cap", "tokens=100000", "--json")) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert shown["caps"] == {"turns": 2, "tokens": 100000}
    assert shown["natures"] == ["simulated"]
    free = shown["variants"]["free"]
    assert (free["cut"], free["lost"]) == (4, 4)
    assert set(free["before"]["pass_hat"]) == {"1", "2", "3", "4"}
    assert free["before"]["pass_hat"]["4"]["value"] == 1.0
    assert free["after"]["pass_hat"]["4"]["value"] == 0.5
    assert free["after"]["pass_hat"]["4"]["low"] < 0.5 < free["after"]["pass_hat"]["4"]["high"]
    assert free["after"]["cap_rate"]["value"] == 0.5
    assert free["after"]["usd"]["total"] < free["before"]["usd"]["total"]
    assert "why" not in free


def test_a_variant_that_nothing_is_known_of_says_why_beside_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(asked(str(folder), "--cap", "turns=4", "--json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["variants"]["bound"]["after"] is None
    assert "ended by their own cap" in shown["variants"]["bound"]["why"]
    assert shown["variants"]["free"]["cut"] == 0
    assert run(asked(str(folder), "--cap", "turns=4")) == 0
    assert "not known: 4 trials ended by their own cap" in " ".join(capsys.readouterr().out.split())


def test_the_command_tells_mistakes_as_usage(folder: Path) -> None:
    done = evalkit("whatif", "out", "--cap", "turns=1000", folder=folder.parent)
    assert done.returncode == 0, "no trial of free was ever capped, so a looser cap changes nothing there"
    done = evalkit("whatif", "out", folder=folder.parent)
    assert done.returncode == 2
    assert "write --cap turns=12" in done.stderr


@pytest.mark.parametrize(
    "cap", ["turns=0", "turns=1.5", "turns", "=3", "steps=3", "usd=nan", "usd=-1", "seconds=inf", "tokens=many", ""]
)
def test_a_cap_that_is_none_is_refused_with_what_was_expected(cap: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        asked("out", "--cap", cap)
    assert caught.value.code == 2
    assert "argument --cap" in capsys.readouterr().err


def test_one_meter_twice_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="turns: is given twice"):
        run(asked(str(folder), "--cap", "turns=3", "--cap", "turns=4"))


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such folder"):
        run(asked(str(tmp_path / "nothing"), "--cap", "turns=3"))


def test_a_narrow_terminal_gets_fewer_columns(folder: Path) -> None:
    found = open_run(str(folder))
    with found.store:
        told = whatif(found.table, courses(found), Caps(turns=3))
        text = whatif_text(whatif_json(told, Caps(turns=3), found.about), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert "pass^4" in text


def test_an_unknown_run_under_reports_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunInvalid, match="no run under reports"):
        run(asked("latest", "--cap", "turns=3"))
