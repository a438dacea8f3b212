"""Lengths of time as people write them in YAML: a number and its unit, never a bare number.

Invariant: `Duration` is seconds as a float once it is validated, and text such as `90s` before.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
LONGEST = 366 * 24 * 3600.0
"""The longest duration that is believed, in seconds: a year."""

PATTERN = r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)$"


def seconds(written: Any) -> float:
    """Read a duration such as `500ms`, `90s`, `5m` or `1.5h` in seconds; raises `ValueError` with the way to write it."""
    if isinstance(written, (int, float)) and not isinstance(written, bool):
        raise ValueError(f"a duration wants a unit: write {written}s, {written}m or {written}h")  # noqa: TRY004  # pydantic reports ValueErrors
    found = re.match(PATTERN, written) if isinstance(written, str) and len(written) < 40 else None
    if found is None or written.endswith("\n"):
        raise ValueError("not a duration: write a number and a unit, such as 500ms, 90s, 5m or 1h")
    length = float(written[: found.start(2)]) * UNITS[found[2]]
    if length > LONGEST:
        raise ValueError("a duration of more than a year: write a shorter one")
    return length


Duration = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(
        {"type": "string", "pattern": PATTERN, "description": "a duration with its unit: 500ms, 90s, 5m, 1h"}
    ),
]
"""Seconds, written with a unit. An option of a part is `timeout: Duration = 30.0`; bounds go around it: `Annotated[Duration, Gt(0)]`."""
