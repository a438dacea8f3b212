"""What commands cost before they do anything: CPU seconds of whole processes, the median of five.

    python -m benchmarks.startup

Targets: `evalkit --help` 0.15 s, `validate` 0.5 s, `gate` on 4,000 trials 1 s.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.meter import report
from benchmarks.overhead import run, sums

ROOT = Path(__file__).parents[1]
TIMES = 5


def cpu_of(*words: str) -> float:
    """CPU seconds of one command, the median of five runs."""
    spent = []
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "evalkit", *words], cwd=ROOT, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(statistics.median(spent), 3)


def main() -> None:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        run(sums(4000), folder, "threads", 8)
        report(
            {
                "help_cpu_s": cpu_of("--help"),
                "validate_cpu_s": cpu_of("validate", "suites/quickstart.yaml"),
                "gate_4000_cpu_s": cpu_of("gate", str(folder), "--min", "pass^8>=0.7"),
                "show_4000_cpu_s": cpu_of("show", str(folder)),
            }
        )


if __name__ == "__main__":
    main()
