"""Whether a run that waits for its model is as quick as the waiting alone: a model of 100 ms, 64 trials at once.

    python -m benchmarks.latency [--trials 4000] [--jobs 64] [--latency-ms 100]

Ideal is `trials × 2 calls × latency / jobs`; the target is that the trials take at most 1.10 times that. Each trial is traced and kept, as in `overhead`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.meter import Meter, report
from benchmarks.overhead import VARIANT, run, sums
from evalkit.core.plan import Spec
from evalkit.run.play import play
from evalkit.run.schedule import schedule

CALLS = 2


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1024)
    parser.add_argument("--jobs", type=int, default=64)
    parser.add_argument("--latency-ms", type=int, default=100)
    given = parser.parse_args(argv)
    suite = sums(given.trials)
    slow = replace(VARIANT, provider=Spec(kind="simulated", options={"latency": f"{given.latency_ms}ms"}))
    play(next(iter(schedule([suite], [VARIANT], 0))))  # imports and caches are warm
    with tempfile.TemporaryDirectory() as scratch:
        meter = Meter()
        outcomes, seconds = run(suite, Path(scratch) / "run", "threads", given.jobs, slow)
        figures = meter.read(len(outcomes))
        size = (Path(scratch) / "run" / "trials.sqlite").stat().st_size
    ideal = len(outcomes) * CALLS * given.latency_ms / 1000 / given.jobs
    report(
        figures
        | {
            "bytes_per_trial": round(size / len(outcomes)),
            "ideal_s": round(ideal, 3),
            "wall_over_ideal": round(seconds / ideal, 3),
            "passed": outcomes.count("passed"),
        }
    )


if __name__ == "__main__":
    main(sys.argv[1:])
