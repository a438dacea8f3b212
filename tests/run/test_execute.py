"""Executing a schedule: done trials are left alone, errors are played afresh, brakes hold."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import pytest

from evalkit.core.errors import ConfigurationError, StoreError, WorkerDied
from evalkit.core.plan import Spec, Suite, Task, Trial, Variant
from evalkit.core.record import Outcome, Stop, Tally, TrialRecord
from evalkit.run.backends import AHEAD, Serial, backend
from evalkit.run.execute import ERRORS_IN_A_ROW, Brake, Execution
from evalkit.run.play import play
from evalkit.run.schedule import schedule


def trials(tasks: int = 3, n: int = 2) -> list[Trial]:
    """A small plan."""
    graders = (Spec(kind="contains", options={"text": "ok"}),)
    suite = Suite(
        name="s", tasks=tuple(Task(suite="s", id=f"t{i}", prompt="p", graders=graders, trials=n) for i in range(tasks))
    )
    script = [{"text": "ok", "usage": {"input": 1, "output": 1}}]
    return list(schedule([suite], [Variant(name="v", provider=Spec(kind="scripted", options={"script": script}))], 0))


def record_of(trial: Trial, outcome: Outcome = "passed", usd: float = 0.0, *, fatal: bool = False) -> TrialRecord:
    """A record without a story."""
    return TrialRecord(
        key=trial.key,
        seed=trial.seed,
        outcome=outcome,
        stop=Stop(reason="error:provider" if outcome == "error" else "finished"),
        graded=None,
        answer="",
        tally=Tally(usd=usd),
        nature="simulated",
        started=0.0,
        seconds=0.0,
        attempt=trial.attempt,
        fatal=fatal,
        error="down" if outcome == "error" else "",
    )


@dataclass
class Shelf:
    """A store in memory."""

    begun: list[Trial] = field(default_factory=list)
    kept: list[TrialRecord] = field(default_factory=list)

    def done(self) -> frozenset[str]:
        """Keys that passed or failed."""
        return frozenset(record.key.digest for record in self.kept if record.outcome != "error")

    def begin(self, trial: Trial) -> None:
        """Note a start."""
        self.begun.append(trial)

    def keep(self, record: TrialRecord) -> None:
        """Keep."""
        self.kept.append(record)

    def records(self) -> Iterator[TrialRecord]:
        """All."""
        return iter(self.kept)


def execution(play: Callable[[Trial], TrialRecord], shelf: Shelf, **options: object) -> Execution:
    """An execution in this thread."""
    given = {"play": play, "backend": Serial(), "store": shelf, "told": lambda _: None, **options}
    return Execution(**given)  # type: ignore[arg-type]  # options of any type


def test_only_what_is_missing_is_played() -> None:
    shelf, plan = Shelf(), trials()
    execution(record_of, shelf).run(plan[:4])
    ended = execution(record_of, shelf).run(plan)
    assert ended.reason == "complete"
    assert ended.played == 2
    assert len(shelf.kept) == len({record.key for record in shelf.kept}) == 6
    assert [trial.key for trial in shelf.begun] == [record.key for record in shelf.kept]


def test_an_errored_trial_is_played_afresh_a_bounded_number_of_times_and_others_never() -> None:
    shelf, plan = Shelf(), trials(tasks=2, n=1)
    bad = plan[0].key
    execution(lambda trial: record_of(trial, "error" if trial.key == bad else "failed"), shelf, attempts=3).run(plan)
    assert [record.attempt for record in shelf.kept if record.key == bad] == [1, 2, 3]
    assert [record.attempt for record in shelf.kept if record.key != bad] == [1]


def test_an_error_that_heals_is_done() -> None:
    shelf, plan = Shelf(), trials(tasks=1, n=1)
    execution(lambda trial: record_of(trial, "error" if trial.attempt == 1 else "passed"), shelf).run(plan)
    assert [record.outcome for record in shelf.kept] == ["error", "passed"]
    assert shelf.done() == {plan[0].key.digest}


def test_the_budget_of_the_run_stops_starting_trials_and_counts_what_was_spent_before() -> None:
    shelf, plan = Shelf(), trials()
    ended = execution(lambda trial: record_of(trial, usd=1.0), shelf, max_usd=5.0, spent=2.5).run(plan)
    assert ended.reason == "budget"
    assert ended.played == 3


def test_a_fatal_error_ends_the_run_at_once() -> None:
    shelf = Shelf()
    ended = execution(lambda trial: record_of(trial, "error", fatal=True), shelf).run(trials())
    assert (ended.reason, ended.detail, ended.played) == ("fatal", "down", 1)


def test_errors_in_a_row_end_the_run_and_a_success_between_them_does_not() -> None:
    ended = execution(lambda trial: record_of(trial, "error"), Shelf()).run(trials(tasks=30))
    assert (ended.reason, ended.played) == ("outage", ERRORS_IN_A_ROW)
    plan = trials(tasks=30)
    flaky = {trial.key for trial in plan[::2]}
    ended = execution(
        lambda trial: record_of(trial, "error" if trial.key in flaky and trial.attempt == 1 else "passed"), Shelf()
    ).run(plan)
    assert ended.reason == "complete"


def test_the_brake_lets_running_trials_end_and_starts_no_more() -> None:
    brake, shelf = Brake(), Shelf()
    running = execution(record_of, shelf, brake=brake)
    running.told = lambda _: brake.pull("interrupted", "by hand")
    ended = running.run(trials())
    assert (ended.reason, ended.played, len(shelf.begun)) == ("interrupted", 1, 1)


def test_the_first_reason_of_a_brake_stays() -> None:
    brake = Brake()
    brake.pull("budget", "first")
    brake.pull("interrupted", "second")
    assert (brake.reason, brake.detail) == ("budget", "first")


@pytest.mark.parametrize("name", ["threads", "processes"])
def test_workers_that_are_quicker_than_the_reader_wait_for_it_and_nothing_is_left_out(name: str) -> None:
    drawn = 0
    planned = trials(tasks=2 * AHEAD, n=1)

    def draws() -> Iterator[Trial]:
        """Count what is drawn."""
        nonlocal drawn
        for trial in planned:
            drawn += 1
            yield trial

    records = backend(name, 2).map(record_of, draws())
    taken = [next(records)]
    before = -1
    while drawn > before:
        before = drawn
        time.sleep(0.3)
    assert drawn - len(taken) <= 2 + AHEAD
    taken += records
    assert sorted(record.key.task for record in taken) == sorted(trial.key.task for trial in planned)


@pytest.mark.parametrize("name", ["serial", "threads", "processes"])
def test_every_backend_gives_the_same_records(name: str) -> None:

    def facts(record: TrialRecord) -> TrialRecord:
        return replace(
            record,
            started=0.0,
            seconds=0.0,
            tally=replace(record.tally, seconds=0.0),
            grading=replace(record.grading, seconds=0.0),
            events=(),
        )

    plan = trials(tasks=4, n=3)
    expected = {record.key: facts(record) for record in map(play, plan)}
    shelf = Shelf()
    ended = execution(play, shelf, backend=backend(name, 2)).run(plan)
    assert ended.played == 12
    assert {record.key: facts(record) for record in shelf.kept} == expected
    assert {record.outcome for record in shelf.kept} == {"passed"}


def test_threads_play_several_trials_at_once() -> None:
    barrier = threading.Barrier(3, timeout=10)

    def together(trial: Trial) -> TrialRecord:
        barrier.wait()
        return record_of(trial)

    assert execution(together, Shelf(), backend=backend("threads", 3)).run(trials()).played == 6


@pytest.mark.parametrize(("name", "jobs"), [("gpus", 1), ("threads", 0)])
def test_an_unknown_backend_and_no_workers_are_refused(name: str, jobs: int) -> None:
    with pytest.raises(ConfigurationError):
        backend(name, jobs)


def test_a_store_that_cannot_write_stops_the_run_but_loses_nothing_in_flight() -> None:
    class Full(Shelf):
        """A shelf that takes two records and says no to the third start."""

        def begin(self, trial: Trial) -> None:
            if len(self.begun) == 2:
                raise StoreError("disk full")
            super().begin(trial)

    shelf = Full()
    ended = execution(record_of, shelf, backend=backend("threads", 2)).run(trials())
    assert (ended.reason, ended.detail) == ("store", "disk full")
    assert len(shelf.kept) == 2


def test_a_record_that_cannot_be_kept_ends_the_run() -> None:
    """Though every start could be noted: a run whose records are lost is not played on."""

    class Full(Shelf):
        """A shelf that says no to the second record."""

        def keep(self, record: TrialRecord) -> None:
            if len(self.kept) == 1:
                raise StoreError("disk full")
            super().keep(record)

    shelf = Full()
    ended = execution(record_of, shelf).run(trials())
    assert (ended.reason, ended.detail) == ("store", "disk full")
    assert (len(shelf.kept), len(shelf.begun)) == (1, 2)


def test_what_is_to_be_skipped_is_not_started_but_a_trial_that_broke_is_played_again() -> None:
    shelf, played = Shelf(), list[tuple[int, int]]()

    def play(trial: Trial) -> TrialRecord:
        played.append((trial.key.index, trial.attempt))
        return record_of(trial, "error" if (trial.key.index, trial.attempt) == (1, 1) else "passed")

    ended = execution(play, shelf, skip=lambda trial: len(played) > 0 and trial.attempt == 1).run(trials(1, 3))
    assert ended.reason == "complete"
    assert played == [(1, 1), (1, 2)]


@dataclass
class Mortal:
    """A backend that plays two at a time and loses both where one of them is deadly."""

    deadly: str

    def map(self, play: Callable[[Trial], TrialRecord], trials: Iterable[Trial]) -> Iterator[TrialRecord]:
        """Play in pairs."""
        waiting = iter(trials)
        while pair := list(islice(waiting, 2)):
            if any(trial.key.task == self.deadly for trial in pair):
                raise WorkerDied("a worker was ended")
            yield from map(play, pair)


def test_only_the_trial_that_kills_its_worker_is_charged_with_it_and_tried_again() -> None:
    shelf, plan = Shelf(), trials(tasks=4, n=1)
    ended = execution(record_of, shelf, backend=Mortal(deadly="t2"), attempts=2).run(iter(plan))
    assert ended.reason == "complete"
    stops = sorted((record.key.task, record.stop.reason, record.attempt) for record in shelf.kept)
    lost_twice = [("t2", "error:worker", 1), ("t2", "error:worker", 2)]
    assert stops == sorted([*lost_twice, *((f"t{one}", "finished", 1) for one in (0, 1, 3))])
    assert {record.tally.usd for record in shelf.kept if record.outcome == "error"} == {None}
    assert [record.error for record in shelf.kept if record.outcome == "error"] == ["a worker was ended"] * 2


def test_a_brake_holds_also_after_a_worker_died() -> None:
    """What was under way is then simply not done."""
    shelf, brake = Shelf(), Brake()
    brake.pull("interrupted", "SIGINT")
    run = execution(record_of, shelf, backend=Mortal(deadly="t0"), brake=brake)
    run.in_flight = {trial.key: trial for trial in trials(tasks=1, n=1)}
    assert run.run(trials(tasks=1, n=1)).reason == "interrupted"
    assert shelf.kept == []
