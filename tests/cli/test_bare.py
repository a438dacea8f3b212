"""Data as bare as can be: each command says in a sentence what can and what cannot be said, and never ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cli.main import main

Printed = pytest.CaptureFixture[str]
Counts = dict[str, tuple[int, int, int]]

ONE_TASK: Counts = {"a": (7, 1, 0)}
ONE_TRIAL: Counts = {f"t{place}": (1, 0, 0) if place % 3 else (0, 1, 0) for place in range(8)}
ALL_PASS: Counts = {f"t{place}": (4, 0, 0) for place in range(8)}
ALL_FAIL: Counts = {f"t{place}": (0, 4, 0) for place in range(8)}
UNEQUAL: Counts = {f"t{place}": (4 + place, 1, 0) for place in range(8)}
ERRORS: Counts = {f"t{place}": (3, 0, 1) for place in range(8)}
SUITE = "version: 1\nsuite: s\ndefaults: {trials: 8}\ntasks:\n  - {id: t, prompt: Say one., graders: [{kind: contains, text: one}]}\n"
CONFIG = "version: 1\nvariants: {a: {provider: {kind: scripted, script: [{text: one}]}}}\n"


def imported(counts: Counts) -> None:
    """Import a run of two variants, each with so many trials passed, failed and in error."""
    rows = ["task_id,trial,passed,variant,error"]
    for variant in ("one", "two"):
        for task, (passed, failed, broke) in counts.items():
            ends = ["true,{},"] * passed + ["false,{},"] * failed + [",{},boom"] * broke
            rows += [f"{task},{trial}," + end.format(variant) for trial, end in enumerate(ends)]
    Path("run.csv").write_text("\n".join(rows) + "\n")
    assert main(["import", "run.csv", "-o", "run"]) in (0, 4)


@pytest.mark.parametrize(
    ("counts", "shown", "compared", "gate", "judged", "planned"),
    [
        (ONE_TASK, "One task: its own trials can be told", "One task: its difference", 3, "1 task cannot decide it", "The pilot has one task"),
        (ONE_TRIAL, "One trial a task: pass@1 can be told", "One trial a task: pass@1 alone", 3, "k=8 needs 8 trials a task, task t0 has 1", "The pilot has one trial a task"),
        (ALL_PASS, "Every trial passed: that shows no failures", "Fewer than 6 tasks differ", 3, "k=8 needs 8 trials a task, task t0 has 4", "Every trial of the pilot passed"),
        (ALL_FAIL, "Every trial failed: that shows no passes", "Fewer than 6 tasks differ", 3, "k=8 needs 8 trials a task", "Every trial of the pilot failed"),
        (UNEQUAL, "Tasks have 5 to 12 trials: pass^k can be told up to k = 5", "n=5 to 12", 3, "k=8 needs 8 trials a task, task t0 has 5, and 2 more have too few", "pass@1"),
        (ERRORS, "Incomplete: 16 trials in error", "whatever they bring, the difference lies in", 4, "over the 5% allowed", "8 of the pilot's 32 trials are missing or in error"),
    ],
)  # fmt: skip
def test_bare_data_are_told_as_such_by_every_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Printed,
    counts: Counts,
    shown: str,
    compared: str,
    gate: int,
    judged: str,
    planned: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    imported(counts)
    Path("suite.yaml").write_text(SUITE)
    Path("config.yaml").write_text(CONFIG)
    for words, code, part in (
        (["show", "run"], 0, shown),
        (["compare", "run"], 0, compared),
        (["gate", "run", "--min", "pass^8[one]>=0.5"], gate, judged),
        (["plan", "suite.yaml", "-c", "config.yaml", "--pilot", "run", "-k", "1", "--drop", "0.01"], 0, planned),
    ):
        capsys.readouterr()
        assert main(words) == code
        assert part in " ".join(capsys.readouterr().out.split())


def test_a_run_all_in_error_says_nothing_of_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite.yaml").write_text(SUITE)
    Path("config.yaml").write_text(CONFIG.replace("[{text: one}]", "[]"))
    main(["run", "suite.yaml", "-c", "config.yaml", "-o", "run", "--no-report", "--progress", "none", "--retries", "1"])
    capsys.readouterr()
    assert main(["show", "run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "All trials that were played are in error, so nothing can be said of the agent" in said
    assert main(["gate", "run", "--min", "pass^8>=0.5"]) == 4
    assert main(["plan", "suite.yaml", "-c", "config.yaml", "--pilot", "run"]) == 4
    assert "has no trial of a that passed or failed" in capsys.readouterr().err


def test_a_plan_for_fewer_trials_than_k_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite.yaml").write_text(SUITE)
    Path("config.yaml").write_text(CONFIG)
    assert main(["plan", "suite.yaml", "-c", "config.yaml", "-n", "4", "-k", "8"]) == 0
    assert "4 trials a task, as planned, cannot show pass^8" in capsys.readouterr().out
