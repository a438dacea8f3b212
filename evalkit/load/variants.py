"""One file's variants: each laid over `common`, expanded by `matrix`, and held to the differences that `vary` declares.

Invariant: two variants of a file differ in nothing that the file does not say they differ in, so that comparing them compares that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import prod

from evalkit.core.message import JSON
from evalkit.core.plan import PLACES, Caps, Retries, Spec, Variant, digest
from evalkit.load.node import Mark, Node, deep_merge, differences, is_mapping
from evalkit.load.problems import Problems, meant

MOST = 1_000
"""Variants that one file may expand to."""

Path = tuple[str, ...]

FIELDS = tuple(one.name for one in fields(Variant) if one.name not in (*PLACES, "files"))
INNER = {"caps": tuple(one.name for one in fields(Caps)), "retries": tuple(one.name for one in fields(Retries))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One line of a matrix: where it sets a value, how that is called in names, and the values."""

    pointer: str
    path: Path
    word: str
    mark: Mark
    values: tuple[Node, ...]


def written(top: Node) -> dict[str, Node]:
    """The variants of a file, each laid over `common`; a variant's mark is that of its name."""
    common, variants = top.step("common"), top.step("variants")
    below = common if is_mapping(common) else Node(top.mark, {})
    found = {}
    if is_mapping(variants):
        for name, node in variants.entries.items():
            if is_mapping(node):
                merged = deep_merge(below, node)
                found[name] = Node(variants.key_mark(name), merged.value, merged.keys)
    return found


def parse(pointer: str) -> Path:
    """Split a JSON Pointer (RFC 6901)."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def read_pointer(pointer: str, mark: Mark, problems: Problems) -> Path | None:
    """Read a pointer into a variant; None, and a problem, where it leads to nothing that a variant has."""
    path = parse(pointer)
    if not path or not all(path):
        return None
    if path[0] not in FIELDS:
        problems.add(mark, f"{pointer}: a variant has no {path[0]!r}", meant(path[0], FIELDS))
        return None
    inner = INNER.get(path[0])
    if inner and len(path) > 1 and path[1] not in inner:
        problems.add(mark, f"{pointer}: {path[0]} has no {path[1]!r}", meant(path[1], inner))
        return None
    return path


def read_axes(top: Node, problems: Problems) -> tuple[Axis, ...]:
    """Read a file's matrix."""
    matrix = top.step("matrix")
    if not is_mapping(matrix):
        return ()
    paths = {pointer: read_pointer(pointer, matrix.key_mark(pointer), problems) for pointer in matrix.entries}
    last = [path[-1] for path in paths.values() if path]
    return tuple(
        Axis(
            pointer=pointer,
            path=path,
            word=path[-1] if last.count(path[-1]) == 1 else "-".join(path),
            mark=matrix.key_mark(pointer),
            values=matrix.entries[pointer].items,
        )
        for pointer, path in paths.items()
        if path and matrix.entries[pointer].items
    )


def expand(variants: Mapping[str, Node], axes: Sequence[Axis], top: Node, problems: Problems) -> dict[str, Node]:
    """Make each variant once for every combination of the matrix's values, named after them."""
    count = len(variants) * prod(len(axis.values) for axis in axes)
    if count > MOST:
        problems.add(top.key_mark("matrix"), f"{count:,} variants", f"keep a file to {MOST:,}")
        return dict(variants)
    made: dict[str, Node] = {}
    for name, node in variants.items():
        for values in product(*(axis.values for axis in axes)):
            full, one = name, node
            for axis, value in zip(axes, values, strict=True):
                full += f"-{axis.word}{_label(value)}"
                one = _set(one, axis.path, value, axis, problems)
            if full in made:
                mark = values[-1].mark if values else node.mark
                problems.add(mark, f"two variants would be called {full!r}", "write them out under `variants`")
            made[full] = one
    return made


def _set(node: Node, path: Path, value: Node, axis: Axis, problems: Problems) -> Node:
    """Set a value deep inside a variant, making the mappings that lead there."""
    if not path:
        return value
    if not is_mapping(node):
        problems.add(axis.mark, f"{axis.pointer} leads through {node.describe()}", "lead through mappings only")
        return node
    under = node.step(path[0]) or Node(axis.mark, {})
    return node.with_entry(path[0], _set(under, path[1:], value, axis, problems), axis.mark)


def _label(node: Node) -> str:
    """Write a value so that it can be part of a name: `6`, `-none`, `-claude-x`, the kind of a part, else a digest."""
    value = node.json()
    kind = value.get("kind") if isinstance(value, dict) else None
    if isinstance(value, bool) or value is None:
        text = "none" if value is None else str(value).lower()
    elif isinstance(value, int | float):
        text = json.dumps(value)
    elif isinstance(value, str) or isinstance(kind, str):
        text = re.sub(r"[^A-Za-z0-9._]+", "-", str(kind or value)).strip("-")[:40]
    else:
        text = ""
    text = text or digest(value)[:8]
    return text if re.match(r"-?[0-9]", text) else f"-{text}"


def declared(top: Node, axes: Iterable[Axis], problems: Problems) -> tuple[Path, ...]:
    """Everything in which the variants may differ: what `vary` names, and the matrix."""
    vary = top.step("vary")
    named = [
        read_pointer(one.text, one.mark, problems)
        for one in (vary.items if vary else ())
        if one.text is not None and one.text.startswith("/")
    ]
    return (*(path for path in named if path), *(axis.path for axis in axes))


def refuse_undeclared(variants: Sequence[tuple[Variant, Node]], allowed: Sequence[Path], problems: Problems) -> None:
    """Note each place at which a variant differs from the first one though nothing declares it."""
    told: set[Path] = set()
    for variant, node in variants[1:]:
        first, first_node = variants[0]
        for path in differences(as_written(first), as_written(variant)):
            if path in told or path[0] == "files" or any(path[: len(one)] == one for one in allowed):
                continue
            told.add(path)
            here = node if _has(node, path) else first_node
            pointer = "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in path)
            what = f"the variants {first.name!r} and {variant.name!r} differ in {pointer}, which `vary` does not name"
            problems.add(here.find(_steps(path)).mark, what, f"add {pointer} to `vary`, or make them equal")


def as_written(variant: Variant) -> dict[str, JSON]:
    """A variant's content in the shape of its YAML: options beside the kind."""
    plain = variant.content()
    for name in FIELDS:
        value = getattr(variant, name)
        if isinstance(value, Spec):
            plain[name] = {"kind": value.kind, **value.options}
    return plain


def pointers(one: Variant, other: Variant) -> Iterator[str]:
    """Name everything in which two variants differ."""
    for path in differences(as_written(one), as_written(other)):
        yield "/" + "/".join(path)


def _has(node: Node, path: Path) -> bool:
    """Whether a path leads to something that is written."""
    for step in _steps(path):
        following = node.step(step)
        if following is None:
            return False
        node = following
    return True


def _steps(path: Path) -> tuple[str | int, ...]:
    """Turn the indices of a path into numbers."""
    return tuple(int(step) if step.isdecimal() else step for step in path)
