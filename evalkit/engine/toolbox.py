"""The tools of a trial, under the names that the model knows them by.

Invariant: no two tools share a name, and a tool never learns of either knob: the name that `naming` made is undone, and
the argument `verbosity` of a tool that has one is filled in, before it sees the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalkit.core.errors import EvalkitError
from evalkit.core.message import JSON, ToolSpec
from evalkit.core.plan import ToolStyle
from evalkit.core.protocols import Environment, SessionTool, Tool

VERBOSITY = "verbosity"
"""A tool that can say more or less has an argument of this name, with the values `concise` and `detailed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """All tools of a trial by the name shown: what the model is told, their own names, and arguments that the variant fixes.

    `declared` are the tools of suite and variant by their own names.
    """

    specs: Mapping[str, ToolSpec]
    own_names: Mapping[str, str]
    fixed: Mapping[str, Mapping[str, JSON]]
    declared: Mapping[str, Tool | SessionTool]


def toolbox(
    world: Environment, home: str, declared: Sequence[tuple[ToolSpec, Tool | SessionTool]], style: ToolStyle
) -> Toolbox:
    """Put the environment's tools and the declared ones together; two of one name are refused.

    `home` is the name that `naming` puts before (`prefix`) or after (`suffix`) each tool's own.
    """
    specs: dict[str, ToolSpec] = {}
    own_names: dict[str, str] = {}
    fixed: dict[str, Mapping[str, JSON]] = {}
    for spec in (*world.tools(), *(spec for spec, _ in declared)):
        shown = {"plain": spec.name, "prefix": f"{home}_{spec.name}", "suffix": f"{spec.name}_{home}"}[style.naming]
        if shown in specs:
            raise EvalkitError(f"two tools are named {spec.name!r}: rename one in the suite")
        specs[shown] = replace(spec, name=shown)
        own_names[shown] = spec.name
        if style.verbosity != "agent" and VERBOSITY in spec.input_schema.get("properties", {}):
            specs[shown] = replace(specs[shown], input_schema=_without(spec.input_schema, VERBOSITY))
            fixed[shown] = {VERBOSITY: style.verbosity}
    tools = {spec.name: tool for spec, tool in declared}
    return Toolbox(specs=specs, own_names=own_names, fixed=fixed, declared=tools)


def extend(box: Toolbox, extra: Sequence[tuple[ToolSpec, Tool | SessionTool]]) -> Toolbox:
    """Add tools under their plain names, for one conversation."""
    if not extra:
        return box
    return Toolbox(
        specs={**box.specs, **{spec.name: spec for spec, _ in extra}},
        own_names={**box.own_names, **{spec.name: spec.name for spec, _ in extra}},
        fixed=box.fixed,
        declared={**box.declared, **{spec.name: tool for spec, tool in extra}},
    )


def _without(schema: Mapping[str, JSON], name: str) -> dict[str, JSON]:
    """Take a property out of an object's schema."""
    properties = {key: inner for key, inner in schema["properties"].items() if key != name}
    required = [key for key in schema.get("required", ()) if key != name]
    return {**schema, "properties": properties, "required": required}
