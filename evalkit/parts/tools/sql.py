"""A tool made of SQL: its parameters become named values of a statement, its rows the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.core.errors import ToolFailed
from evalkit.core.message import JSON, ToolSpec
from evalkit.core.protocols import Environment
from evalkit.parts._sql import SupportsSql


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """A tool `name` that runs `sql` (a statement, or several in one transaction) with `params` as `:name`.

    `params` maps each name to a JSON Schema or just a type. `writes` marks a tool that changes the database; `empty` is
    what a call without a row (for a write: without a changed row) fails with.
    """

    name: str
    description: str
    sql: str | tuple[str, ...]
    params: Mapping[str, Mapping[str, JSON] | str] = field(default_factory=dict)
    writes: bool = False
    critical: bool = False
    empty: str | None = None

    def spec(self, base: Path) -> ToolSpec:
        """All parameters are required, and no others are taken."""
        properties = {
            name: {"type": given} if isinstance(given, str) else dict(given) for name, given in self.params.items()
        }
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema=schema,
            writes=self.writes,
            critical=self.critical,
        )

    def use(self, arguments: Mapping[str, JSON], world: Environment, base: Path) -> str:
        """Run the statements; rows are written as a JSON array of objects."""
        if not isinstance(world, SupportsSql):
            raise ToolFailed(f"{self.name}: this task's environment has no database")
        statements = (self.sql,) if isinstance(self.sql, str) else self.sql
        values = {name: value if _plain(value) else json.dumps(value) for name, value in arguments.items()}
        rows, changed = world.execute(statements, values)
        if self.empty is not None and not rows and not changed:
            raise ToolFailed(self.empty)
        if self.writes and not rows:
            return f"done, {changed} row{'' if changed == 1 else 's'} changed"
        return json.dumps(rows, ensure_ascii=False, default=str)


def _plain(value: Any) -> bool:
    """True where SQLite can take a value as it is."""
    return value is None or isinstance(value, str | int | float)
