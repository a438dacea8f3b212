"""What the numbers of a large run cost: a million records to curves with intervals, comparison and stops.

    python -m benchmarks.analysis [--records 1000000] [--n 8] [--seed 0]

Two variants; records lie in columns as a store gives them. Targets at a million: at most 3 s CPU and 1 GB. The time to make the records
up is not counted; the memory of the columns is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.meter import Meter, cpu, report
from evalkit.measure.amounts import Metered
from evalkit.measure.compare import compare
from evalkit.measure.estimate import estimate
from evalkit.measure.medians import quantile
from evalkit.measure.stop_shift import stop_shifts
from evalkit.measure.stops import stops
from evalkit.measure.table import Table
from evalkit.measure.winner import winner

VARIANTS = ("react", "plan")
METERS: tuple[Metered, ...] = ("turns", "tokens", "seconds", "usd")
REASONS = ("finished", "cap:turns", "cap:tokens", "loop", "gave_up")


def make(records: int, n: int, seed: int) -> Table:
    """A run of so many records: tasks of a beta law, the second variant a little worse."""
    random, tasks = np.random.default_rng(seed), max(1, records // (n * len(VARIANTS)))
    task, variant, index = (grid.ravel() for grid in np.indices((tasks, len(VARIANTS), n)))
    chance = random.beta(4.0, 1.0, tasks)[task] * np.where(variant == 1, 0.98, 1.0)
    passed = random.random(task.size) < chance
    stop = np.where(passed, 0, random.integers(0, len(REASONS), task.size))
    turns = random.poisson(6, task.size) + 1
    return Table(
        tasks=tuple(("bench", f"t{place}") for place in range(tasks)),
        variants=VARIANTS,
        baseline=VARIANTS[0],
        planned=np.full((tasks, len(VARIANTS)), n),
        task=task,
        variant=variant,
        index=index + 1,
        outcome=passed.astype(np.int64),
        graded=passed.astype(np.int64),
        stop=stop,
        stops=REASONS,
        turns=turns,
        tokens=800 * turns,
        usd=0.004 * turns,
        seconds=1.5 * turns,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    made = make(given.records, given.n, given.seed)
    parts: dict[str, float] = {}
    meter, last = Meter(), cpu()

    def lap(name: str) -> None:
        """Note the CPU seconds since the last lap."""
        nonlocal last
        now = cpu()
        parts[name], last = round(now - last, 3), now

    table = Table(**{name: getattr(made, name) for name in COLUMNS})
    lap("table")
    for name in VARIANTS:
        for k in range(1, given.n + 1):
            estimate(table, f"pass^{k}", name)
            estimate(table, f"pass@{k}", name)
    lap("curves")
    compare(table)
    lap("compare")
    stops(table)
    stop_shifts(table)
    lap("stops")
    for name in VARIANTS:
        for meter_name in METERS:
            quantile(table, name, meter_name)
    lap("medians")
    winner(table, given.n)
    lap("winner")
    figures = meter.read(int(table.task.size))
    report(
        {
            "records": figures["trials"],
            "cpu_s": figures["cpu_s"],
            "peak_rss_mb": figures["peak_rss_mb"],
            "cpu_s_by_part": parts,
        }
    )


COLUMNS = (
    *("tasks", "variants", "baseline", "planned", "task", "variant", "index", "outcome", "graded"),
    *("stop", "stops", "turns", "tokens", "usd", "seconds"),
)


if __name__ == "__main__":
    main(sys.argv[1:])
