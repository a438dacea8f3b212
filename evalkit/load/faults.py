"""From a validator's complaints to sentences with a place: what was wanted, what stands there, how to mend it.

Invariant: complaints about one value are one sentence; a value that fits none of several types gets all of them in one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import GenericAlias
from typing import Any

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON
from evalkit.load.node import Node
from evalkit.load.problems import Problems, meant

WANTED = {
    "bool_type": "true or false",
    "dataclass_type": "a mapping",
    "dict_type": "a mapping",
    "float_type": "a number",
    "frozen_set_type": "a list",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "none_required": "nothing",
    "set_type": "a list",
    "string_type": "text",
    "tuple_type": "a list",
}
"""Types by the names of pydantic's errors."""

BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "too_short": "a length of at least {min_length}",
    "too_long": "a length of at most {max_length}",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "text of the form {pattern}",
}
"""Bounds by the names of pydantic's errors; it counts only what is right, so a list of wrong items is `too_short` to it."""

LEADING = re.compile(r"`?([a-z_]\w*(?:\.\w{1,50})*)`?(?=[: ])")

MENDING = re.compile(r"[:;] (?=write |did you mean )")
"""Where a validator's own sentence comes to how to mend it."""

UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
MISSING = ("missing", "missing_argument", "missing_keyword_only_argument")


@cache
def adapter_of(form: Any) -> TypeAdapter[Any]:
    """Make a strict validator of a class, wrapped in a tuple of one (which lets the configuration reach a dataclass)."""
    wrapped: Any = GenericAlias(tuple, (form,))
    return TypeAdapter(wrapped, config=ConfigDict(extra="forbid", strict=True))


def validate(
    adapter: TypeAdapter[Any], node: Node, problems: Problems, *, mends: Mapping[str, str] | None = None
) -> Any:
    """Validate a node; None, and problems, where it does not fit. `mends` tells for keys what to do where they are missing."""
    try:
        return adapter.validate_json(json.dumps([node.json()]))[0]
    except ValidationError as error:
        _tell(error.errors(include_url=False), adapter, node, problems, mends or {})
    except ConfigurationError as error:
        for problem in error.problems:
            problems.add(node.mark, problem.what, problem.mend)
    return None


def _tell(
    faults: Iterable[Any], adapter: TypeAdapter[Any], node: Node, problems: Problems, mends: Mapping[str, str]
) -> None:
    """Turn a validator's complaints into problems."""
    told: dict[tuple[int, str], _Told] = {}
    for fault in faults:
        path, kind = tuple(fault["loc"][1:]), fault["type"]
        if path and path[-1] == "[key]":
            problems.add(node.find(path[:-2]).key_mark(str(path[-2])), *_split(_message(fault)))
        elif kind in UNKNOWN:
            known = known_keys(adapter, path[:-1])
            owner = node.find(path[:-1])
            problems.add(owner.key_mark(str(path[-1])), f"unknown key {path[-1]!r}", meant(str(path[-1]), known))
        elif kind in MISSING:
            owner = node.find(path[:-1])
            what = f"the key {path[-1]!r} is missing" if isinstance(path[-1], str) else "the list is too short"
            problems.add(owner.mark, what, mends.get(str(path[-1]), ""))
        elif kind != "too_short" or len(node.find(path).members) < fault["ctx"]["min_length"]:
            path, fault["msg"] = _pointed(node, path, _message(fault))
            owner = node.find(path)
            told.setdefault((id(owner), _sort(kind)), _Told(owner, _named(node, path))).add(fault)
    nodes = {id(one.node) for one in told.values()}
    for one in told.values():
        if not (one.wanted and _holds(one.node, nodes)):
            problems.add(one.node.mark, *one.sentence())


