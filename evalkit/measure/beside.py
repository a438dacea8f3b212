"""Two runs of the same tasks put into one table, so that they can be compared as two variants of one run are.

Invariant: unlike runs are refused, not cut down to what they share.
"""

from __future__ import annotations

import numpy as np

from evalkit.core.errors import RunInvalid
from evalkit.measure.arrays import Ints
from evalkit.measure.table import Table, listed


def beside(candidate: Table, base: Table, *, label: str = "baseline") -> Table:
    """Add the variants of another run to a run's own, each renamed `label:NAME`; tasks are in the candidate's order.

    The table's baseline is the renamed one of `base`, or its only variant, else None. Raises `RunInvalid` where the tasks are not
    the same or a renamed variant has the name of another. That tasks of one name are the same task (digests) is the caller's to know.
    """
    for name, one, other in (("the candidate", candidate, base), ("the baseline", base, candidate)):
        alone = sorted("/".join(task) for task in set(one.tasks) - set(other.tasks))
        if alone:
            raise RunInvalid(f"the runs are of unlike tasks: only {name} has {listed(alone)}")
    variants = (*candidate.variants, *(f"{label}:{name}" for name in base.variants))
    if len(set(variants)) != len(variants):
        raise RunInvalid(f"the candidate has a variant named as those of the baseline are to be: {listed(variants)}")
    chosen = base.baseline or (base.variants[0] if len(base.variants) == 1 else None)
    places = {task: place for place, task in enumerate(candidate.tasks)}
    moved = np.array([places[task] for task in base.tasks], dtype=np.int64)
    planned = np.zeros((len(candidate.tasks), len(base.variants)), dtype=np.int64)
    planned[moved] = base.planned
    stops = tuple(dict.fromkeys((*candidate.stops, *base.stops)))
    stop = np.array([stops.index(reason) for reason in base.stops], dtype=np.int64)
    return Table(
        tasks=candidate.tasks,
        variants=variants,
        baseline=None if chosen is None else f"{label}:{chosen}",
        planned=np.hstack((candidate.planned, planned)),
        task=_joined(candidate.task, moved[base.task]),
        variant=_joined(candidate.variant, base.variant + len(candidate.variants)),
        index=_joined(candidate.index, base.index),
        outcome=_joined(candidate.outcome, base.outcome),
        graded=_joined(candidate.graded, base.graded),
        stop=_joined(candidate.stop, stop[base.stop]),
        stops=stops,
        turns=np.concatenate((candidate.turns, base.turns)),
        tokens=np.concatenate((candidate.tokens, base.tokens)),
        usd=np.concatenate((candidate.usd, base.usd)),
        seconds=np.concatenate((candidate.seconds, base.seconds)),
    )


def _joined(one: Ints, other: Ints) -> Ints:
    """Put two columns under each other."""
    return np.concatenate((one, other))
