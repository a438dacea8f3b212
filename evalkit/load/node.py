"""A parsed YAML value that knows where it stands, down to each key, so that any later complaint can point there.

Invariant: a node is never edited; merging makes new mappings out of old nodes, which keep the marks of their own files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from evalkit.core.message import JSON

SHOWN = 40
"""Characters of a value that an error repeats."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file, lines and columns counted from 1 in characters; line 0 is the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Write it as compilers do."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A scalar, a tuple of nodes, or a mapping of text to nodes; `keys` holds the marks of a mapping's keys."""

    mark: Mark
    value: bool | int | float | str | tuple[Node, ...] | Mapping[str, Node] | None
    keys: Mapping[str, Mark] = field(default_factory=dict)

    def json(self) -> JSON:
        """Give the value without its marks."""
        if isinstance(self.value, Mapping):
            return {key: node.json() for key, node in self.value.items()}
        if isinstance(self.value, tuple):
            return [node.json() for node in self.value]
        return self.value

    @property
    def entries(self) -> Mapping[str, Node]:
        """The mapping; empty where the node is something else."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """The list; empty where the node is something else."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def members(self) -> tuple[Node, ...]:
        """Everything one step below: a list's items, a mapping's values."""
        return (*self.items, *self.entries.values())

    @property
    def text(self) -> str | None:
        """The text; None where the node is something else."""
        return self.value if isinstance(self.value, str) else None

    def step(self, key: str | int) -> Node | None:
        """Go down one step; None where there is no such key or index."""
        if isinstance(key, str):
            return self.entries.get(key)
        return self.items[key] if 0 <= key < len(self.items) else None

    def find(self, path: Sequence[str | int]) -> Node:
        """Go down as far as the path leads; steps that lead nowhere (a validator's own marks) are passed over."""
        found = self
        for key in path:
            found = found.step(key) or found
        return found

    def key_mark(self, key: str) -> Mark:
        """Where a key stands; the mapping's own place where there is no such key."""
        return self.keys.get(key, self.mark)

    def without(self, *names: str) -> Node:
        """Leave keys out of a mapping."""
        return Node(self.mark, {key: node for key, node in self.entries.items() if key not in names}, self.keys)

    def with_entry(self, key: str, node: Node, mark: Mark) -> Node:
        """Set one key of a mapping."""
        return Node(self.mark, {**self.entries, key: node}, {**self.keys, key: mark})

    def describe(self) -> str:
        """Say what stands here, for an error's text."""
        match self.value:
            case None:
                return "nothing"
            case bool():
                return str(self.value).lower()
            case str():
                return f"the text {shown(self.value)}"
            case tuple():
                return "a list" if self.value else "an empty list"
            case Mapping():
                return "a mapping" if self.value else "an empty mapping"
            case _:
                return f"the number {self.value}"


def shown(text: str) -> str:
    """Quote a text, cut to a length that fits an error."""
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def is_mapping(node: Node | None) -> TypeGuard[Node]:
    """Whether there is a node and it is a mapping."""
    return node is not None and isinstance(node.value, Mapping)


def deep_merge(below: Node, above: Node) -> Node:
    """Lay one value over another: mappings are merged key by key, everything else is replaced.

    Two mappings that name a different `kind` are different parts: their options do not mix, the upper one replaces the lower.
    """
    if not (is_mapping(below) and is_mapping(above)):
        return above
    kinds = [node.entries["kind"].text for node in (below, above) if "kind" in node.entries]
    if len(kinds) == 2 and None not in kinds and kinds[0] != kinds[1]:
        return above
    merged = dict(below.entries)
    for key, node in above.entries.items():
        merged[key] = deep_merge(merged[key], node) if key in merged else node
    return Node(above.mark, merged, {**below.keys, **above.keys})


def differences(one: JSON, other: JSON, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Walk two JSON values and give the paths at which they differ, as deep as both have them.

    Parts of different kinds differ as a whole.
    """
    if isinstance(one, dict) and isinstance(other, dict) and one.get("kind") == other.get("kind"):
        for key in sorted({*one, *other}):
            if key not in one or key not in other:
                yield (*path, key)
            else:
                yield from differences(one[key], other[key], (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, (*path, str(index)))
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield path
