"""A tool made of a Python function: its parameters are the tool's arguments.

Invariant: the function runs in the runner's own process. It is the suite's, as trusted as evalkit itself; what it is given by a model
is checked against its type hints first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from evalkit.core.errors import MalformedArgs
from evalkit.core.message import JSON, ToolSpec
from evalkit.core.protocols import Environment
from evalkit.parts.tools._params import Params, check, schema, with_defaults
from evalkit.parts.tools._signature import WORLD, signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """A tool that calls `function`, written `file.py:name` (relative to the suite) or `module:name`.

    `name` and `description` are the function's own name and docstring where they are not given. `params` are derived from its type
    hints where they are not given. A parameter named `world` gets the environment and is not shown to the model. What the
    function gives is shown as it is if it is text, else as JSON; what it raises goes to the model.
    """

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("function",)

    function: str
    name: str | None = None
    description: str | None = None
    params: Params | None = None
    writes: bool = False
    critical: bool = False

    def __post_init__(self) -> None:
        """Refuse parameters that are no JSON Schema."""
        if ":" not in self.function:
            raise ValueError(f"function {self.function!r} names none: write file.py:name, or module:name")
        check(self.params or {})
        if self.critical and not self.writes:
            raise ValueError("critical marks a write that must not fail: add writes: true")

    @property
    def shown_name(self) -> str:
        """The name that the model knows it by."""
        return self.name or self.function.rpartition(":")[2].rpartition(".")[2]

    def announce(self) -> Mapping[str, JSON]:
        """Its name, and the schema of its arguments where no file has to be run to know them."""
        return {self.shown_name: None if self.params is None else schema(self.params)}

    def spec(self, base: Path) -> ToolSpec:
        """What the model is told; raises `ConfigurationError` where the function cannot be a tool."""
        known = signature(self.function, base)
        return ToolSpec(
            name=self.shown_name,
            description=self.description or known.description,
            input_schema=known.schema if self.params is None else schema(self.params),
            writes=self.writes,
            critical=self.critical,
        )

    def use(self, arguments: Mapping[str, JSON], world: Environment, base: Path) -> str:
        """Call the function."""
        known = signature(self.function, base)
        if self.params is not None:
            given = with_defaults(self.params, arguments)
        else:
            try:
                given = known.convert(arguments)
            except ValidationError as error:
                faults = (f"- {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
                raise MalformedArgs("\n".join(("invalid arguments:", *faults))) from None
        if known.takes_world:
            given = {**given, WORLD: world}
        return known.text(known.function(**given))
