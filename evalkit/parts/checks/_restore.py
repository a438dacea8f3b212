"""A suite's own files put over a copy of what the agent left, so that nothing it did to them, or beside them, counts.

Invariant: after `restore` each of the files is a plain file of the suite's bytes, reached through plain folders, and no other file of the copy
would be loaded in its place. Nothing outside the copy is touched, wherever its links lead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from evalkit.core.errors import GraderBroke

CACHE = "__pycache__"
STEERING = {"conftest.py", "pytest.ini", ".pytest.ini", "sitecustomize.py", "usercustomize.py"}
SHADOWING = {"pytest", "_pytest", "pluggy", "iniconfig", "pytest.py", "_pytest.py", "pluggy.py", "iniconfig.py"}
SUFFIXES = (".pth", ".dist-info", ".egg-info", ".egg-link")
CONFIGURATIONS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Where pytest looks for its settings, in its order."""


def restore(base: Path, written: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Put files, or what folders hold, over a copy; give their paths in it. Python's caches are dropped, because they may hold other code.

    Raises `GraderBroke` where one is not there.
    """
    for cache in list(_named(folder, lambda name: name == CACHE)):
        _remove(cache)
    restored = []
    for name in written:
        source = base / name
        if not source.exists():
            raise GraderBroke(f"command: there is no {name} beside the suite")
        for path, place in _files(source):
            _put(path, folder, place)
            restored.append(place)
    return tuple(restored)


def unsteer(folder: Path) -> None:
    """Drop what would steer pytest: its configuration modules, and packages that would be taken for it or for its plugins."""
    for path in list(_named(folder, lambda name: name in STEERING or name.endswith(SUFFIXES))):
        _remove(path)
    for entry in list(folder.iterdir()):
        if entry.name in SHADOWING:
            _remove(entry)


def _files(source: Path) -> Iterator[tuple[Path, str]]:
    """A file by its name, or all files of a folder by their paths in it."""
    if source.is_file():
        yield source, source.name
        return
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        if path.is_file() and CACHE not in place.parts:
            yield path, place.as_posix()


def _put(source: Path, folder: Path, place: str) -> None:
    """Copy one file to its place, through folders that are none of the agent's links, and clear what would be loaded instead of it."""
    target = folder / place
    here = folder
    for name in Path(place).parts[:-1]:
        here = here / name
        if here.is_symlink() or (here.exists() and not here.is_dir()):
            here.unlink()
        here.mkdir(exist_ok=True)
    for beside in list(here.iterdir()):
        if beside.name == target.name or (target.suffix == ".py" and _would_load(beside.name, target.stem)):
            _remove(beside)
    shutil.copyfile(source, target)
    target.chmod(source.stat().st_mode & 0o777 | 0o600)


def _would_load(name: str, module: str) -> bool:
    """True where Python would load this rather than the module's source, or as it: a package, an extension, bytecode."""
    return name == module or (name.startswith(f"{module}.") and name.endswith((".so", ".pyd", ".pyc")))


def _named(folder: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """All entries below a folder whose names are wanted; links are entries, and are not followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if wanted(name):
                yield Path(place) / name


def _remove(path: Path) -> None:
    """Remove a file, a link or a tree."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
