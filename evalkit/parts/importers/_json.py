"""A JSON text read piece by piece, so that a list of a million results needs the memory of its largest one.

Invariant: each value is decoded whole by the standard library's decoder, and none may be larger than `LARGEST`; between values
nothing of the text is kept. Every fault is a `ConfigurationError` with the place in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TextIO

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON
from evalkit.parts.importers._open import head_of, opened, text_from, whole
from evalkit.parts.importers._rows import refuse

PIECE = 256 * 1024
"""Characters that are read at a time."""

LARGEST = 64 * 2**20
"""Characters that one value may have."""

NEAR = 16
"""A fault so near the end of what was read may come from its being cut there: `-Infinity` and `\\ud800` are shorter."""

CUT = (".", "e", "E", "e+", "e-", "E+", "E-")
"""What is left after a number that goes on in what was not read yet."""

BLANKS = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()
DEEP = "is nested too deep to be results"


class Document:
    """A JSON text, read from its beginning: ask what comes next, then take it."""

    def __init__(self, text: TextIO, path: Path, where: str = "", largest: int = LARGEST) -> None:
        """Read from a stream of text; `where` names its place inside the file, for messages, `largest` bounds a value's characters."""
        self._largest = largest
        self._stream = text
        self._path = path
        self._where = where
        self._text = ""
        self._at = 0
        self._before = 0
        self._ended = False
        self._begun = False

    def begins(self) -> str:
        """The first character of what comes next, empty at the end of the text."""
        while True:
            found = BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                self._begun = True
                return self._text[self._at]
            if not self._more(PIECE):
                return ""

    def value(self) -> JSON:
        """Take the next value."""
        if not self.begins():
            raise self._cut()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                near = 1 if self._ended else NEAR
                begun = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - near
                if self._ended or not begun:
                    raise (self._cut() if begun else self._wrong(error.msg, error.pos)) from None
            except RecursionError:
                raise self._wrong(DEEP, self._at) from None
            except ValueError:
                raise self._wrong("holds a number of more than 4,300 digits", self._at) from None
            else:
                rest = self._text[end : end + 3]
                if self._ended or (rest and rest not in CUT):
                    self._at = end
                    return value
            self._grow()

    def elements(self) -> Iterator[JSON]:
        """Take the next value, an array, element by element."""
        yield from (self.value() for _ in self._list("[", "]"))

    def members(self) -> Iterator[str]:
        """Take the next value, an object, key by key; the value of each key is to be taken before the next."""
        for _ in self._list("{", "}"):
            if self.begins() != '"':
                raise self._wrong("expected a key in quotes", self._at)
            key = str(self.value())
            if self.begins() != ":":
                raise self._wrong("expected a colon", self._at)
            self._at += 1
            yield key

    def skip(self) -> None:
        """Leave the next value out, holding no more of a list or an object than its largest part."""
        if self.begins() == "[":
            for _ in self._list("[", "]"):
                self.value()
        elif self.begins() == "{":
            for _ in self.members():
                self.value()
        else:
            self.value()

    def end(self) -> None:
        """See that nothing follows."""
        if self.begins():
            raise self._wrong("text follows the end of the data", self._at)

    def _list(self, left: str, right: str) -> Iterator[None]:
        """Walk over the places of an array or object; each is to be taken before the next."""
        if self.begins() != left:
            raise self._wrong(f"expected {left}", self._at) if self.begins() else self._cut()
        self._at += 1
        if self.begins() == right:
            self._at += 1
            return
        while True:
            yield
            found = self.begins()
            if found not in (",", right) or not found:
                raise self._wrong(f"expected a comma or {right}", self._at) if found else self._cut()
            self._at += 1
            if found == right:
                return

    def _grow(self) -> None:
        """Read on in the value that is being taken, twice as much each time."""
        held = len(self._text) - self._at
        if held > self._largest:
            raise self._wrong(f"a value has more than {self._largest:,} characters", self._at)
        self._more(max(PIECE, held))

    def _more(self, length: int) -> bool:
        """Read on, letting go of what was taken; False at the end."""
        with whole(self._path, self._where):
            piece = self._stream.read(length)
        self._before += self._at
        self._text, self._at = self._text[self._at :] + piece, 0
        self._ended = not piece
        return bool(piece)

    def _cut(self) -> ConfigurationError:
        """The error of a text that ends too early."""
        what = "is cut off: its JSON ends in the middle" if self._begun else "is empty"
        return refuse(self._path, self._where, what, "copy it again, or let the run that writes it end")

    def _wrong(self, what: str, at: int) -> ConfigurationError:
        """The error of something that is no JSON."""
        place = f"character {self._before + at:,}"
        where = f"{self._where}, {place}" if self._where else place
        return refuse(self._path, where, what if what == DEEP else f"is no valid JSON: {what}")


@contextmanager
def document(path: Path) -> Iterator[Document]:
    """Open a JSON file, plain or gzip."""
    with closing(text_from(opened(path))) as text:
        yield Document(text, path)


DEPTH = 3
"""Levels of keys that an outline holds."""

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"?(\s{0,64}:)?|[\[\]{}]', re.DOTALL)


def outline(path: Path) -> frozenset[str]:
    """The keys at the beginning of a JSON file with their paths, three levels deep: `[].task_id`, `.info.num_trials`; a cut text will do."""
    return outline_of(head_of(path))


def outline_of(text: str) -> frozenset[str]:
    """As `outline`, of a text."""
    paths: set[str] = set()
    stack: list[str] = []
    if not text.lstrip().startswith(("{", "[")):
        return frozenset()
    key = ""
    for found in _TOKEN.finditer(text):
        mark = found.group()
        if mark in ("{", "["):
            within = (stack[-1] if stack else "") + key + ("[]" if mark == "[" else "")
            stack.append(within if len(stack) < DEPTH else "")
            key = ""
        elif mark in ("}", "]"):
            if not stack:
                break
            stack.pop()
        elif found[2] is not None and len(stack) <= DEPTH:
            key = f".{found[1][:100]}"
            paths.add((stack[-1] if stack else "") + key)
        else:
            key = ""
    return frozenset(paths)


def chosen(path: Path, *keys: str) -> dict[str, JSON]:
    """The values of some keys of a JSON object in a file; the others are passed over."""
    found: dict[str, JSON] = {}
    with document(path) as text:
        for key in text.members():
            if key in keys:
                found[key] = text.value()
            else:
                text.skip()
        text.end()
    return found