@dataclass(slots=True)
class _Told:
    """All complaints of one sort about one value."""

    node: Node
    name: str
    wanted: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    mend: str = ""

    def add(self, fault: Mapping[str, Any]) -> None:
        """Take one more."""
        kind, context = fault["type"], fault.get("ctx", {})
        if kind == "literal_error":
            options = str(context["expected"])
            _once(self.wanted, options)
            if self.node.text is not None:
                close = meant(self.node.text, [word.strip("'") for word in options.replace(" or ", ", ").split(", ")])
                self.mend = close if close.startswith("did") else ""
        elif kind in WANTED:
            _once(self.wanted, WANTED[kind])
        elif kind in BOUNDS:
            bounds = {name: f"{bound:g}" if isinstance(bound, float) else bound for name, bound in context.items()}
            _once(self.said, f" wants {BOUNDS[kind].format(**bounds)}, got {self.node.describe()}")
        else:
            _once(self.said, fault["msg"])

    def sentence(self) -> tuple[str, str]:
        """Say what is wrong and how to mend it."""
        if self.said:
            what, how = _split("; ".join(self.said))
            return f"`{self.name}`{what}" if self.name else what.removeprefix(": ").strip(), how
        mend = self.mend
        if not mend and "text" in self.wanted and isinstance(self.node.value, (bool, int, float)):
            mend = f"write it in quotes: '{json.dumps(self.node.value)}'"
        if not mend and self.wanted == ["a list"]:
            mend = "write it as [ … ], or one line each behind a dash"
        what = f"wants {' or '.join(self.wanted)}, got {self.node.describe()}"
        return f"`{self.name}` {what}" if self.name else what, mend


def _message(fault: Mapping[str, Any]) -> str:
    """A validator's own sentence."""
    return str(fault["msg"]).removeprefix("Value error, ")


def _split(message: str) -> tuple[str, str]:
    """Part what is wrong from how to mend it."""
    what, *mend = MENDING.split(message, maxsplit=1)
    return what, "".join(mend)


def _pointed(node: Node, path: tuple[str | int, ...], message: str) -> tuple[tuple[str | int, ...], str]:
    """Follow a sentence that begins with the option that it is about (`steps.1.needs: …`, `timeout is …`) to that option.

    What is left of the sentence is to be written behind the option's name.
    """
    words = LEADING.match(message)
    steps = tuple(int(word) if word.isdecimal() else word for word in words[1].split(".")) if words else ()
    owner = node.find(path)
    for step in steps:
        following = owner.step(step)
        if following is None:
            steps = ()
            break
        owner = following
    return (*path, *steps), message[words.end() :] if words and steps else f": {message}"


def _sort(kind: str) -> str:
    """Tell complaints about a value's type from those about the value."""
    return "type" if kind in WANTED or kind == "literal_error" else "value"


def _named(node: Node, path: Sequence[str | int]) -> str:
    """Name the key that a complaint is about, where it is one that the file holds."""
    found, named = node, ""
    for step in path:
        following = found.step(step)
        if following is not None:
            found, named = following, step if isinstance(step, str) else named
    return named


def _holds(node: Node, wanted: Container[int]) -> bool:
    """Whether one of some nodes stands strictly under a node."""
    return any(id(one) in wanted or _holds(one, wanted) for one in node.members)


def _once(sentences: list[str], sentence: str) -> None:
    """Add a sentence that is not there yet."""
    if sentence not in sentences:
        sentences.append(sentence)


def known_keys(adapter: TypeAdapter[Any], path: Sequence[str | int]) -> set[str]:
    """The keys that a validator knows at a path, read from its JSON Schema; empty where it has none to give."""
    schema = _schema_of(adapter)
    branches = list(_open(schema, [schema]))
    for step in (0, *path):
        branches = [deeper for branch in branches for deeper in _down(schema, branch, step)] or branches
    return {key for branch in branches for key in branch.get("properties", {})}


@cache
def _schema_of(adapter: TypeAdapter[Any]) -> dict[str, JSON]:
    """A validator's JSON Schema; an empty one where it has none to give."""
    try:
        return adapter.json_schema()
    except PydanticUserError:
        return {}


def _open(schema: JSON, branches: Sequence[JSON]) -> Iterator[JSON]:
    """Follow references and alternatives."""
    for branch in branches:
        name = str(branch.get("$ref", "")).rpartition("/")[2]
        if name in schema.get("$defs", {}):
            yield from _open(schema, [schema["$defs"][name]])
        yield from _open(schema, [*branch.get("anyOf", ()), *branch.get("oneOf", ()), *branch.get("allOf", ())])
        yield branch


def _down(schema: JSON, branch: JSON, step: str | int) -> Iterator[JSON]:
    """Go down one step in a schema."""
    if isinstance(step, int):
        places = branch.get("prefixItems", [])
        under = places[step] if step < len(places) else branch.get("items")
    else:
        under = branch.get("properties", {}).get(step, branch.get("additionalProperties"))
    if isinstance(under, dict):
        yield from _open(schema, [under])
