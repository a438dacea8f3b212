"""Simulation: intervals hold the truth, and tests cry wolf, as often as they say.

Each cell draws suites from a law of the tasks' chance p to pass and allows three standard errors of the simulation below the
nominal level, so that a seeded run can't fail by luck and a wrong formula can't pass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evalkit.measure.arrays import Floats
from evalkit.measure.interval import gaffke, suite_interval
from evalkit.measure.paired import bonett_price, sign_flip
from evalkit.measure.passing import histogram, pass_hat_table

RUNS = 200
SLACK = 3.0 * np.sqrt(0.05 * 0.95 / RUNS)

Law = Callable[[np.random.Generator, int], Floats]

LAWS: dict[str, tuple[Law, Callable[[int], float]]] = {
    "U-shaped": (lambda random, tasks: random.beta(0.5, 0.5, tasks), lambda k: _beta_moment(0.5, 0.5, k)),
    "good": (lambda random, tasks: random.beta(8.0, 2.0, tasks), lambda k: _beta_moment(8.0, 2.0, k)),
    "all alike": (lambda _, tasks: np.full(tasks, 0.95), lambda k: 0.95**k),
}


def _beta_moment(a: float, b: float, k: int) -> float:
    """The k-th moment of a beta law: the true pass^k of its tasks."""
    return float(np.prod([(a + j) / (a + b + j) for j in range(k)]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("tasks", "n"), [(3, 8), (30, 16)])
def test_the_population_interval_holds_the_truth(law: str, tasks: int, n: int) -> None:
    draw, truth = LAWS[law]
    random, held = np.random.default_rng([tasks, n]), 0
    for _ in range(RUNS):
        counts = np.bincount(random.binomial(n, draw(random, tasks)), minlength=n + 1)
        low, high = gaffke(pass_hat_table(n, 8), counts)
        held += low <= truth(8) <= high
    assert held / RUNS >= 0.95 - SLACK


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("tasks", "n"), [(3, 8), (30, 16)])
def test_the_suite_interval_holds_the_suites_own_truth(law: str, tasks: int, n: int) -> None:
    draw, _ = LAWS[law]
    random, held = np.random.default_rng([tasks, n, 1]), 0
    for _ in range(RUNS):
        p = draw(random, tasks)
        kinds = histogram(np.full(tasks, n), random.binomial(n, p))
        low, high = suite_interval(*kinds, 8)
        held += low <= float(np.mean(p**8)) <= high
    assert held / RUNS >= 0.95 - SLACK


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("tasks", "n"), [(10, 8), (30, 12)])
def test_identical_variants_are_seldom_told_apart_and_their_difference_is_held(law: str, tasks: int, n: int) -> None:
    draw, _ = LAWS[law]
    random, false, held = np.random.default_rng([tasks, n, 2]), 0, 0
    for seed in range(RUNS):
        p, table = draw(random, tasks), pass_hat_table(n, 8)
        differences = table[random.binomial(n, p)] - table[random.binomial(n, p)]
        false += sign_flip(differences, seed=seed).p <= 0.05
        low, high = bonett_price(differences)
        held += low <= 0.0 <= high
    assert false / RUNS <= 0.05 + SLACK
    assert held / RUNS >= 0.95 - SLACK
