"""Several suites and several configs as one plan.

Invariant: whatever is wrong in whichever file, one error tells all of it; what is returned can be run as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evalkit import parts
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Config, Suite, Variant
from evalkit.load.config import Read, check_names, read_config
from evalkit.load.document import is_file
from evalkit.load.node import Mark
from evalkit.load.problems import Problems, meant
from evalkit.load.steps import check_steps
from evalkit.load.suite import read_suite
from evalkit.load.variants import pointers


def load(suites: Sequence[Path], configs: Sequence[Path]) -> tuple[tuple[Suite, ...], Config]:
    """Load suites and the variants to run them under; without configs those that the suites name.

    A file that is named twice is read once. A `ConfigurationError` carries everything that is wrong with any of the files.
    """
    if not suites:
        raise ConfigurationError.of("suites", "no suite file was given", "name at least one, such as suites/my.yaml")
    problems = Problems()
    found = tuple(read_suite(path, problems) for path in _once(suites))
    read = tuple(one.suite for one in found)
    _refuse_namesakes(read, problems)
    chosen = _once(configs or [_beside(suite, one) for suite in read for one in suite.configs])
    if not chosen and all(suite.tasks for suite in read):
        mend = "add `configs: [PATH]` to the suite, or name a config with -c"
        problems.add(
            Mark(read[0].source), "no variants to run: the suite names no `configs`, and none were given", mend
        )
    files = [read_config(path, problems) for path in chosen if configs or is_file(path)]
    config = _merge(files, problems)
    _check_tasks(files, read, problems)
    _check_homes(files, read, problems)
    check_steps((one for suite in found for one in suite.tasks), config.variants, problems)
    problems.throw()
    return read, config


def _once(paths: Iterable[Path]) -> list[Path]:
    """Leave out files that were named before, by whatever path."""
    found: dict[str, Path] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _beside(suite: Suite, config: str) -> Path:
    """The path of a config that a suite names."""
    return Path(os.path.normpath(Path(suite.source).parent / config))


def _refuse_namesakes(suites: Iterable[Suite], problems: Problems) -> None:
    """Note each suite whose name another has, since trials are told apart by it."""
    seen: dict[str, str] = {}
    for suite in suites:
        if suite.name and suite.name in seen:
            what = f"the suite is called {suite.name!r}, as that in {seen[suite.name]} is"
            problems.add(Mark(suite.source), what, "rename one of them")
        seen.setdefault(suite.name, suite.source)


def _merge(files: Sequence[Read], problems: Problems) -> Config:
    """Put configs together: one name means one variant, and there is one baseline at most."""
    variants: dict[str, Variant] = {}
    baseline: Read | None = None
    names = {name: mark for read in files for name, mark in read.names.items()}
    for read in files:
        for variant in read.config.variants:
            known = variants.setdefault(variant.name, variant)
            if differing := ", ".join(pointers(known, variant)):
                what = f"the variant {variant.name!r} differs in {differing} from that in {known.source}"
                problems.add(read.names[variant.name], what, "rename one of them")
        if read.config.baseline is not None:
            baseline = baseline or read
            if read.baseline and read.config.baseline != baseline.config.baseline:
                what = f"the baseline is {baseline.config.baseline!r} in {baseline.config.source}"
                problems.add(read.baseline, what, "name one baseline")
        check_names(read, names, problems)
    return Config(
        variants=tuple(variants.values()),
        baseline=baseline.config.baseline if baseline else None,
        gates=tuple(dict.fromkeys(gate for read in files for gate in read.config.gates)),
        source=", ".join(read.config.source for read in files),
    )


def _check_homes(files: Iterable[Read], suites: Sequence[Suite], problems: Problems) -> None:
    """Note each task whose world an agent that is a program cannot reach: it works in a folder, and has no other tools."""
    for read in files:
        for variant in read.config.variants:
            if getattr(parts.part("loops", variant.loop.kind), "TOOLS", True):
                continue
            for task in (task for suite in suites for task in suite.tasks):
                kind = task.environment.kind
                if task.tools or not getattr(parts.part("environments", kind), "OPEN_TO_PROGRAMS", False):
                    held = f"{len(task.tools)} tools" if task.tools else f"an environment of kind {kind}"
                    what = f"the task {task.id!r} has {held}, which the agent of {variant.name!r} ({variant.loop.kind}) cannot reach"
                    mend = "give the task a `workspace`, or none; a `python` agent can use every tool"
                    problems.add(read.names[variant.name], what, mend)


def doubts(variants: Iterable[Variant]) -> Iterator[str]:
    """Say what in variants will not work as it is meant, though nothing is wrong with it."""
    for variant in variants:
        found: Any = getattr(parts.build("loops", variant.loop), "doubts", None)
        yield from (f"{variant.name}: {doubt}" for doubt in (found(variant) if found else ()))


def _check_tasks(files: Iterable[Read], suites: Sequence[Suite], problems: Problems) -> None:
    """Note each task of a gate that is in no suite: such a gate could never be judged."""
    if not all(suite.tasks for suite in suites):
        return
    ids = {task.id for suite in suites for task in suite.tasks}
    for read in files:
        for gate, node in read.gates:
            if gate.task is not None and gate.task not in ids:
                problems.add(node.find(["task"]).mark, f"there is no task {gate.task!r}", meant(gate.task, ids))
