"""Whole trees that somebody else may have written: walked, hashed and copied without following where they lead.

Invariant: each entry is opened relative to the folder that it was met in, never through a link; what is too much is left out, not followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.errors import ToolFailed
from evalkit.parts._paths import DEEPEST, FOLDER, NEW, folder_at, opened, printable, slurp, steps

MOST_FILES = 20_000
MOST_BYTES = 1_000_000_000
"""What a copy holds at most: folders below `DEEPEST`, and files beyond these numbers, are left out of it."""

HASHED_BYTES = 64_000_000
"""The longest file whose bytes are hashed; a longer one is told by its size and time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something met on a walk: its path from the root, and how to open it (`name` in the folder of `parent`, while the walk is there)."""

    path: str
    name: str
    parent: int
    info: os.stat_result

    @property
    def is_file(self) -> bool:
        """True for a plain file."""
        return stat.S_ISREG(self.info.st_mode)


def walk(root: Path, path: str = ".", *, skip: frozenset[str] = frozenset()) -> Iterator[Found]:
    """Give everything below a folder, names in order, a folder before what it holds; names in `skip` are passed over."""
    names = steps(path)
    with folder_at(root, names) as handle:
        yield from _below(handle, "/".join(names), skip, 0)


def read_found(found: Found, most: int) -> bytes:
    """Read the first `most` bytes of a plain file met on a walk, while the walk is there. Raises `ToolFailed`."""
    with opened(found.name, found.parent, found.path, links=True) as handle:
        return slurp(handle, most)


def copy(root: Path, into: Path, *, skip: frozenset[str] = frozenset()) -> None:
    """Copy a tree into an empty folder: files by their bytes, links only where they stay inside, nothing that is neither.

    What is too much (see `MOST_BYTES`), too deep or cannot be read is left out, so whoever looks for it does not find it.
    """
    count = size = 0
    for found in walk(root, skip=skip):
        target = into / found.path
        if stat.S_ISDIR(found.info.st_mode):
            target.mkdir(mode=0o700)
        elif stat.S_ISLNK(found.info.st_mode):
            _copy_link(found, target)
        elif found.is_file and count < MOST_FILES and size + found.info.st_size <= MOST_BYTES:
            count, size = count + 1, size + _copy_file(found, target)


def digests(root: Path, known: dict[tuple[int, ...], str] | None = None) -> dict[str, str]:
    """Map each file below a folder to the SHA-256 of its bytes; equal maps mean equal trees.

    A link is told by where it leads, a file that is too long to hash by its size and time, anything else by its kind.
    `known` remembers digests by what a file's change leaves nothing of: its inode, size and times.
    """
    known = {} if known is None else known
    told: dict[str, str] = {}
    for found in walk(root):
        info = found.info
        if stat.S_ISDIR(info.st_mode):
            continue
        if len(told) >= MOST_FILES:
            break
        shown = printable(found.path)
        if stat.S_ISLNK(info.st_mode):
            told[shown] = f"link to {printable(_target(found))}"
        elif not found.is_file:
            told[shown] = f"special file, mode {info.st_mode:o}"
        elif info.st_size > HASHED_BYTES:
            told[shown] = f"{info.st_size} bytes, changed at {info.st_mtime_ns}"
        else:
            told[shown] = _digest(found, known)
    return told


def _below(handle: int, path: str, skip: frozenset[str], depth: int) -> Iterator[Found]:
    """Walk the folder of a handle; what cannot be looked at is passed over."""
    try:
        with os.scandir(handle) as entries:
            names = sorted(entry.name for entry in entries if entry.name not in skip)
    except OSError:
        return
    for name in names:
        try:
            info = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except OSError:
            continue
        found = Found(path=f"{path}/{name}" if path else name, name=name, parent=handle, info=info)
        if not stat.S_ISDIR(info.st_mode):
            yield found
            continue
        if depth + 1 >= DEEPEST:
            continue
        try:
            below = os.open(name, FOLDER, dir_fd=handle)
        except OSError:
            continue
        try:
            yield found
            yield from _below(below, found.path, skip, depth + 1)
        finally:
            os.close(below)


def _copy_file(found: Found, target: Path) -> int:
    """Copy a plain file's bytes and whether it can be run; give its size, 0 where it cannot be read."""
    try:
        with opened(found.name, found.parent, found.path, links=True) as handle:
            data = slurp(handle, found.info.st_size)
    except ToolFailed:
        return 0
    new = os.open(target, NEW, (stat.S_IMODE(found.info.st_mode) & 0o777) | 0o600)
    with os.fdopen(new, "wb") as file:
        file.write(data)
    return len(data)


def _copy_link(found: Found, target: Path) -> None:
    """Copy a link that cannot lead out: relative, upwards only at its start and not beyond the root, through copied folders alone."""
    leads = _target(found).split("/")
    ups = next((at for at, name in enumerate(leads) if name != ".."), len(leads))
    if leads[0] != "" and ups <= found.path.count("/") and ".." not in leads[ups:]:
        target.symlink_to("/".join(leads))


def _target(found: Found) -> str:
    """Where a link leads; empty where it is gone."""
    try:
        return os.readlink(found.name, dir_fd=found.parent)
    except OSError:
        return ""


def _digest(found: Found, known: dict[tuple[int, ...], str]) -> str:
    """Hash a file, unless its digest is known."""
    info = found.info
    key = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    if key not in known:
        try:
            known[key] = hashlib.sha256(read_found(found, HASHED_BYTES)).hexdigest()
        except ToolFailed:
            return "cannot be read"
    return known[key]
