"""What a Python function says of itself: its docstring, and a JSON Schema of its parameters from their type hints.

Invariant: the schema that a model is shown and the check that its arguments pass are made of the same hints, by pydantic.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON
from evalkit.parts._function import load_function

WORLD = "world"
"""The parameter that gets the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function, read: its parameters but for `world`."""

    function: Callable[..., Any]
    description: str
    names: tuple[str, ...]
    adapter: TypeAdapter[Any]
    schema: Mapping[str, JSON]
    takes_world: bool

    def convert(self, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Give arguments their hinted types; raises pydantic's `ValidationError`. What is left out keeps the function's default."""
        held = self.adapter.validate_python(dict(arguments))
        return {name: getattr(held, name) for name in self.names if name in arguments}

    def text(self, value: object) -> str:
        """Write what the function gave: text as it is, anything else as JSON; raises `TypeError` where it is neither."""
        if isinstance(value, str):
            return value
        try:
            return json.dumps(to_jsonable_python(value), ensure_ascii=False)
        except PydanticSerializationError as error:
            raise TypeError(f"the function gave a {type(value).__name__}, which is neither text nor JSON") from error


@lru_cache(maxsize=1024)
def signature(written: str, base: Path) -> Signature:
    """Read a function, once; raises `ConfigurationError` where it cannot be a tool."""
    function = load_function(written, base)
    if inspect.iscoroutinefunction(function):
        raise ConfigurationError.of(written, "is asynchronous", "write a plain function")
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
    except (NameError, TypeError, ValueError) as error:
        raise ConfigurationError.of(written, f"its parameters cannot be read: {error}") from error
    fields = []
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError.of(
                written, f"parameter {name!r} cannot be given by name", "write out all parameters"
            )
        if name != WORLD:
            fields.append((name, hints.get(name, Any), _default(parameter)))
    form = dataclasses.make_dataclass("Arguments", fields, kw_only=True)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(form)
        schema = adapter.json_schema()
    except PydanticUserError as error:
        raise ConfigurationError.of(
            written, f"its type hints are no JSON Schema: {error.message.splitlines()[0]}"
        ) from error
    return Signature(
        function=function,
        description=inspect.getdoc(function) or "",
        names=tuple(name for name, *_ in fields),
        adapter=adapter,
        schema={**_untitled(schema), "additionalProperties": False},
        takes_world=WORLD in parameters,
    )


def _default(parameter: inspect.Parameter) -> Any:
    """The field for a parameter's default; none where it has none."""
    if parameter.default is parameter.empty:
        return dataclasses.field()
    return dataclasses.field(default_factory=lambda: parameter.default)


def _untitled(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """Leave out the titles that say a parameter's name again."""
    properties = {
        name: {key: value for key, value in one.items() if key != "title"}
        for name, one in schema.get("properties", {}).items()
    }
    kept = {key: value for key, value in schema.items() if key != "title"}
    return {"required": [], **kept, "properties": properties}
