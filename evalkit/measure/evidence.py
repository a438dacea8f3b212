"""Evidence on a bound that may be looked at after every task: an e-process for values in [0, 1].

Invariant: a verdict that was reached stays, whatever comes after it, and is wrong with a chance of at most 1 - confidence however
often and whenever one looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaln

from evalkit.core.errors import ConfigurationError
from evalkit.measure.arrays import Floats
from evalkit.measure.interval import tail

Sense = Literal[">=", "<="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the tasks that are done say of a bound: `met` and `missed` are the evidence for each (1 is none), `wanted` what gives a verdict.

    `word` is the first verdict that was reached, None where neither was, and `done` the number of tasks that it took, or that there were.
    """

    word: Literal["pass", "fail"] | None
    met: float
    missed: float
    wanted: float
    done: int


def e_values(hits: npt.ArrayLike, misses: npt.ArrayLike, bound: float, sense: Sense = ">=") -> Floats:
    """Give the evidence for a mean above `bound` (`>=`), or below it (`<=`), from sums of values in [0, 1] and of what they lack to 1.

    `hits` and `misses` broadcast against each other; the result has their shape. It is the likelihood averaged uniformly over all chances beyond
    the bound, over the likelihood at the bound; for `>=`, with s hits and f misses,

        B(s + 1, f + 1) P(Beta(s + 1, f + 1) > bound) / ((1 - bound) bound^s (1 - bound)^f).

    Where the mean is at most `bound` whatever came before, its expectation never grows: for values of 0 and 1 each factor of the average has mean
    at most 1, and for others too, since (q/b)^x ((1-q)/(1-b))^(1-x) is convex in x and so below its chord. So that it ever reaches
    1/a has a chance of at most a. Infinite where a double cannot hold it. Raises `ValueError` for negative sums and a bound outside (0, 1),
    `ConfigurationError` for another sense.
    Sources: Robbins 1970 (mixtures); Ville 1939; Waudby-Smith & Ramdas 2024 (bounded means by betting).
    """
    s, f = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64))
    if np.any(s < 0.0) or np.any(f < 0.0) or not 0.0 < bound < 1.0:
        raise ValueError(f"{s} hits, {f} misses and a bound of {bound} are no evidence")
    if sense not in {">=", "<="}:
        raise ConfigurationError.of("sense", f"{sense!r} is neither >= nor <=")
    upward = sense == ">="
    beyond = (betaincc if upward else betainc)(s + 1.0, f + 1.0, bound)
    with np.errstate(divide="ignore", over="ignore"):
        log = betaln(s + 1.0, f + 1.0) + np.log(beyond) - math.log(1.0 - bound if upward else bound)
        found: Floats = np.exp(log - s * math.log(bound) - f * math.log1p(-bound))
    return found


def weigh(low: Floats, high: Floats, bound: float, sense: Sense = ">=", *, confidence: float = 0.95) -> Evidence:
    """Weigh the values of tasks, in an order that does not hang on how they ended, against a bound on their mean.

    `low` and `high`, shape (tasks,), are the least and the greatest that each value may be; they differ where trials are unknown, and evidence
    is then counted at its least. Each of the two verdicts is wrong with a chance of at most 1 - `confidence`. Raises `ValueError` for
    values outside [0, 1] and a bound outside (0, 1), `ConfigurationError` for a confidence outside (0, 1).
    """
    wanted = 1.0 / tail(confidence, 1)
    if not np.all((low >= 0.0) & (low <= high) & (high <= 1.0)):
        raise ValueError("values must lie in [0, 1], none above its greatest")
    count = np.arange(1, low.size + 1)
    above = e_values(np.cumsum(low), np.maximum(count - np.cumsum(low), 0.0), bound, ">=")
    below = e_values(np.cumsum(high), np.maximum(count - np.cumsum(high), 0.0), bound, "<=")
    met, missed = (above, below) if sense == ">=" else (below, above)
    reached = np.flatnonzero((met >= wanted) | (missed >= wanted))
    at = int(reached[0]) if reached.size else low.size - 1
    return Evidence(
        word=None if not reached.size else "pass" if met[at] >= wanted else "fail",
        met=float(met[at]) if low.size else 1.0,
        missed=float(missed[at]) if low.size else 1.0,
        wanted=wanted,
        done=at + 1,
    )
