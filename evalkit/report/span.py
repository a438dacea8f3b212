"""A span as plain data, and values as a span can hold them.

Invariant: a value that comes out of here can be encoded: text is UTF-8, whole numbers have 64 bits, times are not negative.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Literal

from evalkit.core.message import JSON

Value = str | bool | int | float | tuple[str, ...]

FIRST = b'{"resourceSpans":'
"""How a file begins that spans were written to."""

LARGEST = 2**63 - 1
"""The greatest whole number that a span can hold."""

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An event of a span, `at` in nanoseconds since the epoch."""

    name: str
    at: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One operation, `start` and `end` in nanoseconds since the epoch; `failed` says how, None where it did not fail."""

    trace_id: int
    span_id: int
    parent_id: int | None
    name: str
    kind: Literal["internal", "client"]
    start: int
    end: int
    attributes: Mapping[str, Value]
    moments: tuple[Moment, ...] = ()
    failed: str | None = None


def nanos(seconds: float) -> int:
    """Nanoseconds, as a span can hold them; 0 for what is no time."""
    return min(LARGEST, max(0, round(seconds * NANO))) if math.isfinite(seconds) and seconds < LARGEST / NANO else 0


def as_json(value: JSON) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False, default=_data)


def known(shown: Mapping[str, JSON]) -> dict[str, Value]:
    """Attributes that are known, as a span can hold them."""
    return {name: _held(value) for name, value in shown.items() if value is not None}


def _held(value: JSON) -> Value:
    """A value as a span can hold it: numbers that fit, text that can be encoded."""
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return max(-LARGEST, min(value, LARGEST))
    return tuple(map(encodable, value)) if isinstance(value, tuple) else encodable(str(value))


def encodable(text: str) -> str:
    """Text that can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


def _data(value: JSON) -> JSON:
    """What JSON does not know: data by its fields, anything else as text."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
