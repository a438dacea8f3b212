"""Which sandbox a run's processes get: what was asked, what the run would start, and what this machine can do, weighed before the first trial.

Invariant: code that a real model wrote under a loop of evalkit's never runs without a sandbox unless a person said `none`; a person's own agent is
held where it can be, and sees nothing that decides its trials; and whatever was settled is told and recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit import parts
from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.message import Nature
from evalkit.core.plan import Spec, Suite, Variant
from evalkit.core.protocols import RunsInside, RunsOutside, StartsProcesses, nature_of
from evalkit.core.sandbox import PLAIN, RECORD, Needs, Sandbox
from evalkit.parts._bubblewrap import KERNEL
from evalkit.parts._sandbox import probe
from evalkit.parts.loops._needs import real

LEVELS = ("auto", "bubblewrap", "none", "require")
UNUSED = "not needed: nothing starts a process"
MEND = "install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap; `evalkit doctor` tells if it works), or accept the risk with --sandbox none"

NARROWER = "keep the agent apart from the suite and its results, or name only files and folders of the agent's"


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


def settle(
    asked: str,
    show: Sequence[str],
    suites: Sequence[Suite],
    variants: Sequence[Variant],
    folder: Path = Path("reports"),
) -> Settled:
    """Choose; raises `ConfigurationError` where what was asked cannot be had. `folder` is where the run's results go.

    Any model but a simulated one writes what nobody has read: one on this machine, and the replies of a replay, too.
    """
    for path in show:
        if any(real(path).is_relative_to(one) for one in KERNEL):
            raise ConfigurationError.of(f"--sandbox-show {path}", "would show other processes", "leave it away")
        if not Path(path).is_absolute() or not Path(path).exists():
            raise ConfigurationError.of(
                f"--sandbox-show {path}", "is no path from the root that exists", "name a folder as /opt/tools"
            )
    outside, inside = list(dict.fromkeys(_outside(variants))), list(_inside(variants))
    if outside and asked in ("require", "bubblewrap"):
        what = f"{', '.join(outside)} runs a function of your own, which no sandbox of evalkit holds"
        mend = (
            "make a program of it (loop: {kind: command}), or put all into a container and say --sandbox auto or none"
        )
        raise ConfigurationError.of(f"--sandbox {asked}", what, mend)
    found = _held(asked, show, suites, variants)
    told, level, unheld = [found.told], found.level, outside
    if found.sandbox.kind == "bubblewrap":
        _refuse_showing(inside, suites, folder)
        told += [_shown(variant, needs) for variant, needs in inside]
        level += ", your own agent outside" if outside else ""
    elif unheld := [*dict.fromkeys(f"loop {variant.loop.kind}" for variant, _ in inside), *outside]:
        level = "none"
    if unheld:
        why = "" if asked == "none" or not inside else f" ({probe()})"
        told.append(f"no sandbox for {', '.join(unheld)}{why}: your own agent runs with all that you may do")
    return replace(found, level=level, told="\n".join(filter(None, told)))


def _held(asked: str, show: Sequence[str], suites: Sequence[Suite], variants: Sequence[Variant]) -> Settled:
    """Choose for all that evalkit itself starts on what an agent wrote, and for programs of the user's own.

    Those programs run without a sandbox where none can be had, as they do anywhere else; so a sandbox for what they wrote would keep nothing from them.
    """
    own = any(True for _ in _inside(variants))
    others = [one for one in variants if not isinstance(parts.build("loops", one.loop), RunsInside)]
    wanting = ", ".join(dict.fromkeys((*_wanting(suites, variants), *(["your own agent"] if own else []))))
    real = any(nature != "simulated" for nature in natures(others).values())
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
        return Settled(sandbox=PLAIN, level="none", told=told if others else "")
    what = f"there is no sandbox for {wanting or 'anything'}: {lacking}"
    if asked == "auto":
        what = f"a real model would run code with all that you may do, for {lacking}. It concerns {wanting}"
    raise ConfigurationError.of(f"--sandbox {asked}", what, MEND)


def _shown(variant: Variant, needs: Needs) -> str:
    """Say what the user's own agent sees and reaches in its sandbox."""
    read = (
        f", reads {', '.join(needs.read)} and the system's programs" if needs.read else ", reads the system's programs"
    )
    network = "reaches the network" if needs.network else "reaches no network"
    return f"sandbox: the agent of {variant.name} writes to its workspace and a fresh home alone{read}, and {network}"


def _refuse_showing(inside: Sequence[tuple[Variant, Needs]], suites: Sequence[Suite], folder: Path) -> None:
    """Refuse where an agent could read what decides: a suite, the files of its tasks, or the results of earlier trials."""
    hidden = {Path(suite.source): f"the suite {suite.name}" for suite in suites if suite.source}
    for task in (task for suite in suites for task in suite.tasks):
        hidden |= {Path(task.base, name): f"a file of the task {task.id}" for name in task.files}
    hidden[folder] = "the run's results"
    problems = []
    for variant, needs in inside:
        for path, what in hidden.items():
            seen = next((one for one in needs.read if real(path).is_relative_to(real(one))), None)
            if seen is not None:
                where = f"variant {variant.name}, loop {variant.loop.kind}"
                problems.append(
                    Problem(
                        where=where, what=f"the agent would see {what}, {path}, for it is shown {seen}", mend=NARROWER
                    )
                )
                break
    if problems:
        raise ConfigurationError(*problems)


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


def _inside(variants: Sequence[Variant]) -> Iterator[tuple[Variant, Needs]]:
    """Each variant whose loop runs a program of the user's own that a sandbox can hold, and what that needs to find there."""
    for variant in variants:
        part = parts.build("loops", variant.loop)
        if isinstance(part, RunsInside):
            yield variant, part.needs(variant)


def _outside(variants: Sequence[Variant]) -> Iterator[str]:
    """Name each loop that runs code of the user's own where no sandbox can hold it."""
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
