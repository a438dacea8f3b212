"""What the variants of a run differ in, as JSON Pointers with each variant's value.

Invariant: two variants that this calls equal have the same content, whatever their names are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.core.message import JSON
from evalkit.core.plan import Variant
from evalkit.report.parcel import dense

ABSENT = "(not set)"


def differences(variants: Sequence[Variant]) -> list[dict[str, Any]]:
    """List `{"pointer", "values"}` for each place at which the variants' contents are not all the same, values as text in their order."""
    flat = [dict(_leaves(variant.content(), "")) for variant in variants]
    pointers = sorted({pointer for one in flat for pointer in one})
    return [
        {"pointer": pointer, "values": values}
        for pointer in pointers
        if len(set(values := [one.get(pointer, ABSENT) for one in flat])) > 1
    ]


def pointers(variants: Sequence[Variant]) -> tuple[str, ...]:
    """List the places alone."""
    return tuple(one["pointer"] for one in differences(variants))


def _leaves(value: JSON, pointer: str) -> Iterator[tuple[str, str]]:
    """The values of an object that are no objects themselves, each with its JSON Pointer (RFC 6901)."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            escaped = str(name).replace("~", "~0").replace("/", "~1")
            yield from _leaves(inner, f"{pointer}/{escaped}")
    else:
        yield pointer, value if isinstance(value, str) else dense(value)
