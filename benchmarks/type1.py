"""How often variants that do not differ are called different, and how often a real drop is found, by simulation at 5%.

    python -m benchmarks.type1 [--runs 1000] [--quick] [--seed 0]

One line a cell: law, tasks, n, and the share of runs in which each test finds a difference in pass^8, in pass@1 (pooled trials) or in
the stops. `same` is no difference in any task; `mean` draws the variants' tasks apart with equal means; `drop` is a loss of 0.10 that strikes every
task. The last line is JSON with the most false alarms of each test. Targets: ours at most 0.05 and three standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.laws import LAWS, Floats
from benchmarks.meter import Meter, report
from evalkit.measure.paired import sign_flip
from evalkit.measure.passing import pass_hat_table
from evalkit.measure.stop_shift import swap_test

K = 8
DROP = 0.10
FULL = [(tasks, n) for n in (8, 16) for tasks in (10, 30, 100)]
QUICK = [(10, 8), (30, 16)]
REASONS = np.array([0.70, 0.10, 0.06, 0.05, 0.04, 0.03, 0.02])
"""Mean shares of seven reasons to stop."""


def chances(law: str, tasks: int, truth: str, random: np.random.Generator) -> tuple[Floats, Floats]:
    """The chances of both variants."""
    first = LAWS[law].draw(random, tasks)
    if truth == "same":
        return first, first
    if truth == "mean":
        return first, LAWS[law].draw(random, tasks)
    return first, first * (1.0 - DROP / LAWS[law].truth(K)) ** (1.0 / K)


def cell(law: str, tasks: int, n: int, truth: str, runs: int, seed: int) -> dict[str, float]:
    """Share of runs in which a difference is found, by test."""
    random, table = np.random.default_rng([seed, tasks, n, list(LAWS).index(law), len(truth)]), pass_hat_table(n, K)
    found = dict.fromkeys(("sign-flip", "normal", "pooled trials"), 0)
    for run in range(runs):
        one, other = (random.binomial(n, p) for p in chances(law, tasks, truth, random))
        gains = table[other] - table[one]
        found["sign-flip"] += sign_flip(gains, seed=run).p <= 0.05
        error = float(gains.std(ddof=1)) / math.sqrt(tasks)
        found["normal"] += error > 0.0 and abs(float(gains.mean())) > 1.96 * error
        rate = (one.sum() + other.sum()) / (2 * n * tasks)
        error = math.sqrt(2 * rate * (1 - rate) / (n * tasks))
        found["pooled trials"] += error > 0.0 and abs(other.sum() - one.sum()) / (n * tasks) > 1.96 * error
    return {name: number / runs for name, number in found.items()}


def stops(tasks: int, n: int, truth: str, runs: int, seed: int, *, strength: float = 0.5) -> dict[str, float]:
    """Share of runs in which the stops are found to differ: tasks have laws of their own, the more so the smaller `strength`."""
    random, found = np.random.default_rng([seed, tasks, n, len(truth)]), dict.fromkeys(("swap", "pooled chi-square"), 0)
    for run in range(runs):
        laws = [random.dirichlet(strength * REASONS + 1e-3, tasks) for _ in range(2)]
        laws = [laws[0], laws[0]] if truth == "same" else laws
        one, other = (np.array([random.multinomial(n, row) for row in law]) for law in laws)
        found["swap"] += swap_test(one / n, other / n, trials=n, seed=run).p <= 0.05
        both = np.array([one.sum(axis=0), other.sum(axis=0)])[:, (one + other).sum(axis=0) > 0]
        chi = float(((both[0] - both[1]) ** 2 / both.sum(axis=0)).sum())
        found["pooled chi-square"] += chi > CRITICAL[both.shape[1] - 1]
    return {name: number / runs for name, number in found.items()}


CRITICAL = (0.0, 3.841, 5.991, 7.815, 9.488, 11.070, 12.592)
"""The 95% quantiles of chi-square for 0 to 6 degrees of freedom."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="two cells a law, 50 runs each")
    given = parser.parse_args(argv)
    runs = min(given.runs, 50) if given.quick else given.runs
    meter, most, cells = Meter(), dict[str, float](), QUICK if given.quick else FULL
    for tasks, n in cells:
        for truth in ("same", "mean", "drop"):
            for law in LAWS:
                found = cell(law, tasks, n, truth, runs, given.seed)
                print(f"{truth:<5} {law:<12} N={tasks:<4} n={n:<3}", *(f"{name} {x:.3f}" for name, x in found.items()))
                most |= {name: max(x, most.get(name, 0.0)) for name, x in found.items() if truth != "drop"}
        for truth in ("same", "mean"):
            found = stops(tasks, n, truth, runs, given.seed)
            print(f"{truth:<5} stops        N={tasks:<4} n={n:<3}", *(f"{name} {x:.3f}" for name, x in found.items()))
            most |= {name: max(x, most.get(name, 0.0)) for name, x in found.items()}
    figures = meter.read(runs)
    report(
        {"runs": runs, "cpu_s": figures["cpu_s"], "most_false_alarms": {name: round(x, 3) for name, x in most.items()}}
    )


if __name__ == "__main__":
    main(sys.argv[1:])
