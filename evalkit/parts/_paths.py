"""Files below a folder that somebody else may write to: opened, read and written without ever leaving it.

Invariant: no path is opened as a whole. Each step of it is opened relative to the folder before, and a symbolic link is
never followed, so what a path leads to cannot be changed between a look and an act. Only plain files of one name count.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.core.errors import MalformedArgs, ToolFailed

LONGEST_NAME = 255
DEEPEST = 64
_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS}
"""Errors that say nothing of what was asked for."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
        handle = os.open(root, FOLDER)
    except OSError as error:
        raise _refusal(".", error) from None
    try:
        for name in names:
            if make:
                _make(name, handle)
            below = os.open(name, FOLDER, dir_fd=handle)
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
    with folder_at(root, names[:-1]) as parent, opened(names[-1], parent, path) as handle:
        return slurp(handle, most)


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
        handle = os.open(temporary, NEW, mode, dir_fd=parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, names[-1], src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            os.unlink(temporary, dir_fd=parent)
            raise


def printable(path: str) -> str:
    """Write a path so that it is valid text on one line: bytes that are no UTF-8 and control characters are escaped."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


@contextmanager
def opened(name: str, parent: int, path: str, *, links: bool = False) -> Iterator[int]:
    """Open a plain file in the folder of a handle for reading; with `links` one of several names is taken too. Raises `ToolFailed`."""
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
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    if stat.S_ISLNK(info.st_mode):
        raise ToolFailed(f"{printable(path)} is a symbolic link; links are not followed: name the file itself")
    _insist(info, path)
    return stat.S_IMODE(info.st_mode) & 0o777


def slurp(handle: int, most: int) -> bytes:
    """Read up to `most` bytes, and not more than that into memory."""
    read_so_far = bytearray()
    while len(read_so_far) < most and (piece := os.read(handle, min(1_000_000, most - len(read_so_far)))):
        read_so_far += piece
    return bytes(read_so_far)


def _make(name: str, parent: int) -> None:
    """Make a folder where nothing is."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return


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
