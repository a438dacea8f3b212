"""The studies run, at the least size, and what they report has the shape and the sense that is promised."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import pytest

from benchmarks import analysis, coverage, latency, report, sdk, stopping, type1
from benchmarks.laws import LAWS


def last_line(module: ModuleType, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    """Run a study and read its JSON."""
    module.main(list(words))
    found: dict[str, object] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


@pytest.mark.parametrize("law", LAWS)
def test_the_laws_have_the_truth_that_they_name(law: str) -> None:
    drawn = LAWS[law].draw(np.random.default_rng(0), 200_000)
    for k in (1, 8):
        assert float((drawn**k).mean()) == pytest.approx(LAWS[law].truth(k), abs=0.004)


def test_coverage_reports_the_least_of_each_interval(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(coverage, capsys, "--quick", "--runs", "10")
    least = found["least_coverage"]
    assert isinstance(least, dict)
    assert set(least) == {*coverage.POPULATION, "suite", "median"}
    assert all(0.0 <= held <= 1.0 for held in least.values())
    assert found["runs"] == 10


def test_the_usual_intervals_miss_where_ours_hold() -> None:
    found = coverage.cell("beta(.5,.5)", 3, 8, 60, 0)
    assert found["gaffke"][0] > 0.9
    assert found["suite"][0] > 0.9
    assert found["normal"][0] < 0.8
    assert found["pooled (pass@1)"][0] < 0.85
    held, naive = coverage.medians(30, 60, 0)
    assert naive < 0.85 < held


def test_false_alarms_are_reported_for_each_test(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(type1, capsys, "--quick", "--runs", "4")
    most = found["most_false_alarms"]
    assert isinstance(most, dict)
    assert set(most) == {"sign-flip", "normal", "pooled trials", "swap", "pooled chi-square"}


def test_the_pooled_tests_raise_false_alarms_where_ours_do_not_and_a_drop_is_found() -> None:
    alarms = type1.cell("mixed", 30, 16, "mean", 60, 0)
    assert alarms["sign-flip"] < 0.15 < alarms["pooled trials"]
    stops = type1.stops(30, 8, "mean", 60, 0)
    assert stops["swap"] < 0.15 < stops["pooled chi-square"]
    assert type1.cell("mixed", 100, 16, "drop", 20, 0)["sign-flip"] > 0.6


def test_the_analysis_of_a_run_is_metered_part_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(analysis, capsys, "--records", "640")
    assert found["records"] == 640
    parts = found["cpu_s_by_part"]
    assert isinstance(parts, dict)
    assert set(parts) == {"table", "curves", "compare", "stops", "medians", "winner"}


def test_stopping_early_is_reported_for_each_way(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(stopping, capsys, "--quick", "--runs", "4")
    most = found["most_false"]
    assert isinstance(most, dict)
    assert set(most) == set(stopping.WAYS)


def test_curtailment_and_evidence_keep_to_five_percent_where_peeking_does_not_and_skipping_biases_the_rate() -> None:
    found = stopping.cell(0.7, 100, 300, 0, spread=False)
    for name in ("all tasks", "curtailed", "e-process"):
        assert max(found[name][:2]) < 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5
    assert sum(found["peeking"][:2]) > 0.12
    assert stopping.cell(0.4, 100, 20, 0, spread=False)["curtailed"][2] < 0.8
    skipped = stopping.skipping(0.55, 100, 60, 0)
    assert skipped["pass^8"] == pytest.approx(0.55, abs=0.02)
    assert abs(skipped["c/n"] - skipped["true pass@1"]) > 0.05


def test_a_run_that_waits_is_held_against_the_waiting_alone(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(latency, capsys, "--trials", "16", "--jobs", "16", "--latency-ms", "5")
    assert (found["trials"], found["passed"], found["ideal_s"]) == (16, 16, 0.01)
    assert isinstance(found["wall_over_ideal"], float)
    assert found["wall_over_ideal"] >= 1.0


def test_trials_through_the_sdk_are_held_against_the_bare_sdk(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(sdk, capsys, "--trials", "8", "--jobs", "2", "--rounds", "1")
    assert (found["trials"], found["passed"]) == (8, 8)
    assert isinstance(found["of_bare"], float)
    assert found["of_bare"] > 0.0


def test_the_page_of_a_run_is_metered_from_its_making_to_its_opening(capsys: pytest.CaptureFixture[str]) -> None:
    found = last_line(
        report, capsys, "--trials", "64", "--times", "1", "--suite", "structured-output", "--config", "quickstart"
    )
    assert (found["trials"], found["variants"]) == (64, 4)
    assert isinstance(found["report_cpu_s"], float)
    assert 0 < float(str(found["page_mb"])) < 10
    assert found["open_s"] is None or found["elements"]
