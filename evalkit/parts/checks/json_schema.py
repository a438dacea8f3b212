"""The answer is JSON of a shape, and where wanted of certain values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

from evalkit.core.message import JSON
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import decided, shown, subject

FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """Passes where the answer, or `file`, is JSON (also inside a fence) that `schema` takes.

    `equals` maps JSON Pointers into it to values that must stand there.
    """

    schema: Mapping[str, JSON] = field(default_factory=dict)
    equals: Mapping[str, JSON] = field(default_factory=dict)
    file: str | None = None
    COST: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """Refuse what is no schema, and a check that asks for nothing but JSON by mistake."""
        if not self.schema and not self.equals:
            raise ValueError("give schema, equals or both")
        try:
            Draft202012Validator.check_schema(dict(self.schema))
        except SchemaError as error:
            raise ValueError(f"schema is no JSON Schema: {error.message}") from error

    def judge(self, evidence: Evidence) -> CheckResult:
        """Read the JSON, hold it to the schema, then to the values."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        fenced = FENCE.search(found)
        try:
            value = json.loads(fenced.group(1) if fenced else found)
        except (ValueError, RecursionError) as error:
            return decided(False, wanted="JSON", found=f"{shown(found)} ({error})")
        fault = best_match(_validator(json.dumps(self.schema)).iter_errors(value))
        if fault is not None:
            return CheckResult(verdict="fail", reason=f"{fault.json_path}: {fault.message[:300]}")
        for pointer, wanted in self.equals.items():
            there = _at(value, pointer)
            if there is MISSING or there != wanted or isinstance(there, bool) != isinstance(wanted, bool):
                shown_there = "nothing" if there is MISSING else shown(json.dumps(there))
                return decided(False, wanted=f"{json.dumps(wanted)} at {pointer}", found=shown_there)
        return CheckResult(verdict="pass", reason="fits the schema")


@lru_cache(maxsize=256)
def _validator(schema: str) -> Draft202012Validator:
    """Compile once."""
    return Draft202012Validator(json.loads(schema))


def _at(value: JSON, pointer: str) -> Any:
    """What stands at a JSON Pointer (RFC 6901); `MISSING` where nothing does."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value
