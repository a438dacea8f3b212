"""The files that the parts of a task or variant use, found and hashed, so that an edited fixture makes another task.

A part class says which of its options name files: `FILES` for paths of files or folders (a text, or a list or mapping
of texts), `FUNCTIONS` for `file.py:name` or `module:name`, `PROGRAMS` for words of a command that hold `{here}/NAME`. Invariant: a file counts by its path as written and its bytes; links are
refused, because what they lead to is not what a copy of the folder would hold.
"""

from __future__ import annotations

import ast
import hashlib
import os
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from evalkit.load.node import Mark, Node
from evalkit.load.problems import Problems, meant
from evalkit.parts.loops._needs import BESIDE

MOST_FILES = 10_000
MOST_BYTES = 1_000_000_000
"""What one option may name: more is a mistake, such as the root of a checkout with all its history."""

PASSED_OVER = "__pycache__"


class _Unusable(ValueError):
    """A path that cannot be used, with the reason and the way to mend it."""

    def __init__(self, what: str, mend: str = "") -> None:
        """Keep both sentences."""
        super().__init__(what)
        self.what, self.mend = what, mend


@dataclass(slots=True)
class Files:
    """Finds and hashes the files of one suite or config (`of`), each once however many tasks use it."""

    base: Path
    problems: Problems
    of: str = "suite"
    hashed: dict[str, dict[str, str] | _Unusable] = field(default_factory=dict)

    def of_part(self, part: Any, options: Node) -> dict[str, str]:
        """Map each file that a part's options name to the digest of its bytes; a missing one is a problem."""
        found: dict[str, str] = {}
        for name in getattr(part, "FILES", ()):
            for leaf in _texts(options.step(name)):
                found |= self._hash(leaf.text or "", leaf.mark)
        for name in getattr(part, "FUNCTIONS", ()):
            for leaf in _texts(options.step(name)):
                found |= self._function(leaf)
        for name in getattr(part, "PROGRAMS", ()):
            for leaf in _texts(options.step(name)):
                for written in BESIDE.findall(leaf.text or ""):
                    found |= self._hash(written, leaf.mark)
        return found

    def _hash(self, written: str, mark: Mark) -> dict[str, str]:
        """Hash the file or folder at a path."""
        if written not in self.hashed:
            try:
                self.hashed[written] = dict(_digests(self.base, written, self.of))
            except _Unusable as unusable:
                self.hashed[written] = unusable
        known = self.hashed[written]
        if isinstance(known, _Unusable):
            self.problems.add(mark, known.what, known.mend)
            return {}
        return known

    def _function(self, leaf: Node) -> dict[str, str]:
        """Check `file.py:name` or `module:name`, and hash the file; a module is looked for only when it is used."""
        place, colon, name = (leaf.text or "").rpartition(":")
        if not colon or not place or not all(word.isidentifier() for word in name.split(".")):
            what = f"{leaf.describe()} names no function"
            self.problems.add(leaf.mark, what, f"write file.py:name, relative to the {self.of}, or module:name")
            return {}
        if not (place.endswith(".py") or "/" in place):
            if not all(word.isidentifier() for word in place.split(".")):
                self.problems.add(leaf.mark, f"{place!r} is no module", "write file.py:name, or module:name")
            return {}
        digests = self._hash(place, leaf.mark)
        if digests:
            self._look_for(name.split(".")[0], place, leaf.mark)
        return digests

    def _look_for(self, name: str, place: str, mark: Mark) -> None:
        """Note a problem where a file does not define a name; the file is read, never run."""
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse((self.base / place).read_bytes())
        except SyntaxError as error:
            self.problems.add(mark, f"{place} is no Python: line {error.lineno}: {error.msg}")
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            self.problems.add(mark, f"{place} is no Python: {_why(error)}")
        else:
            names = set(_bound(tree.body))
            if name not in names and "*" not in names:
                self.problems.add(mark, f"{place} defines no {name!r}", meant(name, names))


def _texts(node: Node | None) -> Iterator[Node]:
    """All texts in an option's value."""
    if node is None:
        return
    if node.text is not None:
        yield node
    for under in node.members:
        yield from _texts(under)


def _digests(base: Path, written: str, of: str) -> Iterator[tuple[str, str]]:
    """Walk a file or folder, folders in the order of their names; raises `_Unusable`."""
    if not written:
        raise _Unusable("wants a path, got an empty text")
    name = PurePosixPath(os.path.normpath(written))
    waiting = [(base / written, name)]
    count = size = 0
    while waiting:
        path, shown = waiting.pop()
        found = _look(path, str(shown), of if shown == name else "")
        if stat.S_ISDIR(found.st_mode):
            waiting += [(path / entry, shown / entry) for entry in _entries(path, str(shown))]
            continue
        count, size = count + 1, size + found.st_size
        if count > MOST_FILES or size > MOST_BYTES:
            what = f"{name} holds more than {MOST_FILES:,} files or {MOST_BYTES // 10**9} GB"
            raise _Unusable(what, "name a smaller folder")
        yield str(shown), _digest(path, str(shown))


def _entries(folder: Path, name: str) -> list[str]:
    """The names in a folder, the last one first; raises `_Unusable`."""
    try:
        return sorted((entry.name for entry in folder.iterdir() if entry.name != PASSED_OVER), reverse=True)
    except OSError as error:
        raise _Unusable(f"{name} cannot be read: {_why(error)}") from None


def _look(path: Path, name: str, of: str) -> os.stat_result:
    """Look at a file or folder, one that is named in a file of the sort `of` where that is no empty text; raises `_Unusable` for anything else, and for names that are no UTF-8."""
    try:
        name.encode()
        found = path.lstat()
    except UnicodeEncodeError:
        raise _Unusable(f"{name!r} has a name that is no UTF-8", "rename it") from None
    except FileNotFoundError:
        raise _Unusable(f"there is no file {name!r}", _close(path, of) if of else "") from None
    except (OSError, ValueError) as error:
        raise _Unusable(f"{name} cannot be read: {_why(error)}") from None
    if stat.S_ISLNK(found.st_mode):
        raise _Unusable(f"{name} is a symbolic link", "put the file itself there")
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _Unusable(f"{name} is neither a file nor a folder")
    return found


def _digest(path: Path, name: str) -> str:
    """Hash a file's bytes; raises `_Unusable`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _Unusable(f"{name} cannot be read: {_why(error)}") from None


def _close(path: Path, of: str) -> str:
    """Suggest a file of a similar name in the folder where one was looked for."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"nor is there a folder {path.parent.name!r}; paths start from the {of}'s folder"
    hint = meant(path.name, names)
    return hint if hint.startswith("did") else f"paths start from the {of}'s folder"


def _why(error: Exception) -> str:
    """Say why, in the system's words."""
    return ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements bind at the top of a module, `*` where a star import may bind any."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).split(".")[0]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
