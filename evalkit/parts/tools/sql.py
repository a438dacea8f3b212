"""A tool made of SQL: arguments go in as named parameters, rows come back as JSON.

Invariant: an argument is only ever a value; the statements are the suite's and never change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.core.errors import ToolFailed
from evalkit.core.message import JSON, ToolSpec
from evalkit.core.protocols import Environment
from evalkit.parts._sql import SupportsSql
from evalkit.parts.tools._params import Params, check, schema, with_defaults

QUOTES = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
NAMED = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")
READING = ("select", "with", "values", "explain", "pragma")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """A tool for an environment that understands SQL, such as `database`.

    `sql` is one statement, or a list that is run as one transaction; `params` are its `:named` parameters. `writes` marks a tool that
    changes the database, `critical` one whose failure ends the trial. `empty` is what a call fails with that finds no row, or of
    which a writing statement changes none: everything is then undone.
    """

    name: str
    description: str
    sql: str | tuple[str, ...]
    params: Params = field(default_factory=dict)
    writes: bool = False
    critical: bool = False
    empty: str | None = None

    def __post_init__(self) -> None:
        """Refuse parameters and statements that do not fit together."""
        check(self.params)
        bare = [QUOTES.sub(" ", statement) for statement in statements(self)]
        used = {name for statement in bare for name in NAMED.findall(statement)}
        if missing := sorted(used - set(self.params)):
            raise ValueError(f"sql uses :{missing[0]}, which is not among params ({', '.join(self.params) or 'none'})")
        if idle := sorted(set(self.params) - used):
            raise ValueError(f"params has {idle[0]!r}, which sql does not use: write :{idle[0]} there, or take it out")
        if not bare or not all(statement.strip() for statement in bare):
            raise ValueError("sql is empty")
        if not self.writes and not all(statement.split()[0].lower() in READING for statement in bare):
            raise ValueError("sql changes the database: add writes: true")
        if self.critical and not self.writes:
            raise ValueError("critical marks a write that must not fail: add writes: true")

    def announce(self) -> Mapping[str, JSON]:
        """Its name and the schema of its arguments."""
        return {self.name: schema(self.params)}

    def spec(self, base: Path) -> ToolSpec:
        """What the model is told."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema=schema(self.params),
            writes=self.writes,
            critical=self.critical,
        )

    def use(self, arguments: Mapping[str, JSON], world: Environment, base: Path) -> str:
        """Run the statements."""
        if not isinstance(world, SupportsSql):
            raise ToolFailed(f"{self.name}: the task's environment holds no database; give it {{kind: database, …}}")
        given = {
            name: json.dumps(value) if isinstance(value, (list, dict)) else value
            for name, value in with_defaults(self.params, arguments).items()
        }
        unchanged = self.empty if self.writes else None
        answer = world.execute(*statements(self), parameters=given, write=self.writes, unchanged=unchanged)
        if not answer.rows:
            if self.writes:
                return f"done, {answer.changed} row{'' if answer.changed == 1 else 's'} changed"
            if self.empty is not None:
                raise ToolFailed(self.empty)
        more = f"\n[only the first {len(answer.rows)} rows; ask for less]" if answer.more else ""
        return json.dumps(answer.rows, ensure_ascii=False) + more


def statements(part: Sql) -> tuple[str, ...]:
    """The statements, also where there is only one."""
    return (part.sql,) if isinstance(part.sql, str) else part.sql
