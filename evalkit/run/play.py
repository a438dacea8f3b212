"""From names to parts to a played trial: the function that backends send to their workers.

Invariant: `play` takes a trial and gives a record, alone: it can be pickled by name, holds nothing between trials but built
parts (which have no state), and never raises.
"""

from __future__ import annotations

from functools import partial
from threading import Lock

from evalkit import parts as families
from evalkit.core.clock import SystemClock
from evalkit.core.plan import Task, Trial, Variant
from evalkit.core.protocols import Parts
from evalkit.core.record import Stop, TrialRecord
from evalkit.engine.contain import contain, explain
from evalkit.engine.trial import play_trial, unplayable

BUILT = 4096
_built: dict[tuple[str, str], Parts] = {}
_lock = Lock()


def play(trial: Trial) -> TrialRecord:
    """Play one trial on the machine's own clock."""
    clock = SystemClock()
    parts, broke = contain(partial(parts_of, trial))
    if parts is None:
        detail = explain(broke) if broke else "no parts were built"
        return unplayable(trial, "live", Stop(reason="error:setup", detail=detail), clock)
    return play_trial(trial, parts, clock)


def parts_of(trial: Trial) -> Parts:
    """Build a trial's parts, or give those already built for the same task and variant."""
    key = (trial.key.task_digest + trial.task.base, trial.key.variant_digest)
    parts = _built.get(key)
    if parts is None:
        parts = build_parts(trial.task, trial.variant)
        with _lock:
            if len(_built) >= BUILT:
                _built.clear()
            _built[key] = parts
    return parts


def build_parts(task: Task, variant: Variant) -> Parts:
    """Build all parts that a task under a variant needs; raises `ConfigurationError` where one cannot be."""
    return Parts(
        loop=families.build("loops", variant.loop),
        provider=families.build("providers", variant.provider),
        context=families.build("context", variant.context),
        environment=families.build("environments", task.environment),
        tools=tuple(families.build("tools", spec) for spec in task.tools),
        graders=tuple(families.build("checks", spec) for spec in task.graders),
    )
