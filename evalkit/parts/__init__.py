"""Parts are found by name: `kind: window` in a variant's `context` is `evalkit/parts/context/window.py`, class `Window`.

Invariant: nothing is registered by being imported. A kind exists because its file exists (or because a package
installed an entry point of the group `evalkit.<family>`), and only the file that is named is imported.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.message import JSON
from evalkit.core.plan import Spec

FAMILIES = (
    "loops",
    "providers",
    "environments",
    "tools",
    "checks",
    "context",
    "detectors",
    "guardrails",
    "fragments",
)


@cache
def kinds(family: str) -> tuple[str, ...]:
    """All kinds of a family, sorted: the files of its folder and the entry points of other packages."""
    folder = Path(__file__).parent / family
    own = {found.name for found in pkgutil.iter_modules([str(folder)]) if not found.name.startswith("_")}
    return tuple(sorted(own | {point.name for point in entry_points(group=f"evalkit.{family}")}))


@cache
def part(family: str, kind: str) -> type[Any]:
    """The class of a kind; a `ConfigurationError` names the kinds that there are."""
    if kind not in kinds(family):
        raise ConfigurationError.of(f"{family}: {kind}", "no such kind", f"there are: {', '.join(kinds(family))}")
    for point in entry_points(group=f"evalkit.{family}"):
        if point.name == kind:
            found: type[Any] = point.load()
            return found
    module = import_module(f"evalkit.parts.{family}.{kind}")
    named: type[Any] = getattr(module, kind.title().replace("_", ""))
    return named


@cache
def adapter(family: str, kind: str) -> TypeAdapter[Any]:
    """Validator of a kind's options, wrapped in a tuple of one (which lets the strict configuration reach the dataclass)."""
    return TypeAdapter(tuple[part(family, kind)], config=ConfigDict(extra="forbid", strict=True))  # type: ignore[misc, arg-type, unused-ignore]  # the class is only known at run time


def faults(family: str, kind: str, options: Mapping[str, JSON]) -> tuple[tuple[tuple[str | int, ...], str], ...]:
    """All that is wrong with a kind's options, as pairs of the path inside them and a sentence; empty where all is well."""
    try:
        adapter(family, kind).validate_json(json.dumps([options]))
    except ValidationError as error:
        return tuple((tuple(fault["loc"][1:]), fault["msg"]) for fault in error.errors(include_url=False))
    return ()


def build(family: str, spec: Spec) -> Any:
    """Make a part; a `ConfigurationError` lists everything that is wrong with its options."""
    wrong = faults(family, spec.kind, spec.options)
    if wrong:
        place = f"{family}: {spec.kind}"
        raise ConfigurationError(
            *(Problem(where=".".join((place, *map(str, path))), what=what) for path, what in wrong)
        )
    return adapter(family, spec.kind).validate_json(json.dumps([spec.options]))[0]
