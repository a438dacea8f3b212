"""The steps of a `simulate:` block against the tools that its task and the variants bring, so that a misspelt one is told before any run.

Invariant: nothing is opened and no file of a suite is run to learn of a tool; where a part does not announce its tools, nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalkit import parts
from evalkit.core.message import JSON
from evalkit.core.plan import Spec, Task, Variant
from evalkit.load.node import Node, is_mapping
from evalkit.load.problems import Problems, meant

Tools = Mapping[str, Mapping[str, JSON] | None]
"""The schema of each tool's arguments by the tool's name; None where only the name is known."""


def check_steps(tasks: Iterable[tuple[Task, Node]], variants: Sequence[Variant], problems: Problems) -> None:
    """Note each step that calls a tool that there is not, or gives it arguments that it does not have.

    A variant that asks no simulated model never reads a step, so without one nothing is looked at.
    """
    if not any(parts.build("providers", variant.provider).nature == "simulated" for variant in variants):
        return
    extra = [("tools", spec) for variant in variants for spec in variant.extra_tools]
    for task, node in tasks:
        own = [("environments", task.environment), *(("tools", spec) for spec in task.tools)]
        tools = _announced([*own, *extra])
        if tools is not None:
            for step in _steps(node.find(["simulate"])):
                _check(step, tools, problems)


def _announced(specs: Iterable[tuple[str, Spec]]) -> Tools | None:
    """The tools that some parts bring; None where one of them does not announce its own."""
    found: dict[str, Mapping[str, JSON] | None] = {}
    for family, spec in specs:
        part: Any = parts.build(family, spec)
        if not hasattr(part, "announce"):
            return None
        found |= part.announce()
    return found


def _steps(node: Node) -> Iterator[Node]:
    """All steps below a node, those of helpers included."""
    steps = node.step("steps")
    for step in steps.items if steps else ():
        yield step
        yield from _steps(step)


def _check(step: Node, tools: Tools, problems: Problems) -> None:
    """Hold one step to the tool that it names."""
    tool = step.step("tool")
    if tool is None or tool.text is None:
        return
    if tool.text not in tools:
        problems.add(tool.mark, f"there is no tool {tool.text!r}", meant(tool.text, tools))
        return
    schema, args = tools[tool.text], step.step("args")
    if schema is None:
        return
    known = schema.get("properties", {})
    given = args.entries if is_mapping(args) else {}
    for name in given:
        if args is not None and name not in known and schema.get("additionalProperties") is False:
            problems.add(args.key_mark(name), f"{tool.text} has no argument {name!r}", meant(name, known))
    for name in schema.get("required", ()):
        if name not in given:
            mark = (args or step).mark
            problems.add(mark, f"{tool.text} wants the argument {name!r}", f"add it to `args`: {{{name}: …}}")
