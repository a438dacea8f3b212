"""Bytes that come in pieces, cut into lines of bounded length, each with a JSON object in it or the reason why not.

Invariant: no more than one line of `LONGEST` bytes is ever held, whatever a program writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

LONGEST = 8_000_000
"""Bytes of one line; tool results of agents are far shorter."""

SHOWN = 300


class TooLong(ValueError):
    """A line has no end in sight."""


@dataclass(slots=True)
class Lines:
    """The line that is under way."""

    rest: bytearray = field(default_factory=bytearray)

    def cut(self, piece: bytes) -> Iterator[bytes]:
        """Give the lines that a piece completes; raises `TooLong`."""
        self.rest += piece
        *whole, last = self.rest.split(b"\n")
        self.rest = bytearray(last)
        for line in whole:
            if line.strip():
                yield bytes(line)
        if len(self.rest) > LONGEST:
            raise TooLong(f"a line of more than {LONGEST:,} bytes")


def parse(line: bytes) -> dict[str, Any] | str:
    """Read a line as a JSON object; a text says why it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"no JSON ({type(error).__name__}): {shown(line)}"
    return value if isinstance(value, dict) else f"no JSON object: {shown(line)}"


def shown(line: bytes) -> str:
    """The beginning of a line, for people."""
    text = line[:SHOWN].decode("utf-8", "replace")
    return text + (f" … ({len(line):,} bytes)" if len(line) > SHOWN else "")
