"""Makes text that a model, a task or a file wrote harmless to look at.

Invariant: what these functions return holds no character that moves a cursor, changes a colour, reorders or hides
text, or cannot be encoded; each such character is shown as a visible escape instead, so nothing is hidden either.
"""

from __future__ import annotations

import re

_HARMFUL = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but for tab and newline, DEL, C1: every terminal sequence starts with one
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, embeddings, overrides and isolates
    "\u200b\u2060-\u2064\ufeff\u00ad\u180e\u3164\u115f\u1160"  # invisible: no width, no ink
    "\u2028\u2029"  # line and paragraph separators, which end a line in JavaScript
    "\ufff9-\ufffb\ufffe\uffff"  # interlinear annotation, non-characters
    "\ud800-\udfff"  # lone surrogates: not encodable
    "\U000e0000-\U000e0fff"  # tags and further variation selectors: text that a model reads and a person cannot see
)
_IN_TEXT = re.compile(f"[{_HARMFUL}]")
_IN_LINE = re.compile(f"[\t\n{_HARMFUL}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e"}

NAME = 80
"""Characters of a name (task, variant, tool, stop reason) that are shown."""


def clean(text: str) -> str:
    """Make text of several lines harmless; newlines and tabs stay, a carriage return before a newline goes."""
    return _IN_TEXT.sub(_escape, text.replace("\r\n", "\n"))


def clean_line(text: str, limit: int | None = None) -> str:
    """Make text harmless and keep it on one line; longer than `limit` characters, its middle is left out."""
    if limit is not None and len(text) > 4 * limit:
        text = text[: 2 * limit] + text[-2 * limit :]  # bounded before it is worked on; the middle goes anyway
    line = _IN_LINE.sub(_escape, text)
    return line if limit is None else squeeze(line, limit)


def clean_name(text: str) -> str:
    """Make a name harmless, on one line and at most `NAME` characters long; an empty one is shown as such."""
    return clean_line(text, NAME) or "(empty)"


def squeeze(line: str, limit: int) -> str:
    """Leave out the middle of a line that is longer than `limit` characters: ends of names tell them apart."""
    if len(line) <= limit:
        return line
    tail = max(0, (limit - 1) // 2)
    return line[: max(0, limit - 1 - tail)] + "…" + (line[-tail:] if tail else "")


def excerpt(text: str, limit: int | None) -> str:
    """Make long text harmless and bounded: its first two thirds and its last third of `limit`, and how much is between."""
    if limit is None or len(text) <= limit:
        return clean(text)
    tail = limit // 3
    head = limit - tail
    between = f"\n… {len(text) - limit:,} characters left out …\n"
    return clean(text[:head]) + between + (clean(text[-tail:]) if tail else "")


def _escape(match: re.Match[str]) -> str:
    """Write a harmful character as a visible escape."""
    character = match.group()
    point = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
