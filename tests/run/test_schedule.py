"""The order of trials: whole tasks, variants taking turns, seeded."""

from __future__ import annotations

from itertools import groupby

from evalkit.core.plan import Spec, Suite, Task, Variant
from evalkit.run.schedule import schedule

GRADERS = (Spec(kind="equals", options={"text": "x"}),)
SUITE = Suite(
    name="s", tasks=tuple(Task(suite="s", id=f"t{i}", prompt="p", graders=GRADERS, trials=3) for i in range(9))
)
VARIANTS = tuple(Variant(name=name, provider=Spec(kind="scripted")) for name in "ab")


def test_each_task_stands_together_and_the_variants_take_turns() -> None:
    trials = list(schedule([SUITE], VARIANTS, 0))
    blocks = [list(block) for _, block in groupby(trials, key=lambda trial: trial.key.task)]
    assert len(blocks) == 9
    for block in blocks:
        assert [(trial.key.index, trial.key.variant) for trial in block] == [
            (1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b"),
        ]  # fmt: skip


def test_the_order_of_tasks_is_random_but_seeded() -> None:
    def order(seed: int) -> list[str]:
        return [task for task, _ in groupby(schedule([SUITE], VARIANTS, seed), key=lambda trial: trial.key.task)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)) == [task.id for task in SUITE.tasks]


def test_seeds_differ_between_all_trials_and_follow_the_run_seed() -> None:
    seeds = {trial.seed for trial in schedule([SUITE], VARIANTS, 0)}
    assert len(seeds) == 9 * 3 * 2
    assert seeds.isdisjoint(trial.seed for trial in schedule([SUITE], VARIANTS, 1))


def test_the_provider_is_no_part_of_the_seed_and_everything_else_is() -> None:
    def seeds(**fields: object) -> list[int]:
        variant = Variant(**{"name": "a", "provider": Spec(kind="scripted"), **fields})  # type: ignore[arg-type]  # fields of any type
        return [trial.seed for trial in schedule([SUITE], [variant], 0)]

    assert seeds() == seeds(provider=Spec(kind="anthropic", options={"model": "m"}))
    assert seeds() != seeds(loop=Spec(kind="plan"))
    assert seeds() != seeds(name="b")


def test_tasks_abreast_take_turns_and_are_the_same_trials() -> None:
    uneven = Suite(
        name="s",
        tasks=tuple(Task(suite="s", id=f"t{i}", prompt="p", graders=GRADERS, trials=1 + i % 3) for i in range(5)),
    )
    alone, abreast = (list(schedule([uneven], VARIANTS, 0, abreast=number)) for number in (1, 2))
    assert {trial.key.digest: trial.seed for trial in alone} == {trial.key.digest: trial.seed for trial in abreast}
    order = list(dict.fromkeys(trial.key.task for trial in alone))
    places = [order.index(trial.key.task) // 2 for trial in abreast]
    assert places == sorted(places), "blocks of two tasks in the same random order"
    first = [trial.key.index for trial in abreast if order.index(trial.key.task) < 2]
    assert first == sorted(first), "the first trials of both before the second of either"
