"""What a gate would say of the same comparison made again: the tasks' differences are drawn anew, and each draw is judged.

Invariant: a draw is judged by the rule itself (its bound, and whether a test could find anything), so that a verdict that so few tasks cannot
give is given no chance. The same input gives the same digits: random numbers come from a fixed seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from evalkit.measure.arrays import Bools, Floats
from evalkit.measure.odds import POWER, Word, least
from evalkit.measure.paired import NEGLIGIBLE
from evalkit.measure.rule import Kind

DRAWS = 4_000
"""Draws by which a chance is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A rule on a drop: by how much a gain may fall short of 0 (`bound`), how that is held, its confidence, and how many tests share its alarm."""

    bound: float
    kind: Kind
    confidence: float
    tests: int = 1

    def verdicts(self, counts: Floats, values: Floats, tasks: int) -> dict[Word, Bools]:
        """Judge draws, `counts` of each of `values`, shapes (draws, values) and (values,), as `judge_drop` judges a run.

        Whether a gain is significantly below 0 is asked of the sign-flip's normal law, sum d ~ N(0, sum d^2), and of the least p that so many
        differing tasks can have, 1 / 2^m; the level is shared by the tests of the gate (Bonferroni, the first step of Holm).
        """
        total, squares = counts @ values, counts @ values**2
        middle = total / (tasks + 2.0)
        reach = float(ndtri(self.confidence)) * np.sqrt(((squares + 2.0) / (tasks + 2.0) - middle**2) / (tasks + 2.0))
        within = np.minimum(middle - reach, total / tasks) > -self.bound
        level = (1.0 - self.confidence) / self.tests
        differing = counts @ (np.abs(values) > NEGLIGIBLE)
        worse = (total <= float(ndtri(level)) * np.sqrt(squares)) & (differing >= -math.log2(level)) & (total < 0.0)
        if self.kind == "point":
            passed: Bools = total / tasks >= -self.bound - NEGLIGIBLE
            return {"pass": passed, "fail": ~passed}
        passed = within | (~worse if self.kind == "not-worse" else False)
        return {"pass": passed, "fail": ~passed & worse, "inconclusive": ~passed & ~worse}

    def flips(self, gains: Floats, verdict: Word) -> float:
        """Give the chance that another run of as many tasks of the kind is judged otherwise.

        Tasks are drawn from these with one made-up task added, half of it at the largest difference among them (1 where there is none) and half
        at its opposite, so that tasks that are all alike do not read as certainty (as (s + 1/2) / (N + 1) does for a share).
        """
        most = float(np.abs(gains).max()) or 1.0
        values, weights = np.unique(np.round(gains, 12), return_counts=True)
        values, chances = np.append(values, (most, -most)), np.append(weights.astype(np.float64), (0.5, 0.5))
        same = self.verdicts(_drawn(gains.size, chances), values, gains.size).get(verdict)
        return 1.0 if same is None else float(1.0 - same.mean())

    def needed(self, gains: Floats) -> int | None:
        """Search for the number of tasks that gives a clear verdict in four runs of five, were these gains the truth; None above 100,000."""
        values, weights = np.unique(np.round(gains, 12), return_counts=True)

        def clear(tasks: int) -> bool:
            """Tell whether so many tasks are enough."""
            found = self.verdicts(_drawn(tasks, weights.astype(np.float64)), values, tasks)
            return float((found["pass"] | found["fail"]).mean()) >= POWER

        return least(gains.size, clear)


def _drawn(tasks: int, weights: Floats) -> Floats:
    """Draw how many of so many tasks have each value, shape (DRAWS, values)."""
    chances = weights / weights.sum()
    drawn: Floats = np.random.default_rng(0).multinomial(tasks, chances, size=DRAWS).astype(np.float64)
    return drawn
