"""Any value as plain JSON that can be written: the slow and patient way, taken by what the fast one refuses.

Invariant: it never raises for anything that a value holds. What JSON, UTF-8 or a reader cannot carry (lone surrogates, bytes,
foreign objects, endless nesting) is written as text that says what it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date
from numbers import Integral, Number, Real
from pathlib import PurePath
from types import NoneType
from typing import Any

from evalkit.core.message import JSON

DEEPEST = 120
"""Levels of nesting that are kept; readers of JSON give up at about 200."""

LONGEST_NUMBER = 10**4_000
"""Python refuses to read integers of more than 4,300 digits."""


def plain(value: Any, change: Callable[[str], str], depth: int = 0) -> JSON:
    """Make plain JSON of a value; `change` is applied to every string of it, keys of mappings included."""
    if isinstance(value, (str, Number, bytes, bytearray, NoneType)):
        return _scalar(value, change)
    if depth >= DEEPEST:
        return f"[nested deeper than {DEEPEST} levels]"
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), change, depth + 1) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key, change): plain(item, change, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, AbstractSet)):
        return [plain(item, change, depth + 1) for item in value]
    return change(utf8(str(value))) if isinstance(value, (date, PurePath)) else f"[{type(value).__name__}]"


def _scalar(value: Any, change: Callable[[str], str]) -> JSON:
    """Make JSON of what has no parts."""
    if isinstance(value, str):
        return change(utf8(str.__str__(value)))
    if isinstance(value, (bytes, bytearray)):
        return change(bytes(value).decode("utf-8", "backslashreplace"))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        number = int(value)
        return number if abs(number) < LONGEST_NUMBER else "[a number of more than 4000 digits]"
    return float(value) if isinstance(value, Real) else f"[{type(value).__name__}]"


def _key(value: Any, change: Callable[[str], str]) -> str:
    """Make a key of a JSON object."""
    made = plain(value, change, DEEPEST)
    return made if isinstance(made, str) else json.dumps(made)


def utf8(text: str) -> str:
    r"""Text as UTF-8 can hold it: a lone surrogate becomes its escape, `\udc80`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
