"""How a suite writes the parameters of a tool: a type's name, or a small JSON Schema.

Invariant: what the model is shown is a JSON Schema of an object; a parameter is required unless it has a `default`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict  # pydantic wants this one below Python 3.12

from evalkit.core.message import JSON

TypeName = Literal["string", "integer", "number", "boolean", "array", "object"]


@with_config(ConfigDict(extra="forbid", strict=True))
class Param(TypedDict, total=False):
    """One parameter: keywords of JSON Schema, with their own names. `default` is used where the model leaves it out."""

    type: TypeName
    description: str
    enum: list[Any]
    default: Any
    examples: list[Any]
    minimum: float
    maximum: float
    exclusiveMinimum: float
    exclusiveMaximum: float
    multipleOf: float
    minLength: int
    maxLength: int
    pattern: str
    items: dict[str, Any]
    minItems: int
    maxItems: int
    properties: dict[str, Any]
    required: list[str]


Params = dict[str, Param | TypeName]


def schema(params: Mapping[str, Param | TypeName]) -> dict[str, JSON]:
    """The JSON Schema of a tool's arguments."""
    properties = {name: {"type": param} if isinstance(param, str) else dict(param) for name, param in params.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, one in properties.items() if "default" not in one],
        "additionalProperties": False,
    }


def check(params: Mapping[str, Param | TypeName]) -> None:
    """Refuse parameters that are no JSON Schema; raises `ValueError` with the parameter's name."""
    if all(isinstance(param, str) for param in params.values()):
        return
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # slow to import, and few suites want it
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415  # the same

    for name, param in params.items():
        if isinstance(param, str):
            continue
        if "type" not in param and "enum" not in param:
            raise ValueError(f"params.{name} wants a type, such as {{type: string}}")
        try:
            Draft202012Validator.check_schema(dict(param))
        except SchemaError as error:
            raise ValueError(f"params.{name}: {error.message}") from None


def with_defaults(params: Mapping[str, Param | TypeName], arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    """Put the defaults in for what was left out."""
    usual = {name: one["default"] for name, one in params.items() if not isinstance(one, str) and "default" in one}
    return {**usual, **arguments}
