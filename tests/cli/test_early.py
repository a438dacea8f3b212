"""Runs that end early: the verdict is that of the full run, what was not played is undefined, and nothing biased is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli.main import main

Printed = pytest.CaptureFixture[str]
TASKS = 20
CONFIG = """\
version: 1
vary: [/provider]
variants:
  agent: {provider: {kind: simulated}}
gates: [{metric: pass^4, min: 0.5}]
"""


def suite(bad: int = 0) -> str:
    """Twenty tasks of four trials, of which the model never solves some."""
    tasks = "".join(
        f"  - id: t{place}\n    prompt: Say one.\n    graders: [{{kind: contains, text: one}}]\n"
        f"    simulate: {{steps: [], answer: {'two' if place < bad else 'one'}}}\n"
        for place in range(TASKS)
    )
    return f"version: 1\nsuite: many\nconfigs: [config.yaml]\ndefaults: {{trials: 4}}\ntasks:\n{tasks}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(CONFIG)
    return tmp_path


def ran(capsys: Printed, bad: int, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run the suite; the exit code, the summary and what was told."""
    Path("suite.yaml").write_text(suite(bad))
    capsys.readouterr()
    code = main(["run", "suite.yaml", "-o", "run", "-j", "1", "--no-report", "--progress", "none", "--json", *words])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


@pytest.mark.parametrize(("bad", "code", "word"), [(0, 0, "pass"), (TASKS, 1, "fail")])
def test_a_gated_run_ends_once_its_verdict_stands_and_says_nothing_else(
    here: Path, capsys: Printed, bad: int, code: int, word: str
) -> None:
    given, found, told = ran(capsys, bad, "--gate")
    assert (given, found["gate"]["verdict"]) == (code, word)
    done = found["completeness"]
    assert 0 < done["skipped"] < 4 * TASKS
    assert done["missing"] == 0
    assert done["planned"] == done["measured"] + done["errors"] + done["missing"] + done["skipped"]
    assert (
        f"curtailed: the gate's verdict stands at {word} whatever the {done['skipped']} trials left may bring" in told
    )
    assert found["early"][0].startswith("Ended early")
    agent = found["variants"]["agent"]
    for estimate in (*agent["pass_hat"].values(), *agent["pass_at"].values(), agent["cap_rate"]):
        assert (estimate["value"], estimate["low"], estimate["high"]) == (None, None, None)
    assert [agent["turns"][end] for end in ("p50", "p95", "p50_low")] == [None] * 3
    assert (agent["usd"]["per_trial"], agent["usd"]["p50"], agent["usd"]["per_reliable_success"]) == (None, None, None)
    assert json.loads((here / "run" / "run.json").read_text())["settings"]["early"] == {"curtailed": word}
    assert main(["gate", "run"]) == code
    text = " ".join(capsys.readouterr().out.split())
    assert "Ended early, since the verdict" in text
    assert "they may still change the verdict of any other rule" in text
    assert main(["gate", "run", "--min", "pass@1>=0.99"]) == (1 if bad else 3)
    assert main(["show", "run"]) == 0
    assert "Ended early" in capsys.readouterr().out


def test_the_curtailed_verdict_is_that_of_the_full_run_and_the_rest_can_be_played(here: Path, capsys: Printed) -> None:
    code, found, _ = ran(capsys, 0, "--gate")
    before = found["completeness"]["measured"]
    again, found, _ = ran(capsys, 0, "--gate")
    assert (again, found["completeness"]["measured"]) == (code, before), "what stands needs no further trial"
    whole, found, _ = ran(capsys, 0, "--gate", "--curtail", "off")
    assert (whole, found["completeness"]["skipped"], found["early"]) == (code, 0, [])
    assert found["variants"]["agent"]["pass_hat"]["1"]["value"] == 1.0


def test_an_open_verdict_is_played_to_its_end(here: Path, capsys: Printed) -> None:
    code, found, _ = ran(capsys, 8, "--gate")
    assert (code, found["completeness"]["skipped"], found["early"]) == (3, 0, [])


