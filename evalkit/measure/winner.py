"""By how much the best of several variants is flattered by having been chosen.

The highest of several estimates is high partly because it was lucky, and nothing in its own interval says so.

Invariant: the same counts and seed give the same digits; a variant without a value is no part of the choice, and of how many it was is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.estimate import read
from evalkit.measure.interval import binomial_law
from evalkit.measure.metric import Shares
from evalkit.measure.metrics.pass_hat import PassHat
from evalkit.measure.passing import TABLE_LIMIT, pass_hat_table
from evalkit.measure.table import Table

DRAWS = 4_000
"""Runs that are made up; the mean of their luck is then known to about a hundredth of a standard error."""

DRAWN_TASKS = 200
"""Up to so many tasks each is drawn; the mean of more is normal for all that can be seen, and is drawn as one number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The variant with the highest pass^k of `of` variants that have one, and by how much being the highest flatters such a one.

    `overstates` is in units of pass^k: the expected luck of the highest of `of` variants that are all alike, at these tasks and trials.
    """

    variant: str
    k: int
    value: float
    of: int
    overstates: float


def winner(table: Table, k: int, *, seed: int = 0) -> Winner | None:
    """Give the variant of the highest pass^k and the luck in that choice; None where fewer than two variants have a value.

    Only variants that are defined on all tasks of the run are compared. Raises `ValueError` for k < 1. At more than 1,024
    trials a task there is no luck worth the name, and None is given.
    """
    if table.first_failure:
        return None  # the rate at which a task passes is not known
    found: dict[str, Shares] = {}
    for name in table.variants:
        shares = read(table, PassHat(k), name).found
        if isinstance(shares, Shares) and shares.trials.size == len(table.tasks) and not np.isnan(shares.values).any():
            found[name] = shares
    if len(found) < 2 or not table.tasks or max(int(one.trials.max()) for one in found.values()) > TABLE_LIMIT:
        return None
    values = {name: float(shares.values.mean()) for name, shares in found.items()}
    best = max(values, key=lambda name: values[name])
    trials, hits = (np.array([getattr(one, part) for one in found.values()]) for part in ("trials", "hits"))
    return Winner(variant=best, k=k, value=values[best], of=len(found), overstates=luck(trials, hits, k, seed=seed))


def luck(trials: Ints, hits: Ints, k: int, *, seed: int = 0, draws: int = DRAWS) -> float:
    """Give the expected surplus of the highest pass^k of M variants that are alike over their true pass^k.

    `trials` and `hits` have shape (M, tasks), with trials of at least k and at most 1,024. By parametric bootstrap: a task's chance is p =
    passes of all variants / trials of all variants. For each variant `draws` runs are made with passes of Binomial(n, p), and the mean over them of
    the highest mean pass^k, less that of a single variant, is the surplus. Alike is the worst case: variants that are far apart leave luck
    no choice. 0 for one variant, NaN without tasks. Raises `ValueError` for trials below k.
    Source: Efron & Tibshirani 1993 (parametric bootstrap); the name of the effect is from auctions (Capen, Clapp & Campbell 1971).
    """
    if trials.shape[1] == 0:
        return float("nan")
    if trials.min() < k:
        raise ValueError(f"pass^{k} needs {k} trials a task, and one has {trials.min()}")
    if trials.shape[0] == 1:
        return 0.0
    generator = np.random.default_rng(seed)
    together, passed = trials.sum(axis=0), hits.sum(axis=0)
    means = np.array([_noises(row, together, passed, k, generator, draws) for row in trials])
    return max(0.0, float(means.max(axis=0).mean()))


def _noises(n: Ints, together: Ints, passed: Ints, k: int, generator: np.random.Generator, draws: int) -> Floats:
    """Draw how far a variant's mean pass^k is from the truth, shape (draws,); tasks of one law are gone through together."""
    base = int(together.max()) + 1
    kinds, tasks = np.unique((n * base + together) * base + passed, return_counts=True)
    noise: Floats = np.zeros(draws)
    variance = 0.0
    for kind, many in zip(kinds, tasks, strict=True):
        size, trials, hits = int(kind // base**2), int(kind // base % base), int(kind % base)
        if not 0 < hits < trials:
            continue
        value = pass_hat_table(size, k)
        law = binomial_law(size, np.array([hits / trials]))[0]
        mean = float(law @ value)
        if n.size <= DRAWN_TASKS:
            noise += (value[generator.binomial(size, hits / trials, size=(draws, int(many)))] - mean).sum(axis=1)
        else:
            variance += int(many) * float(law @ (value - mean) ** 2)
    if n.size > DRAWN_TASKS:
        noise = generator.normal(scale=np.sqrt(variance), size=draws)
    return noise / n.size
