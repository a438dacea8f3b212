"""Warnings say what was found, in numbers."""

from __future__ import annotations

from dataclasses import replace

from report_json import a_summary, a_task_row, a_variant_summary
from report_records import a_key, a_record

from evalkit.core.record import Stop, Tally
from evalkit.report.quality import counts, depth, warnings


def test_trials_add_up_by_variant() -> None:
    record = replace(a_record(a_key(), 1.0), tally=Tally(retries=2, tool_errors=1, usd=None), models=("m",))
    broken = replace(record, outcome="error", stop=Stop(reason="error:provider"), attempt=3)
    again = replace(record, attempt=2, models=("m", "n"))
    found = counts([record, broken, again, replace(again, outcome="failed"), replace(record, key=a_key(variant="w"))])
    assert set(found) == {"react", "w"}
    assert (found["react"].retries, found["react"].tool_errors, found["react"].unpriced) == (8, 4, 4)
    assert (found["react"].again, found["react"].again_passed) == (2, 1)
    assert found["react"].broke == {"error:provider": 1}
    assert found["react"].models == {"m": 4, "n": 2}


def test_what_nobody_counted_has_no_sum_and_is_named() -> None:
    told = replace(a_record(a_key(), 1.0), tally=Tally(retries=2, tool_errors=1))
    untold = replace(told, tally=Tally(turns=4, uncounted=("tool_calls", "seconds")))
    found = counts([told, untold, told])
    assert (found["react"].retries, found["react"].tool_errors, found["react"].uncounted) == (None, None, 1)
    said = list(warnings(a_summary(), [], found))
    assert "react: nobody told the tool calls and time of 1 trial, so they are unknown." in said
    silent = counts([replace(told, tally=Tally(uncounted=("turns",)))])
    assert silent["react"].retries is None
    assert "react: nobody told the turns of 1 trial, so they are unknown." in list(warnings(a_summary(), [], silent))


def test_a_run_without_fault_has_no_warning() -> None:
    tasks = [a_task_row("a", react=8, plan=7), a_task_row("b", react=0, plan=7)]
    assert depth(tasks, "react") == (8, 8)
    assert depth([], "react") == (0, 0)
    assert not list(warnings(a_summary(), tasks, {}))


def test_each_fault_has_its_sentence() -> None:
    record = a_record(a_key(), 1.0)
    found = counts([replace(record, attempt=2, tally=Tally(usd=None), models=("m", "n"))])
    tasks = [a_task_row("a", react=8, plan=8), a_task_row("b", react=3, plan=3)]
    tasks[1]["variants"]["react"] |= {"failed": 1, "errors": 4}
    shown = {"react": a_variant_summary(errors=20, missing=2, passed=100, failed=92), "plan": a_variant_summary()}
    text = "\n".join(warnings(a_summary(shown), tasks, found))
    for part in (
        "20 trials of 406 ended in error",
        "2 trials of 406 planned ones are missing",
        "Errors are not alike: 9.43% of the trials of react, 0% of plan",
        "react: tasks have between 4 and 8 judged trials",
        "react: 1 trial judged only after our own world had broken under an earlier attempt; 100% of them passed, 51.8% of the others",
        "react: the cost of 1 trial is unknown",
        "react: 2 models answered: m, n",
    ):
        assert part in text
