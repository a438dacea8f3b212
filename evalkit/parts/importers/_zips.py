"""Zip archives that somebody else wrote, member by member as bounded streams; nothing is ever unpacked to the disk.

Invariant: the table of contents is bounded before it is read, and each member while it is read, whatever sizes the archive declares.
Names of members are only compared, never used as paths.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from evalkit.parts.importers._open import HELD, Bounded, Bytes, whole
from evalkit.parts.importers._rows import plainly, refuse

MAGIC = b"PK\x03\x04"

MOST_MEMBERS = 200_000
LARGEST_TABLE = 32 * 2**20
"""Bytes of the table of contents: some 160 for each of the most members that are taken."""

ZSTANDARD = 93
"""The compression method of a zip member that is Zstandard."""

WINDOW = 128 * 2**20
"""Bytes that a Zstandard frame may want to be held: what its own tools take without being told."""

_END = struct.Struct("<4s4H2IH")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCAL = struct.Struct("<4s5H3I2H")
_BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, struct.error, ValueError)
"""What the standard library raises for archives that are damaged, encrypted or packed in a way that it does not know."""


class Archive:
    """An open archive; `names` are its members, of a name that comes twice the last one."""

    def __init__(self, path: Path, file: BinaryIO, archive: zipfile.ZipFile) -> None:
        """Use `archived`."""
        self.path = path
        self._file = file
        self._archive = archive
        self.names = tuple(dict.fromkeys(archive.namelist()))

    @contextmanager
    def member(self, name: str) -> Iterator[io.BufferedReader[Bounded]]:
        """Open a member for reading."""
        where = plainly(name)
        info = self._archive.getinfo(name)
        if info.flag_bits & 1:
            raise refuse(self.path, where, "is encrypted", "write the archive without a password")
        with _readable(self.path, where):
            if info.compress_type == ZSTANDARD and not hasattr(zipfile, "ZIP_ZSTANDARD"):
                source: Bytes = _zstandard(self._file, info, self.path, where)
            else:
                source = self._archive.open(info)
        packed = max(1, info.compress_size)
        bounded = Bounded(_Checked(source, self.path, where), self.path, packed, where)
        with io.BufferedReader(bounded, HELD) as stream:
            yield stream


class _Checked:
    """A member whose damage is told as a sentence."""

    def __init__(self, source: Bytes, path: Path, where: str) -> None:
        """Read from a member."""
        self._source = source
        self._path = path
        self._where = where

    def read(self, length: int, /) -> bytes:
        """The next bytes."""
        with _readable(self._path, self._where):
            return self._source.read(length)

    def close(self) -> None:
        """Let go of the member."""
        self._source.close()


@contextmanager
def archived(path: Path, most: int = MOST_MEMBERS, table: int = LARGEST_TABLE) -> Iterator[Archive]:
    """Open a zip archive; raises `ConfigurationError` for what is none and for one that is too large to be believed."""
    with whole(path):
        file = path.open("rb")
    with file:
        size = _table_size(file, path)
        if size > table:
            raise refuse(path, "", f"its table of contents has {size:,} bytes", f"at most {table:,} are taken")
        with _readable(path, ""):
            archive = zipfile.ZipFile(file)
        with archive:
            held = len(archive.filelist)
            if held > most:
                raise refuse(path, "", f"holds {held:,} members", f"at most {most:,} are taken")
            yield Archive(path, file, archive)


@contextmanager
def _readable(path: Path, where: str) -> Iterator[None]:
    """Turn what a damaged or encrypted archive raises in the block into a sentence."""
    try:
        with whole(path, where):
            yield
    except _BROKEN as error:
        what = str(error) or type(error).__name__
        raise refuse(path, where, f"cannot be unpacked: {plainly(what)}", "copy it again") from None


def _table_size(file: BinaryIO, path: Path) -> int:
    """The bytes of the table of contents as the end of the archive declares them, 0 where there is no end."""
    with whole(path):
        length = file.seek(0, io.SEEK_END)
        start = max(0, length - 2**16 - _END.size)
        file.seek(start)
        tail = file.read()
        found = tail.rfind(b"PK\x05\x06")
        if found < 0 or len(tail) - found < _END.size:
            return 0
        size = int(_END.unpack_from(tail, found)[5])
        before = start + found - 20 - _END_64.size
        file.seek(max(0, before))
        record = file.read(_END_64.size)
        if before < 0 or not record.startswith(b"PK\x06\x06"):
            return size
        return int(_END_64.unpack(record)[8])


class _Slice(io.RawIOBase):
    """A part of a file, from its present place on."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        """Read so many bytes."""
        self._file = file
        self._left = length
        self._at = file.tell()

    def readable(self) -> bool:
        """Give bytes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed names a buffer protocol class
        """Give the next bytes of the part, wherever the file was moved to meanwhile."""
        self._file.seek(self._at)
        piece = self._file.read(min(len(buffer), self._left))
        self._at += len(piece)
        self._left -= len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


def _zstandard(file: BinaryIO, info: zipfile.ZipInfo, path: Path, where: str) -> _Summed:
    """Open a member that is packed with Zstandard, of which this Python's library knows nothing."""
    try:
        import zstandard  # noqa: PLC0415  # an extra, wanted by newer Inspect logs only
    except ImportError:
        mend = "install the extra `zstd`, or rewrite the log with `inspect log convert --to json`"
        raise refuse(path, where, "is packed with Zstandard, which wants one more package", mend) from None
    file.seek(info.header_offset)
    header = _LOCAL.unpack(file.read(_LOCAL.size))
    if header[0] != MAGIC:
        raise zipfile.BadZipFile("a member is not where the table of contents says")
    file.seek(header[9] + header[10], io.SEEK_CUR)
    packed = io.BufferedReader(_Slice(file, info.compress_size))
    machine = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    unpacked = machine.stream_reader(packed, read_across_frames=True)
    return _Summed(unpacked, info, zstandard.ZstdError)


class _Unpacked(Protocol):
    """What the package's own reader is."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""

    def close(self) -> None:
        """Let go."""


class _Summed:
    """An unpacked member whose check sum is held against the table of contents at its end."""

    def __init__(self, source: _Unpacked, info: zipfile.ZipInfo, broken: type[Exception]) -> None:
        """Read from a source that raises `broken` for damage."""
        self._source = source
        self._info = info
        self._broken = broken
        self._sum = 0

    def read(self, length: int, /) -> bytes:
        """The next bytes; raises `BadZipFile` for damage."""
        try:
            piece = self._source.read(length)
        except self._broken as error:
            raise zipfile.BadZipFile(str(error)) from error
        self._sum = zlib.crc32(piece, self._sum)
        if not piece and self._sum != self._info.CRC:
            raise zipfile.BadZipFile("its check sum is wrong")
        return piece

    def close(self) -> None:
        """Let go of the source."""
        self._source.close()
