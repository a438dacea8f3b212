"""Which sandbox a run's processes get: what was asked, what the run would start, and what this machine can do, weighed before the first trial.

Invariant: code that a real model wrote never runs without a sandbox unless a person said `none`; and whatever was settled is told and recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit import parts
from evalkit.core.errors import ConfigurationError
from evalkit.core.message import Nature
from evalkit.core.plan import Spec, Suite, Variant
from evalkit.core.protocols import RunsOutside, StartsProcesses, nature_of
from evalkit.core.sandbox import PLAIN, Sandbox
from evalkit.parts._sandbox import probe

LEVELS = ("auto", "bubblewrap", "none", "require")
UNUSED = "not needed: nothing starts a process"
RECORD = "sandbox"
"""Under this name a run's settings hold the levels that it was run at, in their order."""

MEND = "install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap; `evalkit doctor` tells if it works), or accept the risk with --sandbox none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the trials carry, what the run's folder records, and what a person is told (empty: nothing)."""

    sandbox: Sandbox
    level: str
    told: str = ""


def natures(variants: Sequence[Variant]) -> dict[str, Nature]:
    """Where each variant's replies come from."""
    return {
        one.name: nature_of(parts.build("loops", one.loop), parts.build("providers", one.provider)) for one in variants
    }


def settle(asked: str, show: Sequence[str], suites: Sequence[Suite], variants: Sequence[Variant]) -> Settled:
    """Choose; raises `ConfigurationError` where what was asked cannot be had.

    Any model but a simulated one writes what nobody has read: one on this machine, and the replies of a replay, too.
    """
    for folder in show:
        if not Path(folder).is_absolute() or not Path(folder).exists():
            raise ConfigurationError.of(
                f"--sandbox-show {folder}", "is no path from the root that exists", "name a folder as /opt/tools"
            )
    own = ", ".join(dict.fromkeys(_outside(variants)))
    if own and asked in ("require", "bubblewrap"):
        what = f"{own} runs your own agent as a program that no sandbox of evalkit holds"
        raise ConfigurationError.of(
            f"--sandbox {asked}", what, "put the agent into a container of its own, and say --sandbox auto or none"
        )
    found = _held(asked, show, suites, variants)
    if not own:
        return found
    told = f"no sandbox for {own}: your own agent runs with all that you may do"
    level = "none" if found.level == UNUSED else found.level
    return replace(found, level=f"{level}, your own agent outside", told="; ".join(filter(None, (found.told, told))))


def _held(asked: str, show: Sequence[str], suites: Sequence[Suite], variants: Sequence[Variant]) -> Settled:
    """Choose for all that evalkit itself starts on what an agent wrote."""
    wanting = ", ".join(dict.fromkeys(_wanting(suites, variants)))
    real = any(nature != "simulated" for nature in natures(variants).values())
    if asked == "none":
        risk = f"no sandbox: {wanting} can read what you can read, and reach your network" if wanting and real else ""
        return Settled(sandbox=PLAIN, level="none" if wanting else UNUSED, told=risk)
    if not wanting and asked != "require":
        return Settled(sandbox=PLAIN, level=UNUSED)
    lacking = probe()
    if not lacking:
        return Settled(sandbox=Sandbox(kind="bubblewrap", show=tuple(show)), level="bubblewrap" if wanting else UNUSED)
    if asked == "auto" and not real:
        told = f"no sandbox ({lacking}): {wanting} run beside evalkit; the model is simulated, so what they run is the suite's own"
        return Settled(sandbox=PLAIN, level="none", told=told)
    what = f"there is no sandbox for {wanting or 'anything'}: {lacking}"
    if asked == "auto":
        what = f"a real model would run code with all that you may do, for {lacking}. It concerns {wanting}"
    raise ConfigurationError.of(f"--sandbox {asked}", what, MEND)


def going_on(before: Mapping[str, object], level: str) -> tuple[list[str], str]:
    """The levels that a folder's trials were played at when this call is over, and what a person is told where there is more than one."""
    held = before.get(RECORD)
    levels = [str(one) for one in held] if isinstance(held, list) else []
    if level not in levels:
        levels.append(level)
    if len({one for one in levels if one != UNUSED}) < 2:
        return levels, ""
    return (
        levels,
        f"the trials of this run were not all held alike: {', then '.join(levels)}. Where a task needs a network they may differ",
    )


def _outside(variants: Sequence[Variant]) -> Iterator[str]:
    """Name each loop that runs a program of the user's own."""
    for variant in variants:
        part = parts.build("loops", variant.loop)
        if isinstance(part, RunsOutside) and part.runs_outside:
            yield f"loop {variant.loop.kind}"


def _wanting(suites: Sequence[Suite], variants: Sequence[Variant]) -> Iterator[str]:
    """Name each kind of part that starts processes on what an agent wrote."""
    families: dict[str, list[Spec]] = {"environments": [], "tools": [], "checks": [], "loops": []}
    for task in (task for suite in suites for task in suite.tasks):
        families["environments"].append(task.environment)
        families["tools"] += task.tools
        families["checks"] += (*task.checks, *task.graders)
    for variant in variants:
        families["tools"] += variant.extra_tools
        families["loops"].append(variant.loop)
    for family, specs in families.items():
        for spec in specs:
            part = parts.build(family, spec)
            if isinstance(part, StartsProcesses) and part.starts_processes:
                yield f"{family.removesuffix('s')} {spec.kind}"
