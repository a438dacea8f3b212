"""The real SDK against the simulated model behind a Messages API: a whole suite, trial by trial the same as without."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.core.plan import Spec, Variant
from evalkit.core.record import TrialRecord
from evalkit.load.config import load_config
from evalkit.load.suite import load_suite
from evalkit.parts import build
from evalkit.run.play import play
from evalkit.run.schedule import schedule
from evalkit.serve.faults import Faults
from evalkit.serve.messages import MessagesServer

ROOT = Path(__file__).parents[2]
SUITE = load_suite(ROOT / "suites" / "support-desk.yaml")
SHORT = replace(SUITE, tasks=tuple(replace(task, trials=2) for task in SUITE.tasks))


def served(variant: Variant, url: str) -> Variant:
    """The same loop design, its model asked through the SDK."""
    price = {"input": 3.0, "output": 15.0}
    options = {"model": "simulated", "base_url": url, "identify": True, "usd_price": price}
    return replace(variant, provider=Spec(kind="anthropic", options=options))


def facts(record: TrialRecord) -> tuple[object, ...]:
    """What must be the same either way."""
    return (record.key.task, record.key.index, record.outcome, record.stop.reason, record.answer, record.tally.turns,
            record.tally.tool_calls, record.tally.tokens, record.seed)  # fmt: skip


@pytest.mark.parametrize("name", ["react", "react-window", "react-generic-errors"])
def test_a_whole_suite_through_the_sdk_has_the_same_outcomes(name: str) -> None:
    (variant,) = load_config(ROOT / "configs" / f"{name}.yaml").variants
    expected = [facts(play(trial)) for trial in schedule([SHORT], [variant], 0)]
    model = build("providers", variant.provider)
    with MessagesServer(model.answer(SUITE.tasks)) as server, ThreadPoolExecutor(8) as pool:
        trials = schedule([SHORT], [served(variant, server.url)], 0)
        assert [facts(record) for record in pool.map(play, trials)] == expected
    assert "error" not in {outcome for _, _, outcome, *_ in expected}


def test_faults_that_heal_change_no_outcome_and_every_attempt_is_on_record() -> None:
    (variant,) = load_config(ROOT / "configs" / "react.yaml").variants
    quick = replace(variant, retries=replace(variant.retries, model=12, base=0.001, longest=0.01))
    expected = [facts(play(trial)) for trial in schedule([SHORT], [quick], 0)]
    model = build("providers", quick.provider)
    faults = Faults(server_error=0.08, overloaded=0.06, cut_body=0.03, drop_connection=0.03)
    with MessagesServer(model.answer(SUITE.tasks), faults) as server, ThreadPoolExecutor(8) as pool:
        records = list(pool.map(play, schedule([SHORT], [served(quick, server.url)], 0)))
    assert [facts(record) for record in records] == expected
    retries = sum(record.tally.retries for record in records)
    attempts = sum(len(getattr(event, "attempts", ())) for record in records for event in record.events)
    assert retries == attempts > 0


def test_a_simulated_model_behind_a_server_is_told_from_a_live_one() -> None:
    (variant,) = load_config(ROOT / "configs" / "react.yaml").variants
    model = build("providers", variant.provider)
    trial = next(schedule([SHORT], [variant], 0))
    with MessagesServer(model.answer(SUITE.tasks)) as server:
        record = play(replace(trial, variant=served(variant, server.url)))
    assert record.nature == "simulated"


STORM = {"rate_limit": 0.04, "overloaded": 0.04, "server_error": 0.03, "cut_body": 0.03, "drop_connection": 0.02,
         "html_200": 0.02, "wrong_shape_200": 0.02}  # fmt: skip
"""A fifth of all requests meet a fault."""


def through_a_storm(trials: int, jobs: int, retry_after: float) -> tuple[list[TrialRecord], list[TrialRecord]]:
    """Play so many trials of each task with and without the model behind a server that fails a fifth of all requests."""
    suite = replace(SUITE, tasks=tuple(replace(task, trials=trials) for task in SUITE.tasks))
    (variant,) = load_config(ROOT / "configs" / "react.yaml").variants
    quick = replace(variant, retries=replace(variant.retries, model=12, base=0.001, longest=0.01))
    expected = [play(trial) for trial in schedule([suite], [quick], 0)]
    model = build("providers", quick.provider)
    faults = Faults(**STORM, retry_after=retry_after)  # type: ignore[arg-type]  # each is a share
    with MessagesServer(model.answer(SUITE.tasks), faults) as server, ThreadPoolExecutor(jobs) as pool:
        return expected, list(pool.map(play, schedule([suite], [served(quick, server.url)], 0)))


def tries(record: TrialRecord) -> list[tuple[str, int | None]]:
    """Every failed try of a trial, in order."""
    return [(one.error, one.status) for event in record.events for one in getattr(event, "attempts", ())]


@pytest.mark.parametrize("trials", [2, pytest.param(32, marks=pytest.mark.nightly)])
def test_a_fifth_of_faults_changes_no_outcome_and_is_the_same_in_any_order(trials: int) -> None:
    expected, stormy = through_a_storm(trials, 8, 0.002)
    assert [facts(one) for one in stormy] == [facts(one) for one in expected]
    assert sum(one.tally.retries for one in stormy) == sum(len(tries(one)) for one in stormy) > len(stormy) / 2
    assert {status for one in stormy for _, status in tries(one)} <= {None, 200, 429, 500, 529}
    if trials == 2:
        assert [tries(one) for one in through_a_storm(trials, 2, 0.002)[1]] == [tries(one) for one in stormy]


@pytest.mark.parametrize("trials", [2, pytest.param(32, marks=pytest.mark.nightly)])
def test_a_wait_beyond_the_wall_clock_cap_is_not_begun_and_the_trial_is_void(trials: int) -> None:
    expected, stormy = through_a_storm(trials, 8, 3600.0)
    void = [record for record in stormy if record.outcome == "error"]
    assert 0 < len(void) < len(stormy)
    assert {tries(one)[-1][1] for one in void} == {429}
    assert all(record.tally.waited <= 120.0 for record in stormy)
    told = {(one.key.task, one.key.index): facts(one) for one in expected}
    assert all(facts(one) == told[one.key.task, one.key.index] for one in stormy if one.outcome != "error")
