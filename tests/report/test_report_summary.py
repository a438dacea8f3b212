"""The JSON that other programs rely on: complete, free of NaN, and equal to what was measured."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from report_json import an_about
from report_pages import a_page
from report_records import a_key, a_record, a_run, a_table, bare

from evalkit.core.plan import Gate, Spec
from evalkit.core.record import Flagged, TrialRecord
from evalkit.measure.alarms import Alarms
from evalkit.measure.compare import compare
from evalkit.measure.gate import judge
from evalkit.measure.rule import Rule
from evalkit.measure.stop_shift import stop_shifts
from evalkit.report.configs import pointers
from evalkit.report.summary import compare_json, gate_json, summarise, task_rows
from evalkit.report.terminal import compare_text, gate_text, headline, task_table

VARIANTS = ("react", "plan")


def trials(task: str, *outcomes: str, variant: str = "react") -> list[TrialRecord]:
    """Trials of one task with these outcomes."""
    made = []
    for index, outcome in enumerate(outcomes, 1):
        record = replace(a_record(a_key(task, variant, index), 1.0), outcome=outcome)  # type: ignore[arg-type]  # a literal
        graded = {"passed": "pass", "failed": "fail", "error": None}[outcome]
        made.append(replace(record, graded=graded))  # type: ignore[arg-type]  # a literal
    return made


def summary_of(records: list[TrialRecord], planned: int = 8, **facts: Any) -> dict[str, Any]:
    """The summary of some records."""
    return summarise(a_table(records, planned), an_about(**facts))


def test_the_summary_has_the_keys_that_are_promised() -> None:
    found = summary_of(list(a_run(3, VARIANTS)))
    assert set(found) == {"run", "suite", "natures", "sandbox", "completeness", "early", "variants", "highest"}
    assert found["completeness"] == {"planned": 48, "measured": 48, "errors": 0, "missing": 0, "skipped": 0}
    assert set(found["variants"]) == set(VARIANTS)
    react = found["variants"]["react"]
    promised = {
        "tasks",
        "trials",
        "passed",
        "failed",
        "errors",
        "missing",
        "skipped",
        "pass_hat",
        "pass_at",
        "stops",
        "stops_passed",
    }
    assert promised | {"usd", "turns", "tokens", "seconds"} <= set(react)
    assert list(react["pass_hat"]) == list(react["pass_at"]) == [str(k) for k in range(1, 9)]
    assert set(react["pass_hat"]["8"]) == {"value", "low", "high", "confidence", "scope", "method", "tasks", "n"}
    quantiles = {"p50", "p95", "p50_low", "p50_high", "p95_low", "p95_high"}
    assert set(react["usd"]) == {"total", "per_trial", "per_reliable_success"} | quantiles
    assert set(react["turns"]) == set(react["tokens"]) == set(react["seconds"]) == quantiles
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_highest_variant_is_told_with_its_luck_and_the_headline_says_it() -> None:
    found = summary_of(trials("a", *["passed"] * 8) + trials("a", *["passed"] * 7, "failed", variant="plan"))
    assert found["highest"]["variant"] == "react"
    assert (found["highest"]["k"], found["highest"]["of"], found["highest"]["value"]) == (8, 2, 1.0)
    assert f"about {found['highest']['overstates']:.2f} too high by chance: run it again" in " ".join(
        headline(found).split()
    )
    assert summary_of(trials("a", "passed"))["highest"] is None


def test_the_numbers_are_those_of_the_trials() -> None:
    records = trials("a", *["passed"] * 8) + trials("b", *["passed"] * 4, *["failed"] * 4)
    react = summary_of(records)["variants"]["react"]
    assert (react["trials"], react["passed"], react["failed"]) == (16, 12, 4)
    assert react["pass_hat"]["1"]["value"] == pytest.approx(0.75)
    assert react["pass_hat"]["2"]["value"] == pytest.approx((1 + 6 / 28) / 2)
    assert react["pass_hat"]["8"]["value"] == 0.5
    assert react["usd"]["total"] == pytest.approx(sum(record.tally.usd or 0 for record in records))
    assert react["usd"]["per_reliable_success"] == pytest.approx(react["usd"]["total"])


def test_what_is_undefined_is_null_with_its_reason_and_its_range() -> None:
    records = trials("a", *["passed"] * 8) + trials("b", *["passed"] * 7, "error")
    react = summary_of(records)["variants"]["react"]
    found = react["pass_hat"]["8"]
    assert (found["value"], found["low"], found["high"]) == (None, None, None)
    assert "b" in found["why"]
    assert (found["worst"], found["best"]) == (0.5, 1.0)
    assert react["usd"]["per_reliable_success"] is None
    assert react["usd"]["why"]
    json.dumps(react, allow_nan=False)


def test_missing_trials_and_unknown_prices_are_said() -> None:
    records = trials("a", "passed", "failed")
    records[0] = replace(records[0], tally=replace(records[0].tally, usd=None))
    found = summary_of(records, planned=4)
    assert found["completeness"] == {"planned": 4, "measured": 2, "errors": 0, "missing": 2, "skipped": 0}
    assert found["variants"]["react"]["missing"] == 2
    assert found["variants"]["react"]["usd"]["total"] is None


def test_stops_count_all_trials_and_those_whose_graders_said_pass() -> None:
    capped = replace(
        trials("a", "failed")[0], graded="pass", stop=replace(a_record(a_key(), 1.0).stop, reason="cap:usd")
    )
    records = [capped, *trials("b", "passed")]
    react = summary_of(records, planned=1)["variants"]["react"]
    assert react["stops"] == {"cap:usd": 1, "finished": 1}
    assert react["stops_passed"] == {"cap:usd": 1, "finished": 1}
    assert react["cap_rate"]["value"] == 0.5


def test_a_trial_whose_grader_broke_is_in_error_however_it_stopped() -> None:
    react = summary_of(trials("a", "passed", "failed", "error"), planned=3)["variants"]["react"]
    assert react["stops"] == {"finished": 3}
    assert react["stops_errors"] == {"finished": 1}


def test_only_a_simulated_run_is_called_simulated() -> None:
    records = trials("a", "passed")
    assert summary_of(records, 1)["natures"] == ["simulated"]
    assert summary_of(records, 1, natures=("live",))["natures"] == ["live"]
    assert summary_of(records, 1, natures=("live", "simulated"))["natures"] == ["live", "simulated"]


def test_a_run_without_trials_has_a_summary() -> None:
    table = a_table([])
    found = summarise(table, an_about())
    assert found["variants"] == {}
    assert task_rows(table) == []
    planned = a_table(list(a_run(1, VARIANTS)))
    assert json.dumps(summarise(planned, an_about()), allow_nan=False)


def test_the_tasks_are_told_in_the_order_of_the_plan() -> None:
    records = trials("z", "passed", "failed") + trials("a", "passed", "error")
    assert [(row["task"], row["variants"]["react"]) for row in task_rows(a_table(records, planned=3))] == [
        ("z", {"passed": 1, "failed": 1, "errors": 0, "missing": 1, "skipped": 0}),
        ("a", {"passed": 1, "failed": 0, "errors": 1, "missing": 1, "skipped": 0}),
    ]


def test_a_comparison_is_told_with_what_differs() -> None:
    table = a_table(list(a_run(6, VARIANTS)), baseline="react")
    about = an_about(*VARIANTS)
    found = compare_json(compare(table), pointers(about.variants), "react")
    assert found["baseline"] == "react"
    assert found["configs"] == {"differs": ["/loop/kind"]}
    assert [(one["variant"], one["metric"]) for one in found["comparisons"]] == [("plan", "pass^8"), ("plan", "pass@1")]
    keys = {"variant", "metric", "tasks", "difference", "low", "high", "p", "p_adjusted", "better", "worse", "equal"}
    keys |= {"baseline", "p_within", "confidence", "scope", "method", "n"}
    assert set(found["comparisons"][0]) == keys | {"sentence"}
    assert found["stops"] == []
    json.dumps(found, allow_nan=False)


def test_shifted_stops_are_told_and_shown_and_undefined_ones_with_their_reason() -> None:
    records = list(a_run(6, VARIANTS))
    table = a_table(records, baseline="react")
    found = compare_json(compare(table), pointers(an_about(*VARIANTS).variants), "react", stop_shifts(table))
    (one,) = found["stops"]
    keys = {
        "variant",
        "baseline",
        "tasks",
        "variation",
        "expected",
        "chi_square",
        "p",
        "p_adjusted",
        "differing",
        "reasons",
    }
    assert set(one) == keys | {"sentence"}
    assert one["variant"] == "plan"
    reason = {"reason", "variant", "baseline", "difference", "low", "high", "p", "p_adjusted"}
    assert all(set(row) == reason for row in one["reasons"])
    assert " ".join(f"stops: {one['sentence']}".split()) in " ".join(compare_text(found).split())
    records[5] = replace(records[5], outcome="error", graded=None)
    undefined = stop_shifts(a_table(records, baseline="react"))
    (one,) = compare_json([], (), "react", undefined)["stops"]
    assert one["variation"] is None
    assert "in error" in one["why"]
    json.dumps(one, allow_nan=False)


def test_detectors_are_told_where_traces_were_read_those_too_that_never_fired() -> None:
    records = list(a_run(2, VARIANTS))
    about = an_about(*VARIANTS)
    watched = replace(about.variants[0], detectors=(Spec(kind="repeat_calls"), Spec(kind="ngrams")))
    about = replace(about, variants=(watched, about.variants[1]))
    alarms = Alarms()
    flag = Flagged(turn=1, detector="ngrams", pattern="x", then="warn", at=0.0)
    for record in records:
        fired = record.key.variant == "react" and record.outcome == "passed"
        alarms.add(replace(record, events=(*record.events, flag)) if fired else record)
    found = summarise(a_table(records), about, alarms)["variants"]
    passed = sum(one.outcome == "passed" for one in records if one.key.variant == "react")
    assert list(found["react"]["detectors"]) == ["repeat_calls", "ngrams"]
    assert found["react"]["detectors"]["ngrams"]["passed"] == found["react"]["detectors"]["ngrams"]["flagged"] == passed
    assert found["react"]["detectors"]["repeat_calls"]["flagged"] == 0
    assert found["plan"]["detectors"] == {}
    assert "detectors" not in summarise(a_table(records), about)["variants"]["react"]


def test_a_gate_is_told_with_each_rule() -> None:
    table = a_table(list(a_run(6, VARIANTS)), baseline="react")
    rules: list[Rule | Gate | str] = [
        "pass^8[react]>=0.2",
        "usd_per_reliable_success<=1",
        Gate(metric="pass@1", baseline="react", max_drop=0.5),
    ]
    found = gate_json(judge(table, rules), 3)
    assert found["exit_code"] == 3
    keys = {"rule", "variant", "task", "value", "low", "high", "threshold", "verdict", "sentence", "flips"}
    assert keys <= set(found["rules"][0])
    assert found["rules"][-1]["baseline"] == "react"
    json.dumps(found, allow_nan=False)
    text = gate_text(found)
    assert all(rule["rule"] in text for rule in found["rules"])
    html = a_page(gate=found)
    assert "pass@1 drops at most 0.5 from react" in html
    nothing = gate_json(judge(a_table([]), ["pass^8>=0.5"]), 4)
    assert nothing == {"verdict": "invalid", "exit_code": 4, "rules": [], "notes": [], "why": "no trial is planned"}
    assert "no trial is planned" in a_page(gate=nothing)


def test_everything_measured_can_be_shown_everywhere() -> None:
    records = list(a_run(6, VARIANTS))
    records[5] = replace(records[5], outcome="error", graded=None)
    table, about = a_table(records[:-1], baseline="react"), an_about(*VARIANTS)
    summary, tasks = summarise(table, about), task_rows(table)
    compared = compare_json(compare(table), pointers(about.variants), "react")
    for text in (headline(summary), task_table(tasks), compare_text(compared)):
        assert "None" not in text
        assert "nan" not in text
    assert "cannot be compared" in compare_text(compared)
    page = a_page(
        records[:-1],
        summary=summary,
        tasks=tasks,
        comparisons=compared["comparisons"],
        gate=None,
        about=about,
        rows=[bare(record) for record in records[:-1]],
    )
    assert "! Incomplete: 94 of 96 trials judged" in page
