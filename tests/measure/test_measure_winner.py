"""The luck of the chosen: what the highest of several variants owes to having been chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from measure_tables import a_table

from evalkit.measure.passing import pass_hat_table
from evalkit.measure.winner import DRAWN_TASKS, luck, winner


def test_one_trial_of_one_task_has_the_luck_of_a_coin() -> None:
    trials, hits = np.ones((2, 1), dtype=np.int64), np.array([[1], [0]])
    assert luck(trials, hits, 1) == pytest.approx(0.25, abs=0.02), "the better of two coins shows heads 3 times in 4"


def test_more_variants_more_luck_and_more_trials_or_tasks_less() -> None:
    def of(variants: int, tasks: int, n: int) -> float:
        """The luck of variants that pass nine trials of ten."""
        trials = np.full((variants, tasks), n)
        return luck(trials, np.full_like(trials, round(0.95 * n)), 8)

    assert of(1, 30, 20) == 0.0
    assert 0.0 < of(2, 30, 20) < of(4, 30, 20) < of(8, 30, 20)
    assert of(4, 30, 60) < of(4, 30, 20)
    assert of(4, 120, 20) == pytest.approx(of(4, 30, 20) / 2.0, rel=0.1)


@pytest.mark.parametrize(("n", "tasks"), [(8, 30), (16, 10)])
def test_it_is_what_choosing_among_identical_variants_costs(n: int, tasks: int) -> None:
    random, value = np.random.default_rng([n, tasks]), pass_hat_table(n, 8)
    said, true = [], []
    for seed in range(150):
        p = random.beta(8.0, 2.0, tasks)
        hits = random.binomial(n, p, size=(4, tasks))
        true.append(float(value[hits].mean(axis=1).max() - (p**8).mean()))
        said.append(luck(np.full_like(hits, n), hits, 8, seed=seed, draws=300))
    error = float(np.std(true) / math.sqrt(len(true)))
    assert float(np.mean(said)) == pytest.approx(float(np.mean(true)), abs=3.0 * error)


def test_certain_tasks_leave_nothing_to_luck() -> None:
    trials = np.full((3, 2), 8)
    assert luck(trials, np.array([[8, 0]] * 3), 8) == 0.0


def test_the_best_of_a_run_is_named_with_how_many_there_were() -> None:
    table = a_table({"a": [8, 8, 6], "b": [8, 8, 8], "c": [8, 7, 5]})
    found = winner(table, 8)
    assert found is not None
    assert (found.variant, found.of, found.value) == ("b", 3, 1.0)
    assert found == winner(table, 8)
    assert 0.0 < found.overstates < 0.5


def test_undefined_variants_are_no_choice() -> None:
    lost = (7, 0, 1, 0)
    assert winner(a_table({"a": [8, 8]}), 8) is None
    assert winner(a_table({"a": [8, 8], "b": [8, lost]}), 8) is None
    found = winner(a_table({"a": [8, 8], "b": [8, lost], "c": [7, 8]}), 8)
    assert found is not None
    assert found.of == 2
    assert winner(a_table({"a": [4], "b": [4]}, n=4), 8) is None
    assert math.isnan(luck(np.empty((2, 0), dtype=np.int64), np.empty((2, 0), dtype=np.int64), 8))
    with pytest.raises(ValueError, match="needs 8 trials"):
        luck(np.full((2, 1), 4), np.full((2, 1), 4), 8)


def test_many_tasks_are_drawn_as_one_number_and_few_one_by_one_alike() -> None:
    tasks = DRAWN_TASKS + 1
    hits = np.random.default_rng(2).binomial(8, 0.9, size=(3, tasks))
    many = luck(np.full_like(hits, 8), hits, 8)
    few = luck(np.full((3, tasks - 1), 8), hits[:, 1:], 8)
    assert many == pytest.approx(few, rel=0.1)


def test_a_million_tasks_are_drawn_by_their_kinds() -> None:
    random = np.random.default_rng(0)
    hits = random.binomial(8, random.random(1_000_000), size=(2, 1_000_000))
    assert 0.0 < luck(np.full_like(hits, 8), hits, 8) < 0.001
