"""Lines and tables of plain text for a terminal, with colour where it is wanted.

Invariant: no line is wider than asked for, and what colour says is said by a word or a symbol too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.report.clean import squeeze

_CODES = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "warn": "33", "accent": "36", "plain": ""}

GAPS = (2, 1)
"""Blanks between the columns of a table: the second where the first makes it too wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """Colour, or the lack of it: one that is off writes plain text."""

    on: bool

    def __call__(self, text: str, style: str) -> str:
        """Write text in a style: `bold`, `dim`, `good`, `bad`, `warn`, `accent` or `plain`."""
        code = _CODES[style]
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and code and text else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its header, whether it stands right, and the least width it may be squeezed to (None: never)."""

    header: str
    right: bool = True
    least: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell and its style."""

    text: str
    style: str = "plain"


def columns(line: str) -> int:
    """How many columns of a terminal a harmless line takes: wide characters take two, combining ones none."""
    return len(line) if line.isascii() else sum(_columns_of(character) for character in line)


def fit(line: str, width: int) -> str:
    """Leave out the middle of a harmless line until it takes `width` columns at most."""
    shown, size = line, width
    while columns(shown) > width:
        shown = squeeze(line, max(0, size))
        size -= 1
    return shown


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Break harmless text into lines of at most `width` columns, each after `indent`; its own line ends are kept."""
    room = max(8, width - columns(indent))
    return [indent + piece for line in text.expandtabs(4).split("\n") for piece in _broken(line, room)]


def entry(head: str, text: str, width: int) -> list[str]:
    """Write an entry of a list: what continues its text stands under it."""
    first, *rest = wrap(text, width, " " * columns(head))
    return [head + first[columns(head) :], *rest]


def table(header: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, ink: Ink) -> list[str]:
    """Draw a table; a column with a `least` is squeezed where the table is wider than `width`."""
    widths = natural(header, rows)
    gap = next((gap for gap in GAPS if spread(widths, gap) <= width), GAPS[-1])
    _squeeze(widths, header, width, gap)
    names = [Cell(text=column.header, style="dim") for column in header]
    return [_row(cells, header, widths, ink, gap) for cells in (names, *rows)]


def natural(header: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """The widths that a table's columns want."""
    return [
        max([columns(column.header), *(columns(row[place].text) for row in rows)])
        for place, column in enumerate(header)
    ]


def spread(widths: Sequence[int], gap: int) -> int:
    """How wide columns are together."""
    return sum(widths) + gap * (len(widths) - 1)


def _squeeze(widths: list[int], header: Sequence[Column], width: int, gap: int) -> None:
    """Take from the columns that allow it, the widest first, until the table fits."""
    while spread(widths, gap) > width:
        free = [
            (size, place)
            for place, (size, column) in enumerate(zip(widths, header, strict=True))
            if column.least is not None and size > column.least
        ]
        if not free:
            return
        widths[max(free)[1]] -= 1


def _row(cells: Sequence[Cell], header: Sequence[Column], widths: Sequence[int], ink: Ink, gap: int) -> str:
    """Draw one row; the last column is not filled on its right."""
    drawn = []
    for cell, column, size in zip(cells, header, widths, strict=True):
        text = fit(cell.text, size)
        blanks = " " * (size - columns(text))
        drawn.append(blanks + ink(text, cell.style) if column.right else ink(text, cell.style) + blanks)
    return (" " * gap).join(drawn).rstrip()


def _broken(line: str, room: int) -> list[str]:
    """Break one line at blanks where it can, and anywhere where it must."""
    pieces: list[str] = []
    start = 0
    while True:
        window = line[start : start + room + 1]  # no character is looked at twice for nothing, however long the line
        if len(window) <= room and columns(window) <= room:
            return [*pieces, window]
        end = _longest(window, room)
        blank = window.rfind(" ", 1, end + 1)
        if blank > 0 and window[:blank].strip():
            pieces.append(window[:blank])
            start += blank + 1
        else:
            pieces.append(window[:end])
            start += end


def _longest(line: str, room: int) -> int:
    """How many characters of a line fit into `room` columns, one at least."""
    used = 0
    for place, character in enumerate(line):
        used += _columns_of(character)
        if used > room:
            return max(1, place)
    return len(line)


def _columns_of(character: str) -> int:
    """Columns of one character."""
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
