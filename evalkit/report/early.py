"""What is said of a run that was cut short on purpose.

Invariant: each way to end early is told with what it leaves valid and what it leaves undefined.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.measure.table import Table

SKIPPED = "trials were skipped by how others had ended, so that those which were played do not stand for all"
"""Why a mean or quantile over the trials that were played is undefined."""


def early(table: Table) -> Iterator[str]:
    """Say how a run was cut short on purpose, and what follows."""
    if table.first_failure:
        yield (
            "Later trials of a task were skipped once one had failed: pass^n is that of the full run (n the trials of each task); "
            "pass@1, pass^k for smaller k, pass@k and what depends on them are undefined."
        )
    if table.curtailed:
        yield (
            "Ended early, since the verdict of the gates that the run was made with stood: no outcome of the trials that are left could change it, "
            "or the evidence that a rule of the kind anytime asks for was reached. Values that need those trials are undefined, and they may still change the verdict of "
            "any other rule: `run --gate --curtail off` plays them."
        )
