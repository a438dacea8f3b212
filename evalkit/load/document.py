"""YAML files to nodes: the one door to PyYAML, and a strict one.

Invariant: whatever bytes a file holds, reading it gives a tree of JSON values with their places, or problems, and nothing else. Only
the parser's events are used: no object is constructed, so a tag can name nothing and an alias can multiply nothing.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from evalkit.load.node import Mark, Node
from evalkit.load.problems import Problems
from evalkit.load.scalars import Refused, read_plain

VERSION = 1
"""The version of the files' format."""

LARGEST = 5_000_000
"""Bytes that a file may have."""

DEEPEST = 50
"""Lists and mappings that may be nested."""

RESOLVER: Any = yaml.resolver.Resolver()
SURROGATE = re.compile(r"[\ud800-\udfff]")
UNREADABLE = re.compile(r"[\x00\ud800-\udfff]")

MENDS = {
    "mapping values are not allowed here": "quote a text that has ': ' in it, or mend the indentation",
    "could not find expected ':'": "a key wants ': ' and a value; is a quote or a blank missing?",
    "found character '\\t' that cannot start any token": "indent with blanks, not with tabs",
    "found unexpected end of stream": "is a closing quote missing?",
    "found unexpected ':'": "quote a text that has ':' in it",
}


class Broken(ValueError):
    """Nothing more can be read of the document."""

    def __init__(self, mark: Mark, what: str, mend: str = "") -> None:
        """Keep the place and both sentences."""
        super().__init__(what)
        self.mark, self.what, self.mend = mark, what, mend


def read_document(path: Path, problems: Problems) -> Node | None:
    """Read a YAML file whose top is a mapping of our version; None, and at least one problem, where that cannot be."""
    name = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        problems.add(Mark(name), f"cannot be read: {_why(error)}", _sibling(path))
        return None
    return parse_document(content, name, problems)


def parse_document(content: bytes, name: str, problems: Problems) -> Node | None:
    """Parse the bytes of a YAML file; as `read_document`."""
    node, own = _parsed(content, name)
    problems.take(own)
    return node


@lru_cache(maxsize=16)
def _parsed(content: bytes, name: str) -> tuple[Node | None, Problems]:
    """Parse a file's bytes, once however many files extend it; gives what is wrong beside the node."""
    problems = Problems()
    return _parse(content, name, problems), problems


def _parse(content: bytes, name: str, problems: Problems) -> Node | None:
    """Parse a file's bytes."""
    try:
        text = _decode(content, name)
        node = _Composer(text, name, problems).document()
    except Broken as broken:
        problems.spoil(broken.mark, broken.what, broken.mend)
        return None
    if not isinstance(node.value, dict):
        problems.add(node.mark, f"the file holds {node.describe()}, not a mapping", "begin with `version: 1`")
        return None
    version = node.step("version")
    if version is not None and (type(version.value) is not int or version.value != VERSION):
        problems.add(version.mark, f"the format's version is {version.describe()}", f"this evalkit reads {VERSION}")
        return None
    return node


def is_file(path: Path) -> bool:
    """Whether a path leads to a file; False for one that cannot lead anywhere, such as one that is too long."""
    return os.path.isfile(path)  # noqa: PTH113  # pathlib raises for those


def _why(error: Exception) -> str:
    """Say why a file could not be opened."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


def _sibling(path: Path) -> str:
    """Suggest a file of a similar name in the same folder."""
    try:
        names = [entry.name for entry in path.parent.iterdir()] if not path.exists() else []
    except (OSError, ValueError):
        return ""
    close = get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"did you mean {path.with_name(close[0])}?" if close else ""


def _decode(content: bytes, name: str) -> str:
    """Decode a file's bytes, which must be UTF-8 (with or without a byte order mark) and printable."""
    if len(content) > LARGEST:
        raise Broken(Mark(name), f"the file has more than {LARGEST:,} bytes", "split it, or keep long texts in files")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace")
        wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        what = "the file is UTF-16" if wide else f"byte 0x{content[error.start]:02x} is no UTF-8"
        raise Broken(_Lines(before).mark(name, len(before)), what, "save the file as UTF-8") from None
    if odd := yaml.reader.Reader.NON_PRINTABLE.search(text):
        what = f"the control character U+{ord(odd[0]):04X}"
        raise Broken(_Lines(text).mark(name, odd.start()), what, 'write it as an escape in double quotes: "\\x…"')
    return text


@dataclass(slots=True, init=False)
class _Lines:
    """The starts of a text's lines, as editors count them."""

    starts: list[int]

    def __init__(self, text: str) -> None:
        """Find them."""
        self.starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def mark(self, name: str, index: int) -> Mark:
        """Turn an index into a line and a column."""
        line = bisect_right(self.starts, index)
        return Mark(name, line, index - self.starts[line - 1] + 1)


