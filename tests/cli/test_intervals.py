"""The flags that say how intervals are made: what they change, where it is said, and where they would do nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli.main import main

Printed = pytest.CaptureFixture[str]
PASSES = (16, 16, 16, 16, 16, 16, 15, 14, 12, 0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with an imported run: ten tasks of sixteen trials under two variants."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"t{place},{trial},{trial < passed - cost},{name}"
        for name, cost in (("one", 0), ("two", 1))
        for place, passed in enumerate(PASSES)
        for trial in range(16)
    ]
    Path("run.csv").write_text("\n".join(["task_id,trial,passed,variant", *rows]) + "\n")
    assert main(["import", "run.csv", "-o", "run"]) == 0
    return tmp_path


def printed(capsys: Printed, *words: str) -> tuple[int, Any]:
    """The exit code of a command and its JSON."""
    capsys.readouterr()
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def width(one: dict[str, Any]) -> float:
    """How wide an interval is."""
    return float(one["high"] - one["low"])


def test_show_makes_each_interval_as_asked_and_says_how(here: Path, capsys: Printed) -> None:
    found = {
        flags: printed(capsys, "show", "run", *flags)[1]["variants"]["one"]["pass_hat"]["8"]
        for flags in ((), ("--scope", "suite"), ("--method", "jeffreys"), ("--confidence", "0.8"))
    }
    usual, suite, jeffreys, less = found.values()
    assert (usual["method"], usual["scope"], usual["n"]) == ("gaffke", "population", [16, 16])
    assert (suite["method"], suite["scope"]) == ("effective-clopper-pearson", "suite")
    assert (jeffreys["method"], less["confidence"]) == ("jeffreys", 0.8)
    assert max(width(suite), width(jeffreys), width(less)) < width(usual)
    assert len({one["value"] for one in found.values()}) == 1
    assert main(["show", "run", "--scope", "suite"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "for these very tasks" in said
    assert "intervals: effective-clopper-pearson, for these very tasks again (suite), 95%" in said


def test_compare_takes_a_confidence_and_means_by_chance_what_that_says(here: Path, capsys: Printed) -> None:
    usual, less = (printed(capsys, "compare", "run", *flags)[1] for flags in ((), ("--confidence", "0.8")))
    assert width(less["comparisons"][0]) < width(usual["comparisons"][0])
    assert less["comparisons"][0]["confidence"] == 0.8
    assert {(one["scope"], one["method"]) for one in less["comparisons"]} == {("population", "bonett-price")}


def test_the_gate_judges_by_the_bounds_that_are_asked_for(here: Path, capsys: Printed) -> None:
    code, found = printed(capsys, "gate", "run", "--min", "pass^8[one]>=0.45")
    assert (code, found["rules"][0]["scope"], found["rules"][0]["method"]) == (3, "population", "gaffke")
    code, found = printed(capsys, "gate", "run", "--min", "pass^8[one]>=0.45", "--scope", "suite")
    assert (code, found["rules"][0]["scope"]) == (0, "suite")
    assert "(suite, effective-clopper-pearson)" in found["rules"][0]["sentence"]
    code, found = printed(capsys, "gate", "run", "--min", "pass^8[one]>=0.45", "--method", "jeffreys")
    assert found["rules"][0]["method"] == "jeffreys"
    code, found = printed(capsys, "gate", "run", "--baseline", "one")
    assert {rule["method"] for rule in found["rules"]} == {"bonett-price"}


def test_a_report_says_how_its_intervals_were_made(here: Path) -> None:
    assert main(["report", "run", "--scope", "suite", "--confidence", "0.9"]) == 0
    assert "effective-clopper-pearson, scope suite, confidence 90%" in (here / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["show", "run", "--scope", "suite", "--method", "jeffreys"], "the scope suite has one method of its own"),
        (["show", "run", "t0", "--scope", "suite"], "only a whole run has intervals"),
        (["show", "run", "--confidence", "0.2"], "is no confidence"),
        (["compare", "run", "--confidence", "1"], "is no confidence"),
        (["report", "run", "--confidence", "0"], "is no confidence"),
        (["gate", "run", "--baseline", "one", "--scope", "suite"], "no rule bounds a share of the whole suite"),
        (["gate", "run", "--min", "pass^8[one][t0]>=0.1", "--method", "jeffreys"], "no rule bounds a share"),
        (["gate", "run", "--min", "pass^8>=0.1", "--per-task", "--scope", "suite"], "no rule bounds a share"),
        (["gate", "run", "--max", "usd_per_reliable_success<=1", "--scope", "suite"], "no rule bounds a share"),
    ],
)
def test_flags_that_would_do_nothing_are_refused(here: Path, capsys: Printed, words: list[str], part: str) -> None:
    capsys.readouterr()
    assert main(words) == 2
    assert part in capsys.readouterr().err
