"""A run is kept, gone on with, and read back as planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from store_makers import a_manifest, a_record, a_start, a_task, a_variant, play_all

from evalkit.core.clock import ManualClock
from evalkit.core.errors import StoreError
from evalkit.core.plan import Suite
from evalkit.core.protocols import Store
from evalkit.core.record import Tally, TrialRecord
from evalkit.parts.providers.scripted import Line
from evalkit.store.manifest import Manifest, planned_keys, united
from evalkit.store.redact import MARK
from evalkit.store.runstore import RunStore


def test_it_is_what_the_runner_asks_for(store: RunStore) -> None:
    asked: Store = store
    assert asked.done() == frozenset()


def test_what_is_kept_is_read_back(store: RunStore) -> None:
    keys = play_all(store)
    assert store.done() == {key.digest for key in keys}
    assert list(store.records()) == [replace(a_record(key), events=()) for key in keys]
    assert [store.record(key.digest) for key in keys] == [a_record(key) for key in keys]


def test_a_played_trial_is_kept_as_the_engine_made_it(
    tmp_path: Path, make_trial: Callable[..., Any], play: Callable[..., TrialRecord]
) -> None:
    trial = make_trial()
    record = play(Line(text="done"), trial=trial)
    run = a_manifest((replace(trial.task, trials=1),), (trial.variant,))
    with RunStore.create(tmp_path / "run", run) as store:
        store.begin(trial)
        store.keep(record)
        assert store.record(trial.key.digest) == record
        assert store.columns().outcome == [record.outcome]


def test_columns_are_those_of_the_records_in_the_order_of_the_plan(tmp_path: Path) -> None:
    run = a_manifest((a_task("t2"), a_task("t1")), (a_variant("b"), a_variant("a", "other")))
    keys = list(planned_keys(run))
    with RunStore.create(tmp_path / "run", run, environ={}) as store:
        for number, key in reversed(list(enumerate(keys))):
            tally = Tally(
                turns=number, input_tokens=7, output_tokens=1, usd=None, tool_errors=2, retries=3, seconds=0.5
            )
            store.keep(a_record(key, "failed" if number % 2 else "passed", tally=tally, seconds=0.75))
        columns = store.columns()
    assert len(columns) == 8
    assert columns.key == [key.digest for key in keys]
    assert list(zip(columns.suite, columns.task, columns.variant, columns.index, strict=True)) == [
        (key.suite, key.task, key.variant, key.index) for key in keys
    ]
    assert columns.outcome == ["passed", "failed"] * 4
    assert columns.graded == ["pass", "fail"] * 4
    assert columns.turns == list(range(8))
    constant = {
        "stop": "finished",
        "tokens": 8,
        "usd": None,
        "seconds": 0.5,
        "wall": 0.75,
        "tool_errors": 2,
        "retries": 3,
    }
    for name, value in {**constant, "attempts": 1}.items():
        assert getattr(columns, name) == [value] * 8


def test_columns_of_nothing_are_empty_lists(store: RunStore) -> None:
    columns = store.columns()
    assert len(columns) == 0
    assert all(getattr(columns, field.name) == [] for field in fields(columns))


def test_no_record_is_decoded_for_columns(store: RunStore, tmp_path: Path) -> None:
    play_all(store)
    store.flush()
    store._writer._connection.execute("UPDATE body SET text = x'00', head = 0, schema = 99")  # type: ignore[union-attr]  # it is open for writing
    assert len(store.columns()) == 4
    with pytest.raises(StoreError, match="attempt 1: has the schema number 99"):
        list(store.records())


def test_an_error_is_kept_shown_and_not_done(store: RunStore) -> None:
    play_all(store, "error")
    assert store.done() == frozenset()
    assert store.columns().outcome == ["error"] * 4
    assert store.columns().stop == ["error:provider"] * 4
    assert store.bookkeeping().errors == 4


def test_an_error_gives_way_to_what_comes_after_it(store: RunStore, manifest: Manifest) -> None:
    key = next(planned_keys(manifest))
    for attempt, outcome in enumerate(["error", "error", "failed"], 1):
        store.begin(a_start(manifest, key, attempt))
        store.keep(a_record(key, outcome, attempt=attempt, answer=f"answer {attempt}"))
    assert store.record(key.digest).answer == "answer 3"
    assert (store.columns().outcome, store.columns().attempts) == (["failed"], [3])
    assert [record.answer for record in store.history(key.digest)] == ["answer 1", "answer 2", "answer 3"]
    assert all(record.events for record in store.history(key.digest))
    assert [one.counts for one in store.attempts()] == [False, False, True]
    assert store.bookkeeping().refused == 0


def test_a_row_seen_before_gets_its_events_or_gives_way_to_what_counts_now(store: RunStore, manifest: Manifest) -> None:
    key = next(planned_keys(manifest))
    store.begin(a_start(manifest, key, 1))
    store.keep(a_record(key, "error", attempt=1))
    (seen,) = store.records()
    assert seen.events == ()
    assert store.record(key.digest, seen) == store.record(key.digest)
    marked = replace(seen, answer="as it was seen")
    assert store.record(key.digest, marked).answer == "as it was seen", "the head is not read again"
    store.begin(a_start(manifest, key, 2))
    store.keep(a_record(key, "passed", attempt=2))
    assert store.record(key.digest, marked) == store.record(key.digest)
    assert store.record(key.digest, marked).outcome == "passed"


@pytest.mark.parametrize("first", ["passed", "failed"])
@pytest.mark.parametrize("second", ["passed", "failed", "error"])
def test_what_was_decided_stays_and_the_second_is_counted(
    store: RunStore, manifest: Manifest, first: str, second: str
) -> None:
    key = next(planned_keys(manifest))
    store.begin(a_start(manifest, key))
    store.keep(a_record(key, first, answer="first"))
    store.keep(a_record(key, second, answer="second"))
    assert store.record(key.digest).answer == "first"
    assert store.columns().outcome == [first]
    assert store.bookkeeping().refused == (second != "error")
    assert [record.answer for record in store.history(key.digest)] == ["first", "second"]


def test_attempts_are_told_with_what_they_cost(store: RunStore, manifest: Manifest) -> None:
    keys = list(planned_keys(manifest))
    store.begin(a_start(manifest, keys[0]))
    store.keep(a_record(keys[0]))
    store.keep(a_record(keys[1], tally=Tally(usd=None)))
    store.begin(a_start(manifest, keys[2], 2))
    told = store.attempts()
    assert [(one.key, one.number, one.outcome, one.usd) for one in told] == [
        (keys[0].digest, 1, "passed", 1.0),
        (keys[1].digest, 1, "passed", None),
        (keys[2].digest, 2, "running", None),
    ]
    counted = store.bookkeeping()
    assert (counted.attempts, counted.running, counted.abandoned) == (3, 1, 0)
    assert (counted.usd, counted.unknown_cost) == (1.0, 2)


def test_a_start_bears_the_time_of_the_clock(tmp_path: Path, manifest: Manifest) -> None:
    with RunStore.create(tmp_path / "run", manifest, clock=ManualClock(now=77.0)) as store:
        store.begin(a_start(manifest, next(planned_keys(manifest))))
        assert store.attempts()[0].started == 77.0


def test_an_attempt_without_an_end_is_abandoned_once_its_run_is_over(tmp_path: Path, manifest: Manifest) -> None:
    key = next(planned_keys(manifest))
    with RunStore.create(tmp_path / "run", manifest) as store:
        store.begin(a_start(manifest, key))
    with RunStore.open(tmp_path / "run", write=False) as store:
        assert [one.outcome for one in store.attempts()] == ["abandoned"]
    with RunStore.open(tmp_path / "run", write=True) as store:
        store.begin(a_start(manifest, key))
        store.keep(a_record(key))
        assert [one.outcome for one in store.attempts()] == ["abandoned", "passed"]
        assert store.columns().attempts == [2]
        assert store.bookkeeping().unknown_cost == 1


def on(store: RunStore, *tasks: Any, variants: Any = None) -> Manifest:
    """The plan of a store that goes on with these tasks and variants."""
    suites, now = (Suite(name="s", tasks=tasks),), variants or store.manifest.variants
    return united(store.manifest, a_manifest(tasks, now), suites, now)


def test_raising_n_keeps_what_is_done_and_plans_more(store: RunStore) -> None:
    first = play_all(store)
    store.update_plan(on(store, a_task(trials=3), a_task("t2", trials=3)))
    assert len(store.columns()) == 4
    assert store.bookkeeping().planned == 6
    more = play_all(store)
    assert [key.index for key in more] == [3, 3]
    assert store.done() == {key.digest for key in first + more}


def test_an_edited_task_alone_is_run_again_and_its_old_records_are_never_mixed_in(store: RunStore) -> None:
    play_all(store)
    store.update_plan(on(store, a_task(prompt="do it well"), a_task("t2")))
    assert store.columns().task == ["t2", "t2"]
    assert {record.key.task for record in store.records()} == {"t2"}
    counted = store.bookkeeping()
    assert (counted.planned, counted.recorded, counted.aside) == (4, 2, 2)
    assert [key.task for key in play_all(store, "failed")] == ["t1", "t1"]
    assert store.columns().outcome == ["failed", "failed", "passed", "passed"]
    assert store.bookkeeping().aside == 2


def test_records_beyond_the_planned_number_are_set_aside(store: RunStore) -> None:
    play_all(store)
    store.update_plan(a_manifest((a_task(trials=1), a_task("t2"))))
    assert store.columns().index == [1, 1, 2]
    assert store.bookkeeping().aside == 1


def test_an_edited_variant_is_run_again_and_its_old_records_are_set_aside(store: RunStore) -> None:
    play_all(store)
    store.update_plan(on(store, a_task(), a_task("t2"), variants=(a_variant("v1", "edited"),)))
    assert len(store.columns()) == 0
    assert len(play_all(store)) == 4
    assert store.bookkeeping().aside == 4


def test_another_seed_is_another_run(store: RunStore) -> None:
    with pytest.raises(StoreError, match="was run with seed 0, not 1"):
        store.update_plan(a_manifest(seed=1))
    assert store.manifest.seed == 0


def test_the_new_plan_is_on_the_disk(store: RunStore, tmp_path: Path) -> None:
    plan = on(store, a_task(trials=5), a_task("t2"))
    store.update_plan(plan)
    with RunStore.open(store.folder, write=False) as reader:
        assert reader.manifest == plan == store.manifest


def test_counts_of_any_size_fit(store: RunStore, manifest: Manifest) -> None:
    key = next(planned_keys(manifest))
    tally = Tally(turns=10**30, input_tokens=2**63, tool_errors=2**64, retries=2**70, usd=float("inf"))
    store.keep(a_record(key, tally=tally, seconds=float("nan")))
    assert store.record(key.digest).tally == tally
    assert store.columns().tokens == [2**63 - 1]


def test_names_of_any_text_stay_in_the_plan(tmp_path: Path) -> None:
    names = ["a\x00b", "\ud800", "'; DROP TABLE trial; --", "x" * 3000, "\u202e", ""]
    run = a_manifest(tuple(a_task(name, trials=1) for name in names), (a_variant("v\udcff"),))
    with RunStore.create(tmp_path / "run", run, environ={}) as store:
        for key in planned_keys(run):
            store.keep(a_record(key))
        assert len(store.columns()) == len(names)
        assert store.done() == {key.digest for key in planned_keys(run)} == set(store.columns().key)


def test_secrets_reach_no_file(tmp_path: Path) -> None:
    secret = "hunter2hunter2"  # noqa: S105  # it is to be found nowhere
    run = a_manifest((a_task(prompt=f"use {secret}"),))
    with RunStore.create(tmp_path / "run", run, environ={"API_TOKEN": secret}) as store:
        for key in planned_keys(run):
            store.keep(a_record(key, "error", answer=f"it is {secret}", error=f"401 for {secret}"))
        assert store.record(key.digest).answer == f"it is {MARK}"
        assert store.record(key.digest).error == f"401 for {MARK}"
        assert secret not in repr([store.record(key.digest) for key in planned_keys(run)])
    for path in store.folder.iterdir():
        assert secret.encode() not in path.read_bytes()


def test_a_trial_without_a_record_is_a_clear_error(store: RunStore) -> None:
    with pytest.raises(StoreError, match="holds no record of trial abc"):
        store.record("abc")
    assert store.history("abc") == ()


def test_a_store_for_reading_writes_nothing(store: RunStore, manifest: Manifest) -> None:
    key = next(planned_keys(manifest))
    with RunStore.open(store.folder, write=False) as reader:
        acts: tuple[Callable[[], None], ...] = (
            lambda: reader.keep(a_record(key)),
            lambda: reader.begin(a_start(manifest, key)),
            lambda: reader.update_plan(manifest),
            reader.flush,
        )
        for act in acts:
            with pytest.raises(StoreError, match="is open for reading only"):
                act()


def test_a_closed_store_says_so(store: RunStore, manifest: Manifest) -> None:
    store.close()
    store.close()
    key = next(planned_keys(manifest))
    acts: tuple[Callable[[], object], ...] = (store.done, store.columns, lambda: store.keep(a_record(key)))
    for act in acts:
        with pytest.raises(StoreError, match="is closed"):
            act()
    RunStore.open(store.folder, write=True).close()


def test_two_writers_are_one_too_many(store: RunStore) -> None:
    with pytest.raises(StoreError, match="is being written by process"):
        RunStore.open(store.folder, write=True, clock=ManualClock())


def test_a_failed_opening_leaves_no_lock(store: RunStore) -> None:
    store.close()
    text = (store.folder / "run.json").read_text()
    (store.folder / "trials.sqlite").rename(store.folder / "away")
    with pytest.raises(StoreError, match="is missing"):
        RunStore.open(store.folder, write=True)
    (store.folder / "away").rename(store.folder / "trials.sqlite")
    RunStore.open(store.folder, write=True).close()
    assert (store.folder / "run.json").read_text() == text


def test_many_records_take_few_commits(store: RunStore, manifest: Manifest) -> None:
    key = next(planned_keys(manifest))
    for number in range(300):
        store.begin(a_start(manifest, key, number))
        store.keep(a_record(key, "error", attempt=number))
    store.flush()
    assert store.commits <= 30