class _Composer:
    """Puts a tree together from the parser's events."""

    def __init__(self, text: str, name: str, problems: Problems) -> None:
        """Take the text; parsing begins with the first event asked for."""
        self.text, self.name, self.problems = text, name, problems
        self.lines = _Lines(text)
        self.events = self._events()

    def _events(self) -> Iterator[Any]:
        """Draw the parser's events; its errors become `Broken`."""
        loader: Any = yaml.SafeLoader(self.text)
        try:
            while loader.check_event():
                yield loader.get_event()
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark or error.context_mark
            raise Broken(self._mark(at), f"no YAML: {_sentence(error)}", _mend(error)) from None
        except (ValueError, OverflowError):
            raise Broken(self._mark(loader.get_mark()), "no YAML: an escape or a number out of range") from None
        finally:
            loader.dispose()

    def _mark(self, mark: Any) -> Mark:
        """Translate a parser's mark."""
        return self.lines.mark(self.name, min(mark.index, len(self.text)) if mark else 0)

    def document(self) -> Node:
        """Read the one document of the file."""
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                break
        else:
            raise Broken(Mark(self.name, 1, 1), "the file is empty", "begin with `version: 1`")
        node = self._node(next(self.events), 1)
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                raise Broken(self._mark(event.start_mark), "a second document", "keep one document a file")
        return node

    def _node(self, event: Any, depth: int) -> Node:
        """Read the node that begins with an event."""
        mark = self._mark(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            mend = "write it out; `defaults`, `common` and `extends` share values"
            self.problems.spoil(mark, f"aliases (*{event.anchor}) are not read", mend)
            return Node(mark, None)
        if isinstance(event, yaml.ScalarEvent):
            return Node(mark, self._scalar(event, mark))
        if depth > DEEPEST:
            raise Broken(mark, f"nested more than {DEEPEST} deep", "flatten it")
        self._refuse_tag(event, mark)
        if isinstance(event, yaml.SequenceStartEvent):
            return Node(mark, tuple(self._items(depth)))
        return self._mapping(mark, depth)

    def _items(self, depth: int) -> Iterator[Node]:
        """Read a list's items."""
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self._node(event, depth + 1)

    def _mapping(self, mark: Mark, depth: int) -> Node:
        """Read a mapping, whose keys must be text and differ."""
        entries: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self.events), depth + 1)
            if not isinstance(key.value, str):
                mend = f"write '{key.value}'" if isinstance(key.value, (int, float)) else "a key is a text in one line"
                self.problems.add(key.mark, f"{key.describe()} as a key", mend)
            elif key.value in entries:
                self.problems.add(key.mark, f"the key {key.value!r} again", f"it stands at {keys[key.value]} already")
            else:
                entries[key.value] = value
                keys[key.value] = key.mark
        return Node(mark, entries, keys)

    def _scalar(self, event: Any, mark: Mark) -> bool | int | float | str | None:
        """Read a scalar; what cannot be read is noted and stands for its own text."""
        text = _paired(event.value)
        self._refuse_tag(event, mark)
        if odd := UNREADABLE.search(text):
            mend = "leave it out: no file name, database or message takes it"
            self.problems.spoil(mark, f"the character U+{ord(odd[0]):04X} in a text", mend)
            return ""
        if not event.implicit[0] or event.style is not None:
            return text
        tag = RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
        try:
            return read_plain(text, tag)
        except Refused as refused:
            self.problems.spoil(mark, refused.what, refused.mend)
            return text

    def _refuse_tag(self, event: Any, mark: Mark) -> None:
        """Note a tag: values say by themselves what they are."""
        tag = getattr(event, "tag", None)
        if tag is not None:
            written = tag.replace("tag:yaml.org,2002:", "!!")
            self.problems.spoil(mark, f"tags ({written[:40]}) are not read", "leave the tag out; quotes make a text")


def _paired(text: str) -> str:
    """Join the two halves of a character that JSON writes as two escapes; halves that stand alone stay."""
    if not SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _sentence(error: yaml.MarkedYAMLError) -> str:
    """Join what the parser was at and what it found."""
    return ", ".join(part for part in (error.context, error.problem) if part)


def _mend(error: yaml.MarkedYAMLError) -> str:
    """Say how to mend a syntax error, where that is known."""
    problem = error.problem or ""
    if problem.startswith("expected <block end>"):
        return "is a line indented as its neighbours are?"
    if problem.startswith("found character") and "cannot start any token" in problem and "\\t" not in problem:
        return "write the value in quotes"
    return MENDS.get(problem, "")
