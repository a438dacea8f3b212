"""What a Python file takes from the folder that it lies in: modules and packages beside it, as far as its imports tell.

Invariant: files are read, never run; what cannot be read as Python imports nothing.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evalkit.parts.loops._needs import is_there

MOST_FILES = 500
"""Files that are looked at for one program; what more of them import has to be named."""


def imported(program: Path) -> tuple[Path, ...]:
    """The modules and packages beside a Python file that it imports, itself or by one of them, in the order of their names."""
    root = program.parent
    found: set[Path] = set()
    waiting, seen = [program], 0
    while waiting and seen < MOST_FILES:
        seen += 1
        for name in _names(waiting.pop()):
            for place in (root / f"{name}.py", root / name):
                if place not in found and place != program and is_there(place):
                    found.add(place)
                    waiting += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return tuple(sorted(found))


def unnamed(programs: Iterable[Path], files: Sequence[str], base: str) -> list[str]:
    """The modules of an agent's own that are no part of its identity, because `files`, which start from `base` as they do, do not name them."""
    named = [Path(os.path.normpath(Path(base, one))) for one in files]
    lacking = (one for program in programs for one in imported(program) if not any(map(one.is_relative_to, named)))
    return list(dict.fromkeys(os.path.relpath(one, base) for one in lacking))


def doubted(lacking: Sequence[str]) -> Iterator[str]:
    """Say what follows from it."""
    if lacking:
        yield f"the agent imports {', '.join(lacking)}: name that under `files`, or an edited one passes for the same agent"


def _names(path: Path) -> Iterator[str]:
    """The top names of all modules that a file imports by their whole names."""
    if path.suffix != ".py":
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
