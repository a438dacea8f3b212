"""What a person's own program needs to see in a sandbox: itself, the interpreter that it names, and their packages.

Invariant: of a home, and of the folder that holds the config, nothing is shown but the files and folders that a command names. What is found
here is told before the run, and shown read-only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evalkit.parts._bubblewrap import OWN, interpreter
from evalkit.parts._process import search_path

SYSTEM = Path("/usr")
SHEBANG = 4096
"""Bytes of a file's first line that are looked at."""

PACKAGES = "node_modules"
SHIMS = "shims"
"""Where managers of versions (pyenv, say) put a stand-in for each program, which looks for the right one among all that they hold."""

BESIDE = re.compile(r"\{here\}/([^\s'\";|&<>()]+)")
"""How a command names a file of the folder that it is written in."""


def agent_path() -> str:
    """Where a person's own agent looks for programs: as whoever runs evalkit does."""
    return search_path(own_first=False)


def readable(written: str, base: str) -> Path:
    """A folder or file as the config names it: from its own folder, or from the home."""
    return Path(os.path.normpath(Path(base, os.path.expanduser(written))))  # noqa: PTH111  # a text may begin otherwise


def is_there(path: str | Path) -> bool:
    """True for what can be read; unlike `Path.exists` it raises nothing for what lies where nobody may look, or has no possible name."""
    return "\0" not in str(path) and os.access(path, os.R_OK)


def real(path: str | Path) -> Path:
    """Where a path leads; unlike `Path.resolve` it raises nothing for links that lead in a circle, or where nobody may look."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(os.path.normpath(path))


def words_of(line: str) -> list[str]:
    """The words of a line for the shell, as far as they can be told."""
    try:
        return list(shlex.shlex(line, posix=True, punctuation_chars=True))
    except ValueError:
        return line.split()


def needed(words: Iterable[str], base: str) -> tuple[Path, ...]:
    """What the programs and files that a command's words name have to see, each path once, outermost first."""
    found: dict[Path, None] = {}
    for word in words:
        program = word if word.startswith("/") else shutil.which(word, path=agent_path())
        if program is not None and is_there(program) and Path(program).is_file():
            _follow(Path(program), Path(base), found)
    return outermost(found)


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Leave out what lies in another of these, or in what a sandbox shows anyway."""
    anyway = (SYSTEM, *interpreter())
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda one: (len(one.parts), one)):
        if not any(path.is_relative_to(one) for one in (*kept, *anyway)):
            kept.append(path)
    return tuple(kept)


def _follow(program: Path, base: Path, found: dict[Path, None]) -> None:
    """Add a program, what its links lead to, and the interpreter that its first line names."""
    for path in (program, real(program)):
        if path in found or real(path.parent).is_relative_to(SYSTEM):
            continue
        found[path] = None
        for place in _places(path, base):
            found[place] = None
            if place.name == "pyvenv.cfg":
                python = place.parent / "bin" / "python"
                _follow(python, base, found)
        for other in _interpreters(path):
            _follow(other, base, found)


def _places(path: Path, base: Path) -> Iterator[Path]:
    """The folders that belong to a program: those beside its `bin`, its node packages, or else the folder that it lies in."""
    parts = path.parts
    if PACKAGES in parts:
        yield Path(*parts[: parts.index(PACKAGES) + 1])
        return
    root = path.parent.parent if path.parent.name in ("bin", SHIMS) else path.parent
    if _is_shared(root, base):
        return
    if path.parent.name != "bin":
        yield root
    else:
        yield from (root / name for name in OWN if is_there(root / name))


def _is_shared(folder: Path, base: Path) -> bool:
    """True for a folder that holds other things than one program: a home, the config, the root, or what lies right under that."""
    home = Path.home()
    others = (home, home / ".local" / "bin", base.absolute(), real(base))
    return len(folder.parts) <= 2 or any(one.is_relative_to(folder) for one in others)


def _interpreters(path: Path) -> Iterator[Path]:
    """The programs that a script's first line names."""
    try:
        with path.open("rb") as file:
            line = file.readline(SHEBANG)
    except OSError:
        return
    if not line.startswith(b"#!"):
        return
    words: Sequence[str] = os.fsdecode(line[2:]).split()
    for word in words[:3]:
        program = word if word.startswith("/") else shutil.which(word, path=agent_path())
        if program is not None and is_there(program) and Path(program).is_file():
            yield Path(program)
