"""A tool made of a Python function: its parameters and their types are the tool's."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

from pydantic import TypeAdapter

from evalkit.core.message import JSON, ToolSpec
from evalkit.core.protocols import Environment
from evalkit.parts._function import load_function

WORLD = "world"


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """A tool that calls `function` with the arguments by name; a parameter `world` gets the environment.

    `name` and `description` are the function's own where they are not given; so are `params`, a JSON Schema for each.
    """

    function: str
    name: str | None = None
    description: str | None = None
    params: Mapping[str, Mapping[str, JSON]] | None = None
    writes: bool = False
    critical: bool = False
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("function",)

    def spec(self, base: Path) -> ToolSpec:
        """Made from the function's signature and docstring where the suite does not say."""
        function = load_function(self.function, base)
        return ToolSpec(
            name=self.name or self.function.rpartition(":")[2],
            description=self.description or inspect.getdoc(function) or "",
            input_schema=_own(function) if self.params is None else _given(self.params),
            writes=self.writes,
            critical=self.critical,
        )

    def use(self, arguments: Mapping[str, JSON], world: Environment, base: Path) -> str:
        """Call the function; what is no text is written as JSON. Its exceptions are its own."""
        function = load_function(self.function, base)
        extra = {WORLD: world} if _takes_world(function) else {}
        answer = function(**arguments, **extra)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


@lru_cache(maxsize=256)
def _takes_world(function: Callable[..., Any]) -> bool:
    """True where a function wants to see the environment."""
    return WORLD in inspect.signature(function).parameters


@lru_cache(maxsize=256)
def _own(function: Callable[..., Any]) -> dict[str, JSON]:
    """The schema of a function's parameters by their type hints; a parameter without one takes anything."""
    properties: dict[str, JSON] = {}
    required = []
    hints = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name == WORLD:
            continue
        properties[name] = TypeAdapter(hints[name]).json_schema() if name in hints else {}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _given(params: Mapping[str, Mapping[str, JSON]]) -> dict[str, JSON]:
    """The schema of parameters that the suite describes."""
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in params.items()},
        "required": list(params),
        "additionalProperties": False,
    }
