"""What the workspace's file tools do, in plain functions of a root folder and arguments.

Invariant: a tool answers with bounded text and says how to get at the rest; a refusal says what would be right. All files are
reached through `parts._paths`, so nothing outside the root is read or written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalkit.core.errors import MalformedArgs, ToolFailed
from evalkit.parts._paths import folder_at, printable, read, steps, write
from evalkit.parts._tree import read_found, walk

MOST_TEXT = 50_000
MOST_LINE = 2_000
MOST_BYTES = 10_000_000
MOST_ENTRIES = 500
MOST_MATCHES = 100
SKIPPED = frozenset({".git", "__pycache__"})


def read_file(root: Path, path: str, offset: int = 1, limit: int = 2000) -> str:
    """Give lines of a text file from line `offset` on, at most `limit` of them and `MOST_TEXT` characters."""
    offset, limit = int(offset), int(limit)  # 1.0 is an integer to JSON Schema
    lines = _text(root, path).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "[the file is empty]"
    if offset > len(lines):
        raise ToolFailed(f"{path} has {len(lines)} lines; offset {offset} is past its end")
    shown: list[str] = []
    size = 0
    for line in lines[offset - 1 : offset - 1 + limit]:
        size += min(len(line), MOST_LINE)
        if shown and size > MOST_TEXT:
            break
        shown.append(_short(line))
    last = offset + len(shown) - 1
    more = f"\n[lines {offset} to {last} of {len(lines)}; read on with offset {last + 1}]" if last < len(lines) else ""
    return "\n".join(shown) + more


def write_file(root: Path, path: str, content: str) -> str:
    """Write a file whole."""
    data = _bytes(content, "content")
    write(root, path, data)
    return f"{path}: {len(data)} bytes written"


def edit_file(root: Path, path: str, old: str, new: str) -> str:
    """Replace the one place where `old` stands; a file with Windows line ends keeps them."""
    text = _text(root, path, strict=True)
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    if not old:
        raise MalformedArgs("old: is empty; give the exact text to be replaced, or use write_file for a whole file")
    if old == new:
        raise MalformedArgs("new: is the same as old, so nothing would change")
    matches = text.count(old)
    if matches == 0:
        raise ToolFailed(f"{path}: old was not found (0 matches). {_near(text, old)}")
    if matches > 1:
        places = ", ".join(str(line) for line in _lines_of(text, old))
        raise ToolFailed(f"{path}: old has {matches} matches (lines {places}); add lines around it until it has one")
    write(root, path, _bytes(text.replace(old, new), "new"))
    return f"{path}: 1 replacement at line {next(_lines_of(text, old))}"


def list_files(root: Path, path: str = ".") -> str:
    """List what is below a folder, folders with a slash and files with their sizes."""
    told: list[str] = []
    for found in walk(root, path, skip=SKIPPED):
        told.append(printable(found.path) + (f"  {found.info.st_size} bytes" if found.is_file else _mark(found.info)))
        if len(told) > MOST_ENTRIES:
            return "\n".join(told[:-1]) + f"\n[more than {MOST_ENTRIES} entries; name a folder in path to see its own]"
    return "\n".join(told) or "[the folder is empty]"


def search_text(root: Path, pattern: str, path: str = ".") -> str:
    """Give the lines that hold a text, as `path:line: text`."""
    if not pattern:
        raise MalformedArgs("pattern: is empty; give the text to look for, such as 'def main'")
    found = [
        (place, number, line)
        for place, text in texts(root, path)
        for number, line in enumerate(text.split("\n"), 1)
        if pattern in line
    ]
    return matches_text(found)


def texts(root: Path, path: str) -> Iterator[tuple[str, str]]:
    """All text files below a path, or the one that it names, with their text; up to `MOST_BYTES` in all."""
    if not _is_folder(root, path):
        yield path, _text(root, path)
        return
    left = MOST_BYTES
    for found in walk(root, path, skip=SKIPPED):
        if not found.is_file or left <= 0:
            continue
        try:
            data = read_found(found, left)
        except ToolFailed:
            continue
        left -= len(data)
        if b"\0" not in data[:8192]:
            yield printable(found.path), data.decode("utf-8", "replace")


def matches_text(found: list[tuple[str, int, str]]) -> str:
    """Write matches, the first `MOST_MATCHES` of them."""
    if not found:
        return "[no matches]"
    lines = [f"{place}:{number}: {_short(line, 300)}" for place, number, line in found[:MOST_MATCHES]]
    more = len(found) - MOST_MATCHES
    return "\n".join(lines) + (f"\n[{more} more matches; narrow the pattern or name a path]" if more > 0 else "")


def _is_folder(root: Path, path: str) -> bool:
    """True where a path leads to a folder."""
    try:
        with folder_at(root, steps(path)):
            return True
    except ToolFailed:
        return False


def _mark(info: object) -> str:
    """Tell a folder from what is neither file nor folder."""
    return "/" if getattr(info, "st_mode", 0) & 0o170000 == 0o040000 else "  (no plain file)"


def _text(root: Path, path: str, *, strict: bool = False) -> str:
    """Read a text file; raises `ToolFailed` for one that is none, or too long."""
    data = read(root, path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ToolFailed(f"{path} has more than {MOST_BYTES:,} bytes, too many for this tool; use search")
    if b"\0" in data[:8192]:
        raise ToolFailed(f"{path} is no text: it holds NUL bytes")
    try:
        return data.decode("utf-8", "strict" if strict else "replace")
    except UnicodeDecodeError as error:
        raise ToolFailed(f"{path} is not UTF-8 (byte {error.start}), so it cannot be edited as text") from None


def _bytes(text: str, field: str) -> bytes:
    """Encode text that is to be written."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        char = text[error.start]
        raise MalformedArgs(f"{field}: holds half a character (U+{ord(char):04X}), which no file can hold") from None


def _short(line: str, most: int = MOST_LINE) -> str:
    """Cut a very long line, and say so."""
    return line if len(line) <= most else f"{line[:most]}… [{len(line) - most} more characters in this line]"


def _lines_of(text: str, part: str) -> Iterator[int]:
    """The lines at which a part begins, the first ten."""
    at = -1
    for _ in range(10):
        at = text.find(part, at + 1)
        if at < 0:
            return
        yield text.count("\n", 0, at) + 1


def _near(text: str, old: str) -> str:
    """Say where the first line of `old` stands with other blanks, as far as it stands anywhere."""
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    for number, line in enumerate(text.splitlines(), 1):
        if first and first in line:
            return f"Line {number} is {_short(line, 200)!r}: old must be the same to the last blank and line end."
    return "Give the text exactly as read_file shows it, blanks and line ends included."
