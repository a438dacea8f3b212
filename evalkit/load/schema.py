"""JSON Schemas of both files (draft-07, which editors read), made from the very types that validate them.

Invariant: the shipped `suite.schema.json` and `config.schema.json` are what this file makes of the parts that evalkit ships with;
`python -m evalkit.load.schema` writes them anew, and a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit import parts
from evalkit.core.message import JSON
from evalkit.load.faults import adapter_of
from evalkit.load.forms import CONFIG, PART, SUITE
from evalkit.load.specs import ONE
from evalkit.parts._duration import PATTERN

DIALECT = "http://json-schema.org/draft-07/schema#"
NAMES = ("properties", "patternProperties")
"""Keywords whose values are schemas by name."""

LEFT_OUT = ("title", "$defs")
VALUES = ("default", "const", "enum", "required", "pattern", "description")
"""Keywords whose values are no schemas."""


def suite_schema() -> dict[str, JSON]:
    """The JSON Schema of suite files, with the options of every part that is installed."""
    root, definitions = _rooted(adapter_of(SUITE), "")
    for family in ("environments", "tools", "checks"):
        definitions |= _family(family)
    return _file("evalkit suite", root, definitions)


def config_schema() -> dict[str, JSON]:
    """The JSON Schema of config files, with the options of every part that is installed.

    What a file leaves to `common` or to the file that it extends, or to those that extend it, it need not have.
    """
    root, definitions = _rooted(adapter_of(CONFIG), "")
    for family in ("providers", "loops", "context", "detectors", "guardrails", "tools"):
        definitions |= _family(family, whole=False)
    return _file("evalkit config", {**root, "required": ["version"]}, definitions)


def texts() -> Mapping[str, str]:
    """The schemas as files, by name."""
    made = {"suite.schema.json": suite_schema(), "config.schema.json": config_schema()}
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in made.items()}


def _file(title: str, root: dict[str, JSON], definitions: dict[str, JSON]) -> dict[str, JSON]:
    """Put the schema of one file together."""
    return {"$schema": DIALECT, "title": title, **root, "definitions": dict(sorted(definitions.items()))}


def _rooted(adapter: Any, prefix: str) -> tuple[dict[str, JSON], dict[str, JSON]]:
    """The schema of a validator's class and the definitions that it refers to, their names behind a prefix."""
    made = adapter.json_schema(ref_template=f"#/definitions/{prefix}{{model}}")
    definitions = {f"{prefix}{name}": _tidy(schema) for name, schema in made.get("$defs", {}).items()}
    root = _tidy(made["prefixItems"][0])
    name = str(root.get("$ref", "")).rpartition("/")[2]
    return (dict(definitions.pop(name)), definitions) if name in definitions else (root, definitions)


def _family(family: str, *, whole: bool = True) -> dict[str, JSON]:
    """The schemas of a family's parts: by its `kind` a part has the options of that kind, all of them where it is `whole`."""
    kinds = parts.kinds(family)
    choices: list[JSON] = []
    made: dict[str, JSON] = {}
    for kind in kinds:
        name = f"{family}.{kind}"
        part, definitions = _rooted(parts.adapter(family, kind), f"{name}.")
        part["properties"] = {"kind": {"const": kind}, **part.get("properties", {})}
        made |= definitions | {name: part if whole else {key: part[key] for key in part if key != "required"}}
        condition = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
        choices.append({"if": condition, "then": {"$ref": f"#/definitions/{name}"}})
    named = {"description": f"the name of {ONE[family]}", **({"enum": list(kinds)} if kinds else {})}
    schema: dict[str, JSON] = {"type": "object", "properties": {"kind": named}}
    schema |= {"required": ["kind"]} if whole else {}
    return made | {family: schema | ({"allOf": choices} if choices else {})}


def _tidy(schema: JSON) -> JSON:
    """Write a schema as draft-07 has it, without titles that repeat a key and defaults that stand for nothing."""
    if isinstance(schema, list):
        return [_tidy(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, JSON] = {}
    for key, value in schema.items():
        if key not in LEFT_OUT and not (key == "default" and value is None):
            made |= _keyword(key, value)
    if isinstance(made.get("default"), float) and PATTERN in (
        made.get("pattern"),
        *map(_pattern, made.get("anyOf", ())),
    ):
        made["default"] = f"{made['default']:g}s"
    if "$ref" in made and len(made) > 1:
        made = {"allOf": [{"$ref": made.pop("$ref")}], **made}
    return made


def _keyword(key: str, value: JSON) -> dict[str, JSON]:
    """Write one keyword as draft-07 has it."""
    if key in NAMES:
        return {key: {name: _tidy(one) for name, one in value.items()}}
    if key in VALUES:
        return {key: value}
    if key == "prefixItems":
        return {"items": _tidy(value), "additionalItems": False}
    return {"$ref": f"#/definitions/{value}"} if key == PART else {key: _tidy(value)}


def _pattern(schema: JSON) -> JSON:
    """The pattern of an alternative."""
    return schema.get("pattern")


def write(folder: Path) -> None:
    """Write both schemas into a folder."""
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parent)
