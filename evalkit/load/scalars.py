"""What an unquoted YAML value means, where every YAML agrees; where they do not, it is refused with the way to write it.

YAML 1.1 (which PyYAML reads) and YAML 1.2 (which most other tools read) take `on`, `010`, `1:30`, `1e-3` and `2024-01-02` for different
things. Invariant: a value is taken only if both versions give it the same type and the same value.
"""

from __future__ import annotations

import math
import re

LARGEST = 2**63 - 1

NULL = re.compile(r"~|null|Null|NULL|")
BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
"""The core schema of YAML 1.2."""

LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9]*)?")


class Refused(ValueError):
    """An unquoted value that does not mean one thing; `mend` is the way to write it."""

    def __init__(self, what: str, mend: str) -> None:
        """Keep both sentences."""
        super().__init__(what)
        self.what = what
        self.mend = mend


def core_tag(text: str) -> str:
    """The type that YAML 1.2 gives an unquoted value."""
    for name, pattern in (("null", NULL), ("bool", BOOL), ("int", INT), ("float", FLOAT)):
        if pattern.fullmatch(text):
            return name
    return "str"


def read_plain(text: str, old_tag: str) -> bool | int | float | str | None:
    """Read an unquoted value; `old_tag` is its type in YAML 1.1. Raises `Refused` where the versions disagree."""
    tag = core_tag(text)
    if tag != old_tag or LEADING_ZERO.fullmatch(text):
        raise _disagreement(text, old_tag, tag)
    match tag:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return _whole(text)
        case "float":
            return _real(text)
    return text


def _whole(text: str) -> int:
    """Read a decimal or hexadecimal number of at most 64 bits."""
    number = int(text, 16 if "x" in text else 10) if len(text) < 24 else LARGEST + 1
    if abs(number) > LARGEST:
        raise Refused("a whole number of more than 64 bits", "write it in quotes, as text")
    return number


def _real(text: str) -> float:
    """Read a finite number."""
    number = float(text) if text[-1].isdigit() or text[-1] == "." else math.inf
    if not math.isfinite(number):
        raise Refused(f"{_cut(text)} is no finite number", "write a number, or quotes for text")
    return number


def _disagreement(text: str, old: str, new: str) -> Refused:
    """Say in which two ways the value is read, and how to write either."""
    word = _cut(text)
    if old == "merge":
        return Refused("merge keys (<<) are not read", "write it out; `defaults`, `common` and `extends` share values")
    if old == "bool":
        value = "true" if text.lower() in ("yes", "on") else "false"
        what, mend = "is true or false to some YAML and text to other", f"write {value}, or '{word}'"
    elif old == "timestamp":
        what, mend = "is a date to some YAML and text to other", f"write '{word}'"
    elif SEXAGESIMAL.fullmatch(text):
        what, mend = "is a number to the base 60 to some YAML", f"write '{word}', or a duration such as 90s"
    elif LEADING_ZERO.fullmatch(text):
        sign, digits = "-" * text.startswith("-"), text.lstrip("+-").lstrip("0") or "0"
        what, mend = "is octal to some YAML", f"write {sign}{_cut(digits)}, or '{word}'"
    elif new == "float":
        what, mend = "is text to some YAML and a number to other", f"{_number(text)}or '{word}'"
    else:
        what, mend = "means different things to different YAML", f"write '{word}', or a plain decimal"
    return Refused(f"unquoted {word} {what}", mend)


def _number(text: str) -> str:
    """Write a number in a way that every YAML reads as one."""
    number = float(text)
    if not math.isfinite(number):
        return "write a finite number, "
    plain = repr(number)
    if "e" in plain and "." not in plain:
        plain = plain.replace("e", ".0e")
    return f"write {plain}, "


def _cut(text: str) -> str:
    """Shorten a value for an error's text."""
    return text if len(text) <= 40 else text[:39] + "…"
