"""Tables of trials as JSON Lines, plain or gzip: one object a line, or one JSON list of such objects.

Invariant: a line that is no object is refused with its number; nothing is passed over.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.parts.importers._json import Document, document
from evalkit.parts.importers._open import bare_suffix, head_of, lines
from evalkit.parts.importers._rows import Item, refuse, shown
from evalkit.parts.importers._table import Row, Table

LONGEST = 64 * 2**20
"""Characters that a line may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jsonl(Table):
    """Reads one object a trial."""

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by its name."""
        return f"its name ends with {bare_suffix(path)}" if bare_suffix(path) in (".jsonl", ".ndjson") else ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell each object."""
        yield from self.rows(path, _rows(path))


def _rows(path: Path) -> Iterator[Row]:
    """Each object with its place."""
    found = _elements(path) if head_of(path).lstrip()[:1] == "[" else _lines(path)
    empty = True
    for where, row in found:
        if not isinstance(row, dict):
            raise refuse(path, where, f"is {shown(row)}", "each trial is a JSON object")
        empty = False
        yield where, row
    if empty:
        raise refuse(path, "", "is empty", "each line is a JSON object, one trial")


def _elements(path: Path) -> Iterator[tuple[str, Any]]:
    """The elements of a list."""
    with document(path) as text:
        for number, row in enumerate(text.elements(), 1):
            yield f"element {number:,}", row
        text.end()


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    """The lines that are not blank."""
    for number, line in lines(path, LONGEST):
        if line.strip():
            text = Document(io.StringIO(line), path, f"line {number:,}")
            row = text.value()
            text.end()
            yield f"line {number:,}", row
