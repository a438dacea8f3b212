"""Parts are found by name: `kind: window` in a variant's `context` is `evalkit/parts/context/window.py`, class `Window`.

Invariant: nothing is registered by being imported. A kind exists because its file exists (or because a package
installed an entry point of the group `evalkit.<family>`), and only the file that is named is imported.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, distributions
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
    "streams",
)


@cache
def kinds(family: str) -> tuple[str, ...]:
    """All kinds of a family, sorted: the files of its folder and the entry points of other packages."""
    folder = Path(__file__).parent / family
    own = {found.name for found in pkgutil.iter_modules([str(folder)]) if not found.name.startswith("_")}
    return tuple(sorted(own | _plugins().get(family, {}).keys()))


@cache
def _plugins() -> dict[str, dict[str, EntryPoint]]:
    """The kinds that other packages bring, by family; looked for once, because it reads every installed package."""
    groups: dict[str, dict[str, EntryPoint]] = {}
    for point in (point for package in distributions() for point in package.entry_points):
        if point.group.startswith("evalkit."):
            groups.setdefault(point.group.removeprefix("evalkit."), {})[point.name] = point
    return groups


@cache
def part(family: str, kind: str) -> type[Any]:
    """The class of a kind; a `ConfigurationError` names the kinds that there are."""
    if kind not in kinds(family):
        raise ConfigurationError.of(f"{family}: {kind}", "no such kind", f"there are: {', '.join(kinds(family))}")
    plugin = _plugins().get(family, {}).get(kind)
    if plugin is not None:
        found: type[Any] = plugin.load()
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
    """Make a part, or give the one made before of the same options: parts are frozen and have no state.

    A `ConfigurationError` lists everything that is wrong with the options.
    """
    return _built(family, spec.kind, json.dumps([spec.options], sort_keys=True))


@lru_cache(maxsize=1024)
def _built(family: str, kind: str, options: str) -> Any:
    """Validate and make a part."""
    try:
        return adapter(family, kind).validate_json(options)[0]
    except ValidationError as error:
        place = f"{family}: {kind}"
        raise ConfigurationError(
            *(
                Problem(where=".".join((place, *map(str, fault["loc"][1:]))), what=fault["msg"])
                for fault in error.errors(include_url=False)
            )
        ) from error
