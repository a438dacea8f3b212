"""How often a "95%" interval holds the truth: ours beside the usual ones, by simulation.

    python -m benchmarks.coverage [--runs 2000] [--quick] [--seed 0]

One line a cell: law, tasks, n, k, and for each interval the share of runs that held the truth and its mean width. The last line is JSON
with the least coverage of each. Targets: ours at least 0.95 less three standard errors of the simulation in every cell.
The usual intervals (mean ± 1.96 standard errors, percentile bootstrap of tasks, Wilson on pooled trials) are here to be seen missing.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.laws import LAWS, Floats
from benchmarks.meter import Meter, report
from evalkit.measure.interval import gaffke, jeffreys, suite_interval
from evalkit.measure.medians import woodruff
from evalkit.measure.passing import histogram, pass_hat_table

K = 8
Z = 1.959963984540054
FULL = [(tasks, n) for n in (8, 16) for tasks in (3, 10, 30, 100)]
QUICK = [(3, 8), (30, 16)]
RESAMPLES = 400

Ints = np.ndarray[Any, np.dtype[np.int64]]
Interval = Callable[[Ints, int], tuple[float, float]]


def ours(c: Ints, n: int) -> tuple[float, float]:
    """The interval of Gaffke for more tasks of this kind."""
    return gaffke(pass_hat_table(n, K), np.bincount(c, minlength=n + 1).astype(np.int64))


def shorter(c: Ints, n: int) -> tuple[float, float]:
    """Its shorter relative."""
    return jeffreys(pass_hat_table(n, K), np.bincount(c, minlength=n + 1).astype(np.int64))


def suite(c: Ints, n: int) -> tuple[float, float]:
    """The interval for these very tasks."""
    return suite_interval(*histogram(np.full(c.size, n), c), K)


def normal(c: Ints, n: int) -> tuple[float, float]:
    """Mean ± 1.96 standard errors over tasks."""
    values = pass_hat_table(n, K)[c]
    reach = Z * float(values.std(ddof=1)) / math.sqrt(c.size)
    return float(values.mean()) - reach, float(values.mean()) + reach


def bootstrap(c: Ints, n: int) -> tuple[float, float]:
    """Percentiles of the mean of tasks drawn with replacement."""
    weights = np.random.default_rng(0).multinomial(c.size, np.bincount(c, minlength=n + 1) / c.size, size=RESAMPLES)
    low, high = np.quantile(weights @ pass_hat_table(n, K) / c.size, (0.025, 0.975))
    return float(low), float(high)


def pooled(c: Ints, n: int) -> tuple[float, float]:
    """Wilson's interval of the rate of all trials together, for pass@1."""
    trials, rate = n * c.size, float(c.sum()) / (n * c.size)
    middle, size = rate + Z**2 / (2 * trials), 1 + Z**2 / trials
    reach = Z * math.sqrt(rate * (1 - rate) / trials + Z**2 / (4 * trials**2))
    return (middle - reach) / size, (middle + reach) / size


POPULATION: dict[str, Interval] = {
    "gaffke": ours,
    "jeffreys": shorter,
    "normal": normal,
    "bootstrap": bootstrap,
    "pooled (pass@1)": pooled,
}


def cell(law: str, tasks: int, n: int, runs: int, seed: int) -> dict[str, tuple[float, float]]:
    """Share of runs that held the truth and mean width, by interval."""
    random = np.random.default_rng([seed, tasks, n, list(LAWS).index(law)])
    names = [*POPULATION, "suite"]
    held, width = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    for _ in range(runs):
        p = LAWS[law].draw(random, tasks)
        c = random.binomial(n, p).astype(np.int64)
        for name, interval in {**POPULATION, "suite": suite}.items():
            truth = LAWS[law].truth(1 if "pass@1" in name else K) if name != "suite" else float((p**K).mean())
            low, high = interval(c, n)
            held[name] += low - 1e-12 <= truth <= high + 1e-12
            width[name] += high - low
    return {name: (held[name] / runs, width[name] / runs) for name in names}


def medians(tasks: int, runs: int, seed: int) -> tuple[float, float]:
    """Share of runs whose median's interval held the truth, ours and that of independent trials: tasks spread by 0.8 in logarithms, trials by 0.4."""
    random, held, naive = np.random.default_rng([seed, tasks]), 0, 0
    for _ in range(runs):
        amounts: Floats = np.exp(0.8 * random.normal(size=(tasks, 1)) + 0.4 * random.normal(size=(tasks, 8))).ravel()
        for clusters in (np.repeat(np.arange(tasks), 8), np.arange(amounts.size)):
            _, low, high = woodruff(amounts, clusters, 0.5)
            if clusters[-1] == tasks - 1:
                held += low <= 1.0 <= high
            else:
                naive += low <= 1.0 <= high
    return held / runs, naive / runs


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="two cells a law, 100 runs each")
    given = parser.parse_args(argv)
    runs = min(given.runs, 100) if given.quick else given.runs
    meter, least, cells = Meter(), dict[str, float](), QUICK if given.quick else FULL
    for law in LAWS:
        for tasks, n in cells:
            found = cell(law, tasks, n, runs, given.seed)
            print(f"{law:<12} N={tasks:<4} n={n:<3}", *(f"{name} {a:.3f} ({b:.3f})" for name, (a, b) in found.items()))
            least |= {name: min(held, least.get(name, 1.0)) for name, (held, _) in found.items()}
    for tasks in sorted({max(10, tasks) for tasks, _ in cells}):
        held, naive = medians(tasks, runs, given.seed)
        print(f"median       N={tasks:<4} n=8   woodruff by task {held:.3f}, by trial {naive:.3f}")
        least |= {"median": min(held, least.get("median", 1.0))}
    figures = meter.read(runs * len(LAWS) * len(cells))
    report(
        {"runs": runs, "cpu_s": figures["cpu_s"], "least_coverage": {name: round(x, 3) for name, x in least.items()}}
    )


if __name__ == "__main__":
    main(sys.argv[1:])
