"""From a model of known reliability to an interval that holds it, through everything between: engine, runner, store, statistics.

One run of many small suites, so that each suite is an evaluation of its own. The model gets its answer wrong with a known chance,
and nothing else goes wrong; a third of the tasks cannot be failed or cannot be passed. The true pass^8 is then known by arithmetic.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalkit.core.plan import Spec, Suite, Task, Variant
from evalkit.measure.compare import compare
from evalkit.measure.estimate import estimate
from evalkit.measure.table import Table
from evalkit.run.backends import backend
from evalkit.run.execute import Execution
from evalkit.run.play import play
from evalkit.run.schedule import schedule
from evalkit.store.manifest import fingerprint, new_manifest
from evalkit.store.origin import origin
from evalkit.store.runstore import RunStore

SUITES, TASKS, N = 20, 12, 8
SLIPS = {"careful": 0.05, "hasty": 0.15}
GRADERS = {
    "fair": Spec(kind="equals", options={"text": "42"}),
    "certain": Spec(kind="regex", options={"pattern": "."}),
    "hopeless": Spec(kind="equals", options={"text": "never said"}),
}
SHARES = {"fair": 0.6, "certain": 0.2, "hopeless": 0.2}


def chance(kind: str, variant: str) -> float:
    """The chance that one trial of a task of this kind passes."""
    return {"fair": 1.0 - SLIPS[variant], "certain": 1.0, "hopeless": 0.0}[kind]


def a_suite(number: int) -> Suite:
    """A suite whose tasks are of kinds drawn from `SHARES`; a task's id begins with its kind."""
    kinds = random.Random(number).choices(list(SHARES), weights=list(SHARES.values()), k=TASKS)
    name = f"suite{number}"
    tasks = tuple(
        Task(
            suite=name,
            id=f"{kind}-{place}",
            prompt="What is six times seven?",
            graders=(GRADERS[kind],),
            simulate={"steps": [], "answer": "42"},
            trials=N,
        )
        for place, kind in enumerate(kinds)
    )
    return Suite(name=name, tasks=tasks)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Run all suites once and read each suite's numbers from the folder that the run left."""
    suites = [a_suite(number) for number in range(SUITES)]
    variants = [
        Variant(name=name, provider=Spec(kind="simulated", options={"profile": {"slip": slip}}))
        for name, slip in SLIPS.items()
    ]
    folder: Path = tmp_path_factory.mktemp("truth") / "run"
    manifest = new_manifest(
        run="truth",
        created=0.0,
        fingerprint=fingerprint(suites, variants, 1),
        suites=suites,
        variants=variants,
        seed=1,
        origin=origin(),
    )
    with RunStore.create(folder, manifest) as store:
        execution = Execution(play=play, backend=backend("serial", 1), store=store, told=lambda _: None)
        assert execution.run(tuple(schedule(suites, variants, 1))).reason == "complete"
    with RunStore.open(folder, write=False) as store:
        return list(each_suite(store))


def each_suite(store: RunStore) -> Iterator[Table]:
    """The numbers of each suite by itself."""
    found = store.columns()
    names = ("suite", "task", "variant", "index", "outcome", "graded", "stop", "turns", "tokens", "usd", "seconds")
    for suite in store.manifest.suites:
        rows = [place for place, name in enumerate(found.suite) if name == suite.name]
        yield Table.of(
            tasks=[(suite.name, task.id) for task in suite.tasks],
            variants=tuple(SLIPS),
            planned=N,
            **{name: [getattr(found, name)[row] for row in rows] for name in names},  # type: ignore[arg-type]  # a column each
        )


def kind_of(task: tuple[str, str]) -> str:
    """The kind of a task."""
    return task[1].split("-")[0]


def true_pass_hat(variant: str) -> float:
    """The true pass^8 of tasks of these kinds."""
    return sum(share * chance(kind, variant) ** N for kind, share in SHARES.items())


def enough(held: int, intervals: int) -> bool:
    """Whether so many intervals of a nominal 95% hold the truth, three standard errors of the simulation allowed."""
    return held / intervals >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / intervals)


def test_the_model_fails_as_often_as_it_was_told_to(tables: list[Table]) -> None:
    for column, variant in enumerate(SLIPS):
        passed = [
            (kind_of(task), int(table.passed[row, column])) for table in tables for row, task in enumerate(table.tasks)
        ]
        for kind in SHARES:
            counts = [count for name, count in passed if name == kind]
            p = chance(kind, variant)
            slack = 4.0 * math.sqrt(p * (1.0 - p) / (N * len(counts)))
            assert sum(counts) / (N * len(counts)) == pytest.approx(p, abs=slack + 1e-12)


def test_intervals_of_real_runs_hold_the_true_pass_hat_of_such_tasks(tables: list[Table]) -> None:
    held = 0
    for table in tables:
        for variant in SLIPS:
            found = estimate(table, f"pass^{N}", variant)
            assert found.low is not None
            assert found.high is not None
            held += found.low <= true_pass_hat(variant) <= found.high
    assert enough(held, SUITES * len(SLIPS))


def test_intervals_of_these_very_tasks_hold_their_own_truth(tables: list[Table]) -> None:
    held = 0
    for table in tables:
        for variant in SLIPS:
            found = estimate(table, f"pass^{N}", variant, scope="suite")
            truth = sum(chance(kind_of(task), variant) ** N for task in table.tasks) / TASKS
            assert found.low is not None
            assert found.high is not None
            held += found.low <= truth <= found.high
    assert enough(held, SUITES * len(SLIPS))


def test_the_estimate_is_right_on_average_and_the_difference_is_held(tables: list[Table]) -> None:
    found = [compare(table, metrics=[f"pass^{N}"])[0] for table in tables]
    truth = true_pass_hat("hasty") - true_pass_hat("careful")
    held, total = 0, 0.0
    for one in found:
        assert one.difference is not None
        assert one.low is not None
        assert one.high is not None
        held += one.low <= truth <= one.high
        total += one.difference
    assert enough(held, SUITES)
    assert total / SUITES == pytest.approx(truth, abs=4.0 * 0.6 / math.sqrt(SUITES * TASKS))