@pytest.mark.parametrize(("bad", "code", "word"), [(0, 0, "pass"), (TASKS, 1, "fail")])
def test_a_rule_at_any_time_ends_the_run_when_its_evidence_is_there(
    here: Path, capsys: Printed, bad: int, code: int, word: str
) -> None:
    Path("config.yaml").write_text(CONFIG.replace("min: 0.5", "min: 0.5, rule: anytime"))
    given, found, _ = ran(capsys, bad, "--gate")
    (rule,) = found["gate"]["rules"]
    assert (given, rule["verdict"], rule["kind"], rule["method"]) == (code, word, "anytime", "e-process")
    assert (rule["value"], rule["low"], rule["flips"]) == (None, None, None)
    # 0.5 ** -s over the mean of likelihoods: 20 to 1 are there after 7 tasks, where the bound of all 20 wants 10 or more
    assert found["completeness"]["measured"] == 4 * 7
    assert "after 7 of 20 tasks in the order of play" in rule["sentence"]
    again, found, _ = ran(capsys, bad, "--gate")
    assert (again, found["completeness"]["measured"]) == (code, 4 * 7)
    more, found, _ = ran(capsys, bad, "--gate", "-n", "5")
    assert (more, found["gate"]["rules"][0]["verdict"]) == (code, word)
    assert found["completeness"]["measured"] < 5 * TASKS


def test_a_run_that_goes_on_may_be_looked_at_by_evidence_and_by_nothing_else(here: Path, capsys: Printed) -> None:
    Path("suite.yaml").write_text(suite(0))
    words = ("run", "suite.yaml", "-o", "run", "-j", "1", "--no-report", "--progress", "none", "-n", "4")
    assert main([*words, "--max-usd", "0.00000001"]) == 4, "as if it were under way"
    capsys.readouterr()
    assert main(["gate", "run", "--min", "pass^4>=0.5"]) == 4
    assert main(["gate", "run", "--min", "pass^4>=0.5", "--rule", "anytime"]) == 3
    assert main([*words]) == 0
    assert main(["gate", "run", "--min", "pass^4>=0.5", "--rule", "anytime"]) == 0
    assert main(["gate", "run", "--rule", "anytime"]) == 0, "the flag goes before what the config says"
    capsys.readouterr()
    assert main(["gate", "run", "--min", "pass^5>=0.5", "--rule", "anytime"]) == 3
    told = " ".join(capsys.readouterr().out.split())
    assert "after 0 of 20 tasks" in told
    assert "k=5 needs 5 trials a task" in told


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--min", "pass^4[agent][t1]>=0.5"], "a single task"),
        (["--min", "pass^4>=0.5", "--per-task"], "a single task"),
        (["--max", "usd_per_reliable_success<=1"], "no share"),
        (["--min", "pass^4>=1"], "a bound of 1"),
    ],
)
def test_what_evidence_cannot_judge_is_refused(here: Path, capsys: Printed, words: list[str], what: str) -> None:
    ran(capsys, 0)
    assert main(["gate", "run", "--rule", "anytime", *words]) == 2
    assert what in capsys.readouterr().err


def test_nothing_is_curtailed_without_a_gate_and_the_flag_alone_is_refused(here: Path, capsys: Printed) -> None:
    code, found, _ = ran(capsys, 0)
    assert (code, found["completeness"]["missing"]) == (0, 0)
    assert main(["run", "suite.yaml", "--curtail", "on"]) == 2
    assert "does nothing without --gate" in capsys.readouterr().err


