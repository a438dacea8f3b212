"""Writing to people and programs: answers to stdout, talk to stderr.

Invariant: a reader that goes away (a closed pipe) changes nothing about what the command does or its exit code. An answer that stdout does not
take (a full disk, say) ends no command either, but is remembered (`lost`), so that nobody takes the exit code 0 for a whole answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, TextIO

NARROW, WIDE = 40, 160

_lost: list[str] = []
"""Why stdout did not take an answer, once for each."""


def say(text: str = "") -> None:
    """Write an answer to stdout."""
    _write(sys.stdout, text)


def tell(text: str = "") -> None:
    """Write talk (progress, notes, errors) to stderr."""
    _write(sys.stderr, text)


def say_json(value: Any) -> None:
    """Write one JSON object to stdout; numbers that JSON does not know are an error, not `NaN`."""
    say(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False))


def width() -> int:
    """Columns of the terminal, within sensible bounds; 80 where there is none."""
    return max(NARROW, min(WIDE, shutil.get_terminal_size((80, 24)).columns))


def colours(*, no_color: bool) -> bool:
    """True where stdout is a terminal and nobody asked for plain text (`--no-color`, `NO_COLOR`)."""
    return not no_color and not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def lost() -> str:
    """Say why an answer could not be written, and forget it; empty where all could."""
    why = _lost[0] if _lost else ""
    _lost.clear()
    return why


def _write(stream: TextIO, text: str) -> None:
    """Write a line; once the reader has gone, or the stream takes no more, write to nobody."""
    try:
        stream.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
        stream.flush()
    except OSError as error:
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            _lost.append(error.strerror or str(error))
        with open(os.devnull, "w", encoding="utf-8") as nobody:  # noqa: PTH123  # its descriptor takes the stream's place
            os.dup2(nobody.fileno(), stream.fileno())
