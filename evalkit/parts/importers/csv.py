"""Tables of trials as CSV or TSV, plain or gzip: one row a trial, the first row names the columns.

Invariant: a row that has more or fewer cells than there are columns is refused, because its cells would be taken for others.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evalkit.parts.importers._open import bare_suffix, lines
from evalkit.parts.importers._rows import Item, Note, plainly, refuse
from evalkit.parts.importers._table import MOST_COLUMNS, Row, Table

LONGEST = 4 * 2**20
"""Characters that a line, or a cell, may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv(Table):
    """Reads tables whose columns are separated by commas, semicolons or tabs."""

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by its name."""
        return f"its name ends with {bare_suffix(path)}" if bare_suffix(path) in (".csv", ".tsv") else ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell each row."""
        first = next((line for _, line in lines(path, LONGEST)), "")
        mark = _separator(path, first)
        if mark == ";":
            yield Note(text="columns are separated by semicolons")
        yield from self.rows(path, _rows(path, mark))


def _separator(path: Path, first: str) -> str:
    """What separates the columns: a tab in a `.tsv`, else a comma, or a semicolon where the first line has no comma."""
    if bare_suffix(path) == ".tsv":
        return "\t"
    return ";" if "," not in first and ";" in first else "\t" if "," not in first and "\t" in first else ","


def _rows(path: Path, mark: str) -> Iterator[Row]:
    """Each row with its line."""
    reader = csv.reader((line for _, line in lines(path, LONGEST)), delimiter=mark, strict=True)
    columns: list[str] = []
    while True:
        with _told(path, reader):
            cells = next(reader, None)
        if cells is None:
            break
        if not cells:
            continue
        if not columns:
            columns = _named(path, cells)
            continue
        where = f"line {reader.line_num:,}"
        if len(cells) != len(columns):
            what = f"has {len(cells):,} cells, the first row names {len(columns):,} columns"
            raise refuse(path, where, what, "quote cells that hold a separator or a line end")
        yield where, dict(zip(columns, cells, strict=True))
    if not columns:
        raise refuse(path, "", "is empty", "the first row names the columns, the others are trials")


def _named(path: Path, cells: list[str]) -> list[str]:
    """The columns' names."""
    names = [cell.strip() for cell in cells]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) <= MOST_COLUMNS else []
    if len(names) > MOST_COLUMNS:
        raise refuse(path, "line 1", f"names {len(names):,} columns", f"at most {MOST_COLUMNS:,} are taken")
    if twice:
        raise refuse(path, "line 1", f"names a column twice: {', '.join(map(plainly, twice[:5]))}", "rename one")
    return names


@contextmanager
def _told(path: Path, reader: object) -> Iterator[None]:
    """Turn what the reader raises in the block into a sentence; cells may be as long as lines meanwhile."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    except csv.Error as error:
        where = f"line {getattr(reader, 'line_num', 0):,}"
        raise refuse(
            path, where, f"is no row of a table: {error}", "quote cells that hold quotes or line ends"
        ) from None
    finally:
        csv.field_size_limit(before)
