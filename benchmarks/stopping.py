"""What ending a run early costs in false verdicts and saves in trials, by simulation.

    python -m benchmarks.stopping [--runs 1000] [--quick] [--seed 0]

The gate is `pass^8 >= 0.7` with n = k = 8, one-sided 95% bounds. One line a cell: law of tasks, tasks, and for each way to stop the share of runs
with a pass and with a fail, and the mean share of trials that were played. Laws are scaled so that the true pass^8 is the bound itself
(`at`: either verdict is an error, of at most 5% each), below it (0.55) or above it (0.85). Then, for first failures, the mean of pass^8 and of
the plain rate c / n of the trials that were played, beside the truth. The last line is JSON with the most false verdicts of each way.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.meter import Meter, report
from evalkit.measure.curtail import curtailment, first_failures, pass_hat_by_first_failure
from evalkit.measure.evidence import weigh
from evalkit.measure.interval import clopper_pearson
from evalkit.measure.odds import Bar, Word

K = 8
BOUND = 0.7
BAR = Bar(sense=">=", bound=BOUND, kind="lower")
TRUTHS = (0.55, 0.7, 0.85)
SIZES = (30, 100)
LOOK = 10

Bools = npt.NDArray[np.bool_]
Found = tuple[Word, int]


def trials(truth: float, tasks: int, random: np.random.Generator, *, spread: bool) -> Bools:
    """Trials of tasks, shape (tasks, 8), whose mean p^8 is `truth`: all alike, or one in ten hopeless and the others better."""
    if not spread:
        return np.asarray(random.random((tasks, K)) < truth ** (1.0 / K))
    hopeless = random.random((tasks, 1)) < 0.1
    return np.asarray((random.random((tasks, K)) < (truth / 0.9) ** (1.0 / K)) & ~hopeless)


def fixed(passed: Bools) -> Found:
    """The verdict of all tasks."""
    hits, total = int(passed.sum()), passed.size
    return BAR.verdict(hits / total, *clopper_pearson(hits, total, sides=1)), total


def curtailed(passed: Bools) -> Found:
    """That verdict, as soon as it stands."""
    table, hits = curtailment(passed.size, BAR), 0
    for done, one in enumerate(passed, start=1):
        hits += int(one)
        word = table[done][hits]
        if word is not None and word != "inconclusive":
            return word, done
    return "inconclusive", passed.size


def evidence(passed: Bools) -> Found:
    """The first verdict that the e-process reaches."""
    values = passed.astype(np.float64)
    found = weigh(values, values, BOUND)
    return found.word or "inconclusive", found.done


def peeking(passed: Bools) -> Found:
    """The first verdict of the fixed interval, looked at again every ten tasks: what must not be done."""
    for done in range(LOOK, passed.size + 1, LOOK):
        word, _ = fixed(passed[:done])
        if word != "inconclusive":
            return word, done
    return fixed(passed)


WAYS = {"all tasks": fixed, "curtailed": curtailed, "e-process": evidence, "peeking": peeking}


def cell(truth: float, tasks: int, runs: int, seed: int, *, spread: bool) -> dict[str, tuple[float, float, float]]:
    """Share of runs that pass and that fail, and mean share of tasks played, by way to stop."""
    random = np.random.default_rng([seed, tasks, round(100 * truth), spread])
    told = {name: np.zeros(3) for name in WAYS}
    for _ in range(runs):
        passed = np.asarray(trials(truth, tasks, random, spread=spread).all(axis=1))
        words = {}
        for name, way in WAYS.items():
            word, done = way(passed)
            words[name] = word
            told[name] += (word == "pass", word == "fail", done / tasks)
        if words["curtailed"] != words["all tasks"]:
            raise AssertionError("a curtailed verdict is not that of the full run")
    return {name: tuple(float(x) for x in sums / runs) for name, sums in told.items()}  # type: ignore[misc]  # always three


def skipping(truth: float, tasks: int, runs: int, seed: int) -> dict[str, float]:
    """Mean pass^8, mean of the plain rate, its truth and the share of trials played where tasks end at their first failure."""
    random, sums = np.random.default_rng([seed, tasks, round(100 * truth)]), np.zeros(3)
    for _ in range(runs):
        passed = trials(truth, tasks, random, spread=True)
        failed = ~passed
        tried = np.where(failed.any(axis=1), failed.argmax(axis=1) + 1, K)
        hits = np.where(failed.any(axis=1), tried - 1, K)
        hat = pass_hat_by_first_failure(first_failures(hits, tried), tasks, K, K)
        sums += (hat, float((hits / tried).mean()), float(tried.sum()) / (K * tasks))
    hat, rate, played = (float(x) for x in sums / runs)
    return {"pass^8": hat, "c/n": rate, "true pass@1": 0.9 * (truth / 0.9) ** (1.0 / K), "played": played}


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="30 tasks, 50 runs a cell")
    given = parser.parse_args(argv)
    runs, sizes = (min(given.runs, 50), SIZES[:1]) if given.quick else (given.runs, SIZES)
    meter, most = Meter(), dict.fromkeys(WAYS, 0.0)
    for tasks in sizes:
        for truth in TRUTHS:
            for spread in (False, True):
                found = cell(truth, tasks, runs, given.seed, spread=spread)
                law = "10% hopeless" if spread else "all alike"
                shown = (f"{name} {a:.3f}/{b:.3f} ({c:.0%})" for name, (a, b, c) in found.items())
                print(f"{law:<12} N={tasks:<4} pass^8={truth:<4}", *shown)
                for name, (passes, fails, _) in found.items():
                    wrong = max(passes if truth <= BOUND else 0.0, fails if truth >= BOUND else 0.0)
                    most[name] = max(most[name], wrong)
    for truth in TRUTHS:
        print("first failure", *(f"{name} {x:.3f}" for name, x in skipping(truth, 100, runs, given.seed).items()))
    figures = meter.read(runs)
    report({"runs": runs, "cpu_s": figures["cpu_s"], "most_false": {name: round(x, 3) for name, x in most.items()}})


if __name__ == "__main__":
    main(sys.argv[1:])
