"""Files that somebody else wrote, as bytes and text: plain or gzip, bounded, every fault a sentence.

Invariant: however large a file is or says it is, a reader holds no more of it than it asked for, and one that unpacks to more than
is believable is refused while it is read.
"""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, TextIO

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._rows import plainly, refuse

GZIP = b"\x1f\x8b"

MOST_UNPACKED = 8 * 2**30
"""Bytes that one file may unpack to."""

FREELY = 64 * 2**20
"""Bytes that may be unpacked before the ratio counts: small files may be very regular."""

RATIO = 300
"""How many times its packed size a file may unpack to. Transcripts pack 5 to 100 times, a bomb a thousand times."""

HEAD = 256 * 1024
"""Bytes that are looked at to recognise a format."""

HELD = 256 * 1024
"""Bytes that are read at a time."""


class Bytes(Protocol):
    """Something that gives its bytes in pieces."""

    def read(self, length: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""

    def close(self) -> None:
        """Let go of it."""


class Bounded(io.RawIOBase):
    """A stream that is unpacked from `packed` bytes, as bytes; raises `ConfigurationError` for damage and for bombs."""

    def __init__(self, source: Bytes, path: Path, packed: int, where: str = "") -> None:
        """Read from a source that unpacks; `packed` 0 means that nothing is."""
        self._source = source
        self._path = path
        self._where = where
        self._most = min(MOST_UNPACKED, max(FREELY, packed * RATIO)) if packed else 0
        self._given = 0

    def readable(self) -> bool:
        """Give bytes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed names a buffer protocol class
        """Give the next bytes."""
        with whole(self._path, self._where):
            piece = self._source.read(len(buffer))
        self._given += len(piece)
        if self._most and self._given > self._most:
            raise refuse(
                self._path,
                self._where,
                f"unpacks to more than {self._most / 2**20:,.0f} MiB, more than its size makes believable",
                "where you trust it, unpack it yourself and import the plain file",
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the source too."""
        if not self.closed:
            self._source.close()
        super().close()


@contextmanager
def whole(path: Path, where: str = "") -> Iterator[None]:
    """Turn what damaged or unreadable bytes raise in the block into a sentence."""
    try:
        yield
    except EOFError:
        raise refuse(path, where, "is cut off: it ends in the middle of its data", "copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise refuse(path, where, f"is damaged: {error}", "copy it again") from None
    except UnicodeDecodeError as error:
        raise refuse(path, where, f"is no UTF-8 text: {error.reason}", "save it as UTF-8") from None
    except OSError as error:
        raise refuse(path, where, f"cannot be read: {error.strerror or error}") from None


def opened(path: Path) -> io.BufferedReader[Bounded]:
    """Open a plain or gzip file for reading bytes; raises `ConfigurationError` for what is no file."""
    with whole(path):
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise refuse(path, "", "is a folder", "name the file in it; only harbor and tau2_bench read folders")
        if not stat.S_ISREG(found.st_mode):
            raise refuse(path, "", "is no regular file", "name a file that can be read twice")
        file = path.open("rb")
        packed = file.read(2) == GZIP
        file.seek(0)
    if not packed:
        return io.BufferedReader(Bounded(file, path, 0), HELD)
    return io.BufferedReader(Bounded(_Gzip(file), path, found.st_size), HELD)


class _Gzip(gzip.GzipFile):
    """A gzip file that closes the file that it reads from."""

    def __init__(self, file: BinaryIO) -> None:
        """Read from a file."""
        super().__init__(fileobj=file, mode="rb")
        self._packed = file

    def close(self) -> None:
        """Close both."""
        super().close()
        self._packed.close()


def text_from(source: io.BufferedReader[Bounded]) -> TextIO:
    """A byte stream as UTF-8 text, a byte order mark left out and line ends as they are."""
    return io.TextIOWrapper(source, encoding="utf-8-sig", errors="strict", newline="")


def head_of(path: Path) -> str:
    """The beginning of a file as text, unpacked; empty where it cannot be read."""
    try:
        with opened(path) as source:
            return source.read(HEAD).decode("utf-8-sig", "ignore")
    except ConfigurationError:
        return ""


def bare_suffix(path: Path) -> str:
    """The ending of a file's name in lower case, without the `.gz` after it."""
    name = path.name.lower().removesuffix(".gz")
    return name[name.rfind(".") :] if "." in name else ""


def lines(path: Path, longest: int) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers from 1, ends included; raises `ConfigurationError` for one that is too long."""
    number = 0
    with whole(path), text_from(opened(path)) as text:
        while line := text.readline(longest + 1):
            number += 1
            if len(line) > longest:
                what = f"has more than {longest:,} characters"
                raise refuse(path, f"line {number:,}", what, f"is {plainly(path.name)} a file of one record a line?")
            yield number, line
