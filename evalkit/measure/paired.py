"""Tests and intervals for differences between two variants on the same tasks.

Each task gives one difference d = value under B - value under A, so that easy and hard tasks cancel. Trials are never pooled over
tasks: that takes the task's difficulty for luck, and finds differences where there are none.

Invariant: the same input gives the same digits every time; random numbers come from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import bdtr, ndtri

from evalkit.measure.arrays import Floats, Ints
from evalkit.measure.interval import tail
from evalkit.measure.metric import Shares
from evalkit.measure.passing import pass_at_k, pass_hat_k

Side = Literal["two-sided", "less"]

ENUMERATED = 20
"""Up to so many differences that are not 0, all sign patterns are gone through."""

DRAWS = 9_999
"""Random sign patterns where there are more; with the observed one they make 10,000."""

FEWEST_FOR_MID_P = 10
"""Tasks from which on the mid-p is the p that decides; with fewer its error rate is not known to be held."""

FEWEST_DIFFERING = 6
"""With fewer differing tasks than this, no two-sided sign-flip test can reach 5%."""

NEGLIGIBLE = 1e-9
"""Differences of at most this size are none."""

_DIGITS = 12
_MOST_TASKS = 500
_MOST_SUMS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """A sign-flip test: `exact` is P(as extreme or more), `mid` counts ties half, of `differing` differences out of `tasks`.

    `enumerated` says that `exact` is over all sign patterns and not over random ones.
    """

    exact: float
    mid: float
    tasks: int
    differing: int
    enumerated: bool

    @property
    def p(self) -> float:
        """The p that decides: mid-p where there are enough tasks for it, else the exact one."""
        few = self.tasks < FEWEST_FOR_MID_P or self.differing < FEWEST_DIFFERING
        return self.exact if few else self.mid


def sign_flip(differences: Floats, *, side: Side = "two-sided", seed: int = 0) -> SignFlip:
    """Test whether differences, shape (tasks,), are as likely to have either sign.

    The statistic is their sum, compared with its distribution when every sign is tossed anew: gone through for up to 20
    differences that are not 0, by the binomial law when all are of one size (then it is McNemar's exact test), else drawn
    9,999 times from `seed`, the observed pattern counted in. `less` asks for a sum this low or lower.
    Sources: Fisher 1935; Phipson & Smyth 2010 for counting the observed pattern; Lancaster 1961 for mid-p.
    """
    moved = np.round(differences[np.abs(differences) > NEGLIGIBLE], _DIGITS)
    if moved.size == 0:
        return SignFlip(exact=1.0, mid=1.0, tasks=differences.size, differing=0, enumerated=True)
    observed = float(moved.sum())
    sizes, counts = np.unique(np.abs(moved), return_counts=True)
    if sizes.size == 1:
        more, ties = _binomial_tails(round(observed / float(sizes[0])), int(counts[0]), side)
        drawn = False
    else:
        drawn = moved.size > ENUMERATED
        sums = _drawn_sums(sizes, counts, seed) if drawn else _all_sums(np.abs(moved))
        more, ties = _tails(sums, observed, side)
    share = DRAWS / (DRAWS + 1.0) if drawn else 1.0
    own = 1.0 / (DRAWS + 1.0) if drawn else 0.0
    return SignFlip(
        exact=min(1.0, share * (more + ties) + own),
        mid=min(1.0, share * (more + 0.5 * ties) + 0.5 * own),
        tasks=differences.size,
        differing=int(moved.size),
        enumerated=not drawn,
    )


def bonett_price(differences: Floats, *, confidence: float = 0.95, sides: int = 2) -> tuple[float, float]:
    """Bound the population mean of differences in [-1, 1], shape (tasks,); NaN without tasks.

    With one made-up task at +1 and one at -1: m = sum d / (N + 2), s^2 = (sum d^2 + 2) / (N + 2) - m^2, bounds m -+ z s / sqrt(N + 2),
    cut to [-1, 1] and widened to hold the plain mean. For differences of -1, 0 and 1 this is the interval of
    Bonett & Price 2012 for paired proportions.
    """
    z = -float(ndtri(tail(confidence, sides)))
    if differences.size == 0:
        return math.nan, math.nan
    total = differences.size + 2.0
    middle = float(differences.sum()) / total
    variance = (float(differences @ differences) + 2.0) / total - middle**2
    reach = z * math.sqrt(variance / total)
    mean = float(differences.mean())
    return max(-1.0, min(middle - reach, mean)), min(1.0, max(middle + reach, mean))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false finding among them stays below the level; in the order given.

    The j-th smallest of m is multiplied by m - j + 1, and none is below a smaller one's. Source: Holm 1979.
    """
    adjusted = [0.0] * len(p)
    floor = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda place: p[place])):
        floor = max(floor, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = floor
    return adjusted


def within_tasks(first: Shares, second: Shares) -> float | None:
    """Test whether two variants are identical on these very tasks, by moving trials between them within each task.

    The exact two-sided p of the summed difference when, in each task, every split of the pooled trials into the two
    groups is as likely (hits are then hypergeometric). Another question than the sign-flip's: it asks nothing of other tasks, and finds any
    change of any task. None where it would be too much work (over 500 tasks, or too many different sums). Source: Fisher 1935.
    """
    if first.trials.size > _MOST_TASKS:
        return None
    sums: Floats = np.zeros(1)
    chances: Floats = np.ones(1)
    observed = 0.0
    for n_a, c_a, n_b, c_b in zip(first.trials, first.hits, second.trials, second.hits, strict=True):
        differences, weights = _splits(int(n_a), int(n_b), int(c_a + c_b), first)
        observed += float(differences[int(c_a) - max(0, int(c_a + c_b - n_b))])
        spread = np.round(np.add.outer(sums, differences).ravel(), _DIGITS)
        sums, places = np.unique(spread, return_inverse=True)
        if sums.size > _MOST_SUMS:
            return None
        chances = np.bincount(places, weights=np.multiply.outer(chances, weights).ravel()).astype(np.float64)
    return min(1.0, float(chances[np.abs(sums) >= abs(observed) - NEGLIGIBLE].sum()))


def _splits(n_a: int, n_b: int, hits: int, kind: Shares) -> tuple[Floats, Floats]:
    """Give the task's difference and its chance for each number of hits that the first variant may get."""
    c_a = np.arange(max(0, hits - n_b), min(n_a, hits) + 1)
    value = pass_at_k if kind.any_of_k else pass_hat_k
    differences = value(n_b, hits - c_a, kind.k) - value(n_a, c_a, kind.k)
    ways = math.comb(n_a + n_b, hits)
    return differences, np.array([math.comb(n_a, int(c)) * math.comb(n_b, hits - int(c)) / ways for c in c_a])


def _binomial_tails(observed: int, tosses: int, side: Side) -> tuple[float, float]:
    """Give P(more extreme) and P(tie) for the sum of fair signs."""
    if side == "less":
        heads = (observed + tosses) // 2
        below = float(bdtr(heads - 1, tosses, 0.5)) if heads else 0.0
        return below, float(bdtr(heads, tosses, 0.5)) - below
    heads = (tosses - abs(observed)) // 2
    below = float(bdtr(heads - 1, tosses, 0.5)) if heads else 0.0
    ties = float(bdtr(heads, tosses, 0.5)) - below
    return 2.0 * below, ties if observed == 0 else 2.0 * ties


def _all_sums(sizes: Floats) -> Floats:
    """Give the sums of all sign patterns, shape (2^sizes,)."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums - size, sums + size))
    return sums


def _drawn_sums(sizes: Floats, counts: Ints, seed: int) -> Floats:
    """Draw sums of random signs, shape (DRAWS,): the signs of m differences of one size add up to 2 Binomial(m, 1/2) - m."""
    generator = np.random.default_rng(seed)
    sums: Floats = np.zeros(DRAWS)
    for size, count in zip(sizes, counts, strict=True):
        sums = sums + size * (2.0 * generator.binomial(int(count), 0.5, size=DRAWS) - int(count))
    return sums


def _tails(sums: Floats, observed: float, side: Side) -> tuple[float, float]:
    """Give the shares of sums that are more extreme than the observed one, and as extreme."""
    surplus = observed - sums if side == "less" else np.abs(sums) - abs(observed)
    more = float(np.mean(surplus > NEGLIGIBLE))
    return more, float(np.mean(surplus >= -NEGLIGIBLE)) - more