def test_after_a_first_failure_pass_n_is_that_of_the_full_run_and_the_rest_undefined(
    here: Path, capsys: Printed
) -> None:
    code, found, _ = ran(capsys, 5, "--first-failure")
    done = found["completeness"]
    assert (code, done["missing"], done["skipped"]) == (0, 0, 15)
    agent = found["variants"]["agent"]
    assert (agent["pass_hat"]["4"]["value"], agent["pass_hat"]["4"]["method"]) == (0.75, "gaffke")
    assert agent["pass_hat"]["4"]["low"] < 0.75 < agent["pass_hat"]["4"]["high"]
    for estimate in (*(agent["pass_hat"][k] for k in "123"), *(agent["pass_at"][k] for k in "1234")):
        assert (estimate["value"], estimate["low"]) == (None, None)
    assert agent["usd"]["per_trial"] is None
    assert agent["usd"]["why"].startswith("trials were skipped")
    assert found["early"][0].startswith("Later trials of a task were skipped once one had failed: pass^n")
    assert main(["gate", "run", "--min", "pass^4>=0.5"]) == 0
    assert main(["gate", "run", "--min", "pass@1>=0.9"]) == 3
    assert main(["gate", "run", "--min", "pass^4>=0.5", "--scope", "suite"]) == 3
    assert "no interval" in capsys.readouterr().out
    assert main(["plan", "suite.yaml", "--pilot", "run"]) == 2
    assert "was cut short by how its trials ended" in capsys.readouterr().err
    full, found, _ = ran(capsys, 5)
    assert (full, found["variants"]["agent"]["pass_hat"]["4"]["value"], found["early"]) == (0, 0.75, [])


def test_runs_with_skipped_trials_are_compared_in_pass_n_alone(here: Path, capsys: Printed) -> None:
    ran(capsys, 8, "--first-failure")
    (here / "run").rename(here / "old")
    ran(capsys, 0)
    capsys.readouterr()
    assert main(["compare", "old", "run", "--shared", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"]["tasks"]["compared"] == 12
    Path("suite.yaml").write_text(suite(8))
    assert main(["run", "suite.yaml", "-o", "new", "--seed", "5", "--no-report", "--progress", "none"]) == 0
    capsys.readouterr()
    assert main(["compare", "old", "new", "--json"]) == 0
    hats, rates = json.loads(capsys.readouterr().out)["comparisons"]
    assert (hats["metric"], hats["difference"], hats["p_within"]) == ("pass^4", 0.0, None)
    assert (rates["difference"], rates["worst"]) == (None, -0.3)


def test_both_together_end_sooner_and_say_both(here: Path, capsys: Printed) -> None:
    code, found, _ = ran(capsys, TASKS, "--gate", "--first-failure")
    assert (code, found["gate"]["verdict"]) == (1, "fail")
    assert found["completeness"]["measured"] <= TASKS
    assert len(found["early"]) == 2


def test_a_verdict_that_stands_only_when_nothing_is_left_is_no_early_end(here: Path, capsys: Printed) -> None:
    Path("suite.yaml").write_text(suite(TASKS))
    main(["run", "suite.yaml", "-o", "run", "-j", "64", "--no-report", "--progress", "none", "--gate", "--json"])
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert ("curtailed" in printed.err) is bool(found["completeness"]["skipped"])
    assert bool(found["early"]) is bool(found["completeness"]["skipped"])


def test_the_page_and_the_files_for_ci_of_a_run_that_ended_early_are_whole(here: Path, capsys: Printed) -> None:
    Path("config.yaml").write_text(CONFIG.replace("{kind: simulated}", "{kind: simulated, latency: 20ms}"))
    Path("suite.yaml").write_text(suite(TASKS))
    words = ["run", "suite.yaml", "-o", "run", "-j", "4", "--progress", "none", "--gate", "--first-failure"]
    assert main([*words, "--junit", "junit.xml"]) == 1
    assert "curtailed: the gate's verdict stands at fail" in capsys.readouterr().err
    page = (here / "run" / "report.html").read_text()
    for part in ("Ended early, since the verdict", "Later trials of a task were skipped"):
        assert part in page
    assert 'type="fail"' in (here / "junit.xml").read_text()
    for form in (["export", "run"], ["export", "run", "--figures", "svg"], ["whatif", "run", "--cap", "turns=1"]):
        assert main(form) == 0
