"""The answer, or a file, is JSON of a given shape."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from evalkit.core.errors import GraderBroke
from evalkit.core.message import JSON
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import failed, passed, shown, subject

FENCE = re.compile(r"^```(?:json|JSON)?[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """Passes where the text is JSON that fits a JSON Schema, written here (`schema`) or in a file of the suite (`schema_file`).

    The JSON is the whole text, or stands in its last fence (```` ```json ````). `equals` maps JSON Pointers to the values that have to be there.
    A text that is no JSON fails. `file` looks at a file that the agent left instead of its answer.
    """

    FILES: ClassVar[tuple[str, ...]] = ("schema_file",)
    COST: ClassVar[int] = 2

    schema: dict[str, Any] | bool | None = None
    schema_file: str | None = None
    equals: dict[str, Any] = field(default_factory=dict)
    file: str | None = None

    def __post_init__(self) -> None:
        """Refuse a schema that is none, and pointers that are none."""
        if (self.schema is None) == (self.schema_file is None) and not (self.schema is None and self.equals):
            raise ValueError("json_schema wants one schema: give schema or schema_file")
        for pointer in self.equals:
            if pointer and not pointer.startswith("/"):
                raise ValueError(f"equals: {pointer!r} is no JSON Pointer: write '/{pointer}'")
        if self.schema is not None:
            try:
                validator(json.dumps(self.schema))
            except SchemaError as error:
                raise ValueError(f"schema is no JSON Schema: {error.message}") from None

    def judge(self, evidence: Evidence) -> CheckResult:
        """Parse, validate, compare."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        value = parse(found)
        if value is _MISSING:
            return failed(wanted="JSON", found=shown(found))
        wrong = self._fault(value, Path(evidence.task.base))
        return CheckResult(verdict="fail", reason=wrong) if wrong else self._compare(value)

    def _fault(self, value: JSON, base: Path) -> str:
        """Say where a value does not fit the schema; empty where it does."""
        try:
            fault = min(
                self._validator(base).iter_errors(value), key=lambda one: list(map(str, one.path)), default=None
            )
        except (Unresolvable, RecursionError) as error:
            raise GraderBroke(f"the schema cannot be used: {error}") from error
        return "" if fault is None else f"{fault.json_path}: {fault.message[:500]}"

    def _validator(self, base: Path) -> Validator:
        """The schema, compiled."""
        if self.schema_file is None:
            return validator(json.dumps(True if self.schema is None else self.schema))
        try:
            return validator((base / self.schema_file).read_text(encoding="utf-8"))
        except (OSError, ValueError, SchemaError) as error:
            raise GraderBroke(f"{self.schema_file} is no JSON Schema: {error}") from error

    def _compare(self, value: JSON) -> CheckResult:
        """Compare what the pointers lead to."""
        for pointer, wanted in self.equals.items():
            held = at(value, pointer)
            if held is _MISSING or not same(held, wanted):
                told = "nothing" if held is _MISSING else shown(json.dumps(held))
                return failed(wanted=f"{shown(json.dumps(wanted))} at {pointer!r}", found=told)
        return passed("fits")


def parse(text: str) -> JSON:
    """Read JSON from a text or its last fence; `_MISSING` where there is none."""
    fences = FENCE.findall(text) if "```" in text else []
    for candidate in (text, *fences[-1:]):
        try:
            return json.loads(candidate, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
    return _MISSING


def _refuse(name: str) -> NoReturn:
    """NaN and the infinities are no JSON."""
    raise ValueError(name)


def at(value: JSON, pointer: str) -> JSON:
    """What a JSON Pointer (RFC 6901) leads to; `_MISSING` where it leads nowhere."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(value):
            value = value[int(name[:9])]
        else:
            return _MISSING
    return value


def same(one: JSON, other: JSON) -> bool:
    """Compare JSON values: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@lru_cache(maxsize=512)
def validator(text: str) -> Validator:
    """Compile a schema once; nothing is ever fetched for it. Raises `SchemaError`, `ValueError`."""
    schema = json.loads(text)
    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    return kind(schema, registry=Registry())
