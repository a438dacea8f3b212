"""Files below a folder that somebody else may write to: found, read, written and copied without ever leaving it.

Invariant: no path is opened as a whole. Each step of it is opened relative to the folder before, and a symbolic link is
never followed, so what a path leads to cannot be changed between a look and an act. Only plain files of one name count.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.errors import MalformedArgs, ToolFailed

LONGEST_NAME = 255
DEEPEST = 64
MOST_FILES = 20_000
MOST_BYTES = 1_000_000_000
"""What a copy holds at most: folders below `DEEPEST`, and files beyond these numbers, are left out of it."""

HASHED_BYTES = 64_000_000
"""The longest file whose bytes are hashed; a longer one is told by its size and time."""

_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS}
"""Errors that say nothing of what was asked for."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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


def steps(path: str) -> tuple[str, ...]:
    """Take a relative path apart; `.` is the root and has no steps. Raises `MalformedArgs` with the way to write it."""
    if "\0" in path or "\\" in path:
        raise MalformedArgs(
            f"path: {path[:80]!r} holds a NUL or a backslash; write folders with /, such as 'src/main.py'"
        )
    if path.startswith(("/", "~")):
        raise MalformedArgs(f"path: {path[:80]!r} is not relative; paths start from the workspace: write 'src/main.py'")
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if ".." in names:
        raise MalformedArgs(f"path: {path[:80]!r} leads upwards; name files without '..': write 'src/main.py'")
    try:
        too_long = [name for name in names if len(os.fsencode(name)) > LONGEST_NAME]
    except UnicodeEncodeError:
        raise MalformedArgs(f"path: {path[:80]!r} cannot be written as UTF-8; use plain letters") from None
    if too_long or len(names) > DEEPEST:
        raise MalformedArgs(
            f"path: {path[:80]!r}… is too long; a name has at most {LONGEST_NAME} bytes and a path {DEEPEST} folders"
        )
    return names


