"""Tool arguments against a tool's JSON Schema, with an answer that teaches: field, expected shape, a correct example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from evalkit.core.message import JSON, ToolSpec

SHOWN = 200


def complaint(spec: ToolSpec, arguments: Mapping[str, JSON]) -> str | None:
    """Say what is wrong with the arguments, how they should look, and show a call that would work; None where they fit."""
    faults = sorted(_validator(json.dumps(spec.input_schema)).iter_errors(arguments), key=lambda fault: fault.json_path)
    if not faults:
        return None
    lines = [f"invalid arguments for {spec.name}:"]
    lines += [f"- {_place(fault)}: {fault.message[:SHOWN]}" for fault in faults]
    lines.append(f"expected: {json.dumps(_shape(spec.input_schema))}")
    lines.append(f"a correct example: {json.dumps(example(spec.input_schema))}")
    return "\n".join(lines)


def example(schema: Mapping[str, JSON]) -> JSON:
    """Make up a small value that fits a schema: its own example or default where it has one, required properties otherwise."""
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "object":
        needed = schema.get("required", ())
        return {name: example(inner) for name, inner in schema.get("properties", {}).items() if name in needed}
    if kind == "array":
        return [example(schema.get("items", {"type": "string"}))]
    plain: dict[str, Any] = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1.5), "boolean": True}
    return plain.get(str(kind), "text")


@lru_cache(maxsize=512)
def _validator(schema: str) -> Draft202012Validator:
    """Compile a schema once; its text is the key because schemas are plain dicts."""
    return Draft202012Validator(json.loads(schema))


def _place(fault: ValidationError) -> str:
    """Name the field that a fault is about."""
    return ".".join(str(step) for step in fault.absolute_path) or "arguments"


def _shape(schema: Mapping[str, JSON]) -> dict[str, str]:
    """Shorten a schema to field names and types, optional ones marked."""
    needed = schema.get("required", ())
    return {
        name: str(inner.get("type", "any")) + ("" if name in needed else " (optional)")
        for name, inner in schema.get("properties", {}).items()
    }
