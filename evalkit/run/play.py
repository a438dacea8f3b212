"""From names to parts to a played trial: the function that backends send to their workers.

Invariant: `play` takes a trial and gives a record, alone: it can be pickled by name, holds nothing between trials but built
parts (which have no state), and never raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from evalkit import parts as families
from evalkit.core.clock import SystemClock
from evalkit.core.message import JSON, Nature, ToolSpec
from evalkit.core.plan import Spec, Task, Trial, Variant
from evalkit.core.protocols import ContextPolicy, Environment, Parts, Tool, nature_of
from evalkit.core.record import Stop, TrialRecord
from evalkit.engine.contain import contain, explain
from evalkit.engine.trial import play_trial, unplayable

BUILT = 256
"""Parts that are kept; a task's trials come together, so few are enough."""
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


def lost(trial: Trial, why: str) -> TrialRecord:
    """The record of a trial whose worker died under it: an error, whose cost nobody knows."""
    nature: Nature = nature_of(
        families.build("loops", trial.variant.loop), families.build("providers", trial.variant.provider)
    )
    record = unplayable(trial, nature, Stop(reason="error:worker", detail=why), SystemClock())
    return replace(record, tally=replace(record.tally, usd=None))


def parts_of(trial: Trial) -> Parts:
    """Build a trial's parts, or give those already built for the same task and variant."""
    key = (trial.key.task_digest + trial.task.base, trial.key.variant_digest + trial.variant.base)
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
        policies=build_policies,
        environment=families.build("environments", task.environment),
        tools=(*_build_all("tools", task.tools), *_rooted(_build_all("tools", variant.extra_tools), variant.base)),
        checks=_build_all("checks", task.checks),
        graders=_build_all("checks", task.graders),
        detectors=_build_all("detectors", variant.detectors),
        guardrails=_build_all("guardrails", variant.guardrails),
        fragments=tuple(families.build("fragments", Spec(kind=name)).text() for name in variant.fragments),
    )


def build_policies(specs: Sequence[Spec]) -> tuple[tuple[str, ContextPolicy], ...]:
    """Build context policies, each with its kind."""
    return tuple((spec.kind, families.build("context", spec)) for spec in specs)


def _rooted(tools: Sequence[Any], base: str) -> tuple[Any, ...]:
    """Tools of a variant: their own files start from its folder; one that works through the session has none."""
    return tuple(tool if hasattr(tool, "converse") else Rooted(tool, Path(base)) for tool in tools)


@dataclass(frozen=True, slots=True)
class Rooted:
    """A tool whose relative paths start from a folder of its own, whatever base it is given (`core.protocols.Tool`)."""

    tool: Tool
    home: Path

    def spec(self, base: Path) -> ToolSpec:
        """As the tool says, from its own folder."""
        return self.tool.spec(self.home)

    def use(self, arguments: Mapping[str, JSON], world: Environment, base: Path) -> str:
        """Run the tool, from its own folder."""
        return self.tool.use(arguments, world, self.home)


def _build_all(family: str, specs: Sequence[Spec]) -> tuple[Any, ...]:
    """Build parts of one family."""
    return tuple(families.build(family, spec) for spec in specs)