@contextmanager
def folder_at(root: Path, names: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
    """Open the folder that the names lead to, one step at a time; `make` makes what is missing. Raises `ToolFailed`."""
    try:
        handle = os.open(root, _FOLDER)
    except OSError as error:
        raise _refusal(".", error) from None
    try:
        for name in names:
            if make:
                _make(name, handle)
            below = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    except OSError as error:
        raise _refusal("/".join(names) or ".", error) from None
    finally:
        os.close(handle)


def read(root: Path, path: str, most: int) -> bytes:
    """Read the first `most` bytes of a plain file. Raises `MalformedArgs` for the path, `ToolFailed` for what is there."""
    names = steps(path)
    if not names:
        raise MalformedArgs("path: '.' is the workspace itself; name a file, such as 'src/main.py'")
    with folder_at(root, names[:-1]) as parent, _opened(names[-1], parent, path) as handle:
        return _slurp(handle, most)


def write(root: Path, path: str, data: bytes) -> None:
    """Write a plain file whole, or not at all; missing folders are made, the mode of a file that was there stays.

    The data goes to a new file that takes the old one's name, so nothing is ever written through a link.
    """
    names = steps(path)
    if not names:
        raise MalformedArgs("path: '.' is the workspace itself; name a file, such as 'src/main.py'")
    with folder_at(root, names[:-1], make=True) as parent:
        mode = _mode_of(names[-1], parent, path)
        temporary = f".{secrets.token_hex(8)}.tmp"
        handle = os.open(temporary, _NEW, mode, dir_fd=parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, names[-1], src_dir_fd=parent, dst_dir_fd=parent)  # noqa: PTH105  # pathlib knows no folder handles
        except OSError:
            os.unlink(temporary, dir_fd=parent)  # noqa: PTH108  # the same
            raise


def walk(root: Path, path: str = ".", *, skip: frozenset[str] = frozenset()) -> Iterator[Found]:
    """Give everything below a folder, names in order, a folder before what it holds; names in `skip` are passed over."""
    names = steps(path)
    with folder_at(root, names) as handle:
        yield from _below(handle, "/".join(names), skip, 0)


def read_found(found: Found, most: int) -> bytes:
    """Read the first `most` bytes of a plain file met on a walk, while the walk is there. Raises `ToolFailed`."""
    with _opened(found.name, found.parent, found.path, links=True) as handle:
        return _slurp(handle, most)


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


def printable(path: str) -> str:
    """Write a path so that it is valid text on one line: bytes that are no UTF-8 and control characters are escaped."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _below(handle: int, path: str, skip: frozenset[str], depth: int) -> Iterator[Found]:
    """Walk the folder of a handle; what cannot be looked at is passed over."""
    try:
        with os.scandir(handle) as entries:
            names = sorted(entry.name for entry in entries if entry.name not in skip)
    except OSError:
        return
    for name in names:
        try:
            info = os.stat(name, dir_fd=handle, follow_symlinks=False)  # noqa: PTH116  # pathlib knows no folder handles
        except OSError:
            continue
        found = Found(path=f"{path}/{name}" if path else name, name=name, parent=handle, info=info)
        if not stat.S_ISDIR(info.st_mode):
            yield found
            continue
        if depth + 1 >= DEEPEST:
            continue
        try:
            below = os.open(name, _FOLDER, dir_fd=handle)
        except OSError:
            continue
        try:
            yield found
            yield from _below(below, found.path, skip, depth + 1)
        finally:
            os.close(below)


@contextmanager
def _opened(name: str, parent: int, path: str, *, links: bool = False) -> Iterator[int]:
    """Open a plain file for reading; with `links` one of several names is taken too. Raises `ToolFailed`."""
    try:
        handle = os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        raise _refusal(path, error) from None
    try:
        _insist(os.fstat(handle), path, links=links)
        yield handle
    finally:
        os.close(handle)


def _insist(info: os.stat_result, path: str, *, links: bool = False) -> None:
    """Refuse what is no plain file of one name."""
    if stat.S_ISDIR(info.st_mode):
        raise ToolFailed(f"{printable(path)} is a folder, not a file")
    if not stat.S_ISREG(info.st_mode):
        raise ToolFailed(f"{printable(path)} is a pipe, socket or device; only plain files can be used")
    if info.st_nlink > 1 and not links:
        raise ToolFailed(f"{printable(path)} is a hard link; only files with one name can be used: copy it first")


def _mode_of(name: str, parent: int, path: str) -> int:
    """The mode that a file to be written has to get; raises `ToolFailed` where something else is in its place."""
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)  # noqa: PTH116  # pathlib knows no folder handles
    except FileNotFoundError:
        return 0o644
    if stat.S_ISLNK(info.st_mode):
        raise ToolFailed(f"{printable(path)} is a symbolic link; links are not followed: name the file itself")
    _insist(info, path)
    return stat.S_IMODE(info.st_mode) & 0o777


def _slurp(handle: int, most: int) -> bytes:
    """Read up to `most` bytes, and not more than that into memory."""
    read_so_far = bytearray()
    while len(read_so_far) < most and (piece := os.read(handle, min(1_000_000, most - len(read_so_far)))):
        read_so_far += piece
    return bytes(read_so_far)


def _make(name: str, parent: int) -> None:
    """Make a folder where nothing is."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)  # noqa: PTH102  # pathlib knows no folder handles
    except FileExistsError:
        return


def _copy_file(found: Found, target: Path) -> int:
    """Copy a plain file's bytes and whether it can be run; give its size, 0 where it cannot be read."""
    try:
        with _opened(found.name, found.parent, found.path, links=True) as handle:
            data = _slurp(handle, found.info.st_size)
    except ToolFailed:
        return 0
    new = os.open(target, _NEW, (stat.S_IMODE(found.info.st_mode) & 0o777) | 0o600)
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
        return os.readlink(found.name, dir_fd=found.parent)  # noqa: PTH115  # pathlib knows no folder handles
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


def _refusal(path: str, error: OSError) -> ToolFailed:
    """Put a refusal of the system into words; what is our own machine's trouble is raised as it is."""
    if error.errno in _OURS:
        raise error
    shown = printable(path)
    if isinstance(error, FileNotFoundError):
        return ToolFailed(f"there is no {shown}; list_files tells what there is")
    if isinstance(error, NotADirectoryError):
        return ToolFailed(f"a step of {shown} is a file or a symbolic link, not a folder; links are not followed")
    if error.errno == errno.ELOOP:
        return ToolFailed(f"{shown} is a symbolic link; links are not followed: name the file itself")
    return ToolFailed(f"{shown} cannot be used: {(error.strerror or str(error)).lower()}")
