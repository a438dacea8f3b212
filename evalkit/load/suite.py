"""Suite files: what is tried and what decides.

Invariant: a suite that is returned can be run: its parts exist and fit, its files are there, its ids are unique.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from evalkit.core.plan import Suite, Task
from evalkit.load.document import is_file, read_document
from evalkit.load.faults import adapter_of, validate
from evalkit.load.files import Files
from evalkit.load.forms import SUITE, TASK
from evalkit.load.node import Mark, Node, is_mapping
from evalkit.load.problems import Problems
from evalkit.load.specs import read_parts

FAMILIES = {"environment": "environments", "tools": "tools", "checks": "checks", "graders": "checks"}
"""The keys of a task that hold parts, and the family of each."""

JOINED = "tags"
"""The key whose values in `defaults` and in the task are joined; every other value of a task replaces the default."""

MENDS = {
    "version": "begin with `version: 1`",
    "suite": "name the suite: `suite: my-suite`",
    "tasks": "list what is to be tried",
    "id": "name the task",
    "prompt": "say what the agent is asked",
    "graders": "say what decides the trial, in the task or in `defaults`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSuite:
    """A suite file that was read: what it says, and where it says what of each of its tasks."""

    suite: Suite
    tasks: tuple[tuple[Task, Node], ...] = ()


def load_suite(path: Path) -> Suite:
    """Load a suite file; a `ConfigurationError` carries everything that is wrong with it."""
    problems = Problems()
    read = read_suite(path, problems)
    problems.throw()
    return read.suite


def read_suite(path: Path, problems: Problems) -> ReadSuite:
    """Read a suite file; where something is wrong there are problems, and the suite holds only what is right."""
    top = read_document(path, problems)
    if top is None:
        return ReadSuite(suite=Suite(name="", tasks=(), source=str(path)))
    validate(adapter_of(SUITE), top, problems, mends=MENDS)
    base = Path(os.path.abspath(path)).parent  # noqa: PTH100  # `resolve` would follow a link to another folder
    files = Files(base, problems)
    name = _text(top, "suite")
    made = [(_task(node, name, files, problems), node) for node in _tasks(top)]
    right = tuple((task, node) for task, node in made if task is not None)
    _refuse_twins(top, problems)
    configs = top.step("configs")
    for one in configs.items if configs else ():
        if one.text is not None and not is_file(base / one.text):
            problems.add(one.mark, f"there is no file {one.text!r}", "paths start from the suite's folder")
    suite = Suite(
        name=name,
        tasks=tuple(task for task, _ in right),
        configs=tuple(one.text for one in (configs.items if configs else ()) if one.text is not None),
        source=str(path),
    )
    return ReadSuite(suite=suite, tasks=right)


def _tasks(top: Node) -> Iterator[Node]:
    """The tasks of a suite with the defaults laid under them."""
    tasks, defaults = top.step("tasks"), top.step("defaults")
    for task in tasks.items if tasks else ():
        if is_mapping(task):
            yield _with_defaults(task, defaults)


def _with_defaults(task: Node, defaults: Node | None) -> Node:
    """Lay defaults under a task: its own values replace them, and tags are joined."""
    if not is_mapping(defaults):
        return task
    merged = {**defaults.entries, **task.entries}
    own, usual = task.step(JOINED), defaults.step(JOINED)
    if own and usual and isinstance(own.value, tuple) and isinstance(usual.value, tuple):
        known = {tag.text for tag in usual.items}
        merged[JOINED] = Node(own.mark, (*usual.items, *(tag for tag in own.items if tag.text not in known)))
    return Node(task.mark, merged, {**defaults.keys, **task.keys})


def _task(node: Node, suite: str, files: Files, problems: Problems) -> Task | None:
    """Make a task; None, and problems, where something is wrong with it."""
    form = validate(adapter_of(TASK), node, problems, mends=MENDS)
    held = read_parts(Task, node, FAMILIES, problems)
    used = {name: digest for part, options in held.used for name, digest in files.of_part(part, options).items()}
    if form is None or not held.whole:
        return None
    plain: dict[str, Any] = {one.name: getattr(form, one.name) for one in fields(form) if one.name not in FAMILIES}
    simulate = node.step("simulate")
    plain["simulate"] = simulate.json() if simulate else {}
    return Task(**plain, **held.specs, suite=suite, base=str(files.base), files=used)


def _refuse_twins(top: Node, problems: Problems) -> None:
    """Note each id that another task has already."""
    seen: dict[str, Mark] = {}
    tasks = top.step("tasks")
    for task in tasks.items if tasks else ():
        found = task.step("id")
        if found is None or found.text is None:
            continue
        if found.text in seen:
            problems.add(found.mark, f"the id {found.text!r} again", f"the task at {seen[found.text]} has it")
        seen.setdefault(found.text, found.mark)


def _text(top: Node, key: str) -> str:
    """A text of the file, empty where it is missing."""
    found = top.step(key)
    return (found.text if found else None) or ""
