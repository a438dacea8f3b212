"""Laws of task difficulty that the studies of intervals and tests are run under, with their true pass^k.

Each is a shape that suites of agents have: two camps, mostly good, some hopeless and some certain, all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How chances of success are drawn, shape (tasks,), and the mean of p^k."""

    draw: Callable[[np.random.Generator, int], Floats]
    truth: Callable[[int], float]


def beta_moment(a: float, b: float, k: int) -> float:
    """The k-th moment of a beta law."""
    j = np.arange(k)
    return float(np.prod((a + j) / (a + b + j)))


def _mixed(random: np.random.Generator, tasks: int) -> Floats:
    """30% hopeless, 50% certain, the others uniform from 0.3 to 1."""
    camp = random.random(tasks)
    chances: Floats = np.where(camp < 0.3, 0.0, np.where(camp < 0.8, 1.0, random.uniform(0.3, 1.0, tasks)))
    return chances


LAWS: Mapping[str, Law] = {
    "beta(.5,.5)": Law(draw=lambda random, n: random.beta(0.5, 0.5, n), truth=lambda k: beta_moment(0.5, 0.5, k)),
    "beta(8,2)": Law(draw=lambda random, n: random.beta(8.0, 2.0, n), truth=lambda k: beta_moment(8.0, 2.0, k)),
    "mixed": Law(draw=_mixed, truth=lambda k: 0.5 + 0.2 * (1.0 - 0.3 ** (k + 1)) / (0.7 * (k + 1))),
    "p=.95": Law(draw=lambda _, n: np.full(n, 0.95), truth=lambda k: 0.95**k),
}
