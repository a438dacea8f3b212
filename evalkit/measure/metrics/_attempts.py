"""What pass^k and pass@k share: how k is written, and which trials count."""

from __future__ import annotations

import re

import numpy as np

from evalkit.core.errors import ConfigurationError
from evalkit.measure.arrays import Bools
from evalkit.measure.metric import LOST, SPARED, Shares
from evalkit.measure.table import Table


def read_k(text: str, name: str) -> int | None:
    """Read the k of `pass^K` or `pass@K`, of which `name` is the part before k; None where the text is another metric's."""
    found = re.fullmatch(re.escape(name) + r"(\d{1,9})", text, re.ASCII)
    if found is None:
        return None
    if int(found[1]) < 1:
        raise ConfigurationError.of(f"metric {text}", "k counts from 1", f"write {name}1 for the plain pass rate")
    return int(found[1])


def attempts(table: Table, variant: int, tasks: Bools, *, k: int, any_of_k: bool) -> Shares:
    """Count trials: a passed one is a hit, one in error or missing is unknown.

    Where trials were skipped after a first failure, pass^n of a task with a failure is 0 whatever the rest had brought. Nothing else is known of it.
    """
    unknown = (table.errors + table.missing)[tasks, variant]
    if table.first_failure and not any_of_k:
        decided = (table.failed[tasks, variant] > 0) & (table.planned[tasks, variant] == k)
        unknown = np.where(decided, 0, unknown)
    spared = table.skipped[tasks, variant].any()
    return Shares(
        trials=table.planned[tasks, variant],
        hits=table.passed[tasks, variant],
        unknown=unknown,
        k=k,
        any_of_k=any_of_k,
        doubt=SPARED if spared else LOST,
    )
