"""What a benchmark reports: CPU seconds and memory as the operating system counts them, children included.

Wall times on shared machines say little; CPU seconds and ratios within one run are what the targets speak of.
"""

from __future__ import annotations

import json
import resource
import time
from dataclasses import dataclass, field
from typing import Any


def cpu() -> float:
    """User and system seconds of this process and its finished children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def peak_rss_mb() -> float:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass
class Meter:
    """Wall and CPU seconds since it was made."""

    wall: float = field(default_factory=time.perf_counter)
    spent: float = field(default_factory=cpu)

    def read(self, trials: int) -> dict[str, Any]:
        """The figures that all benchmarks share, for so many trials."""
        wall, spent = time.perf_counter() - self.wall, cpu() - self.spent
        return {
            "trials": trials,
            "wall_s": round(wall, 3),
            "cpu_s": round(spent, 3),
            "ms_cpu_per_trial": round(1000 * spent / trials, 4),
            "trials_per_s": round(trials / wall, 1),
            "peak_rss_mb": round(peak_rss_mb(), 1),
        }


def report(figures: dict[str, Any]) -> None:
    """Print the figures as the last line."""
    print(json.dumps(figures))
