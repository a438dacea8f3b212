"""Paths below a folder: what may be named, and that nothing outside is ever reached."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.core.errors import MalformedArgs, ToolFailed
from evalkit.parts._paths import printable, read, steps, write

MOST = 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, beside another that nothing may reach."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    made = tmp_path / "root"
    (made / "sub").mkdir(parents=True)
    (made / "sub" / "a.txt").write_text("inside")
    return made


def test_steps_drop_what_means_nothing() -> None:
    assert steps("./a//b/") == ("a", "b")
    assert steps(".") == steps("") == ()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "~/x",
        "../outside/secret",
        "sub/../../x",
        "a\0b",
        "a\\b",
        "x" * 256,
        "é" * 128,
        "a/" * 70,
        "\ud800",
    ],
)
def test_a_path_that_leads_elsewhere_or_nowhere_is_refused_with_a_correct_one(root: Path, path: str) -> None:
    with pytest.raises(MalformedArgs, match="path: "):
        read(root, path, MOST)
    with pytest.raises(MalformedArgs, match="path: "):
        write(root, path, b"x")


def test_the_root_itself_is_no_file(root: Path) -> None:
    for act in (lambda: read(root, ".", MOST), lambda: write(root, ".", b"")):
        with pytest.raises(MalformedArgs, match="name a file"):
            act()


def test_reading_is_bounded(root: Path) -> None:
    assert read(root, "sub/a.txt", 3) == b"ins"


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    (root / "file").symlink_to(tmp_path / "outside" / "secret")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "inner").symlink_to("sub/a.txt")
    for path in ("file", "folder/secret", "inner"):
        with pytest.raises(ToolFailed, match="link"):
            read(root, path, MOST)
        with pytest.raises(ToolFailed, match="link"):
            write(root, path, b"changed")
    assert (tmp_path / "outside" / "secret").read_text() == "secret"


def test_hard_links_are_refused(root: Path, tmp_path: Path) -> None:
    os.link(tmp_path / "outside" / "secret", root / "hard")
    with pytest.raises(ToolFailed, match="hard link"):
        read(root, "hard", MOST)
    with pytest.raises(ToolFailed, match="hard link"):
        write(root, "hard", b"changed")
    assert (tmp_path / "outside" / "secret").read_text() == "secret"


def test_pipes_sockets_and_folders_are_no_files_and_nothing_waits_for_them(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        for path in ("pipe", "socket", "sub"):
            with pytest.raises(ToolFailed):
                read(root, path, MOST)
            with pytest.raises(ToolFailed):
                write(root, path, b"")


def test_what_is_missing_is_named(root: Path) -> None:
    with pytest.raises(ToolFailed, match=r"there is no sub/b\.txt"):
        read(root, "sub/b.txt", MOST)
    with pytest.raises(ToolFailed, match="is a file or a symbolic link"):
        read(root, "sub/a.txt/b", MOST)


def test_writing_makes_folders_and_keeps_the_mode(root: Path) -> None:
    (root / "sub" / "a.txt").chmod(0o755)
    write(root, "sub/a.txt", b"new")
    write(root, "x/y/z.txt", b"deep")
    assert stat.S_IMODE((root / "sub" / "a.txt").stat().st_mode) == 0o755
    assert (root / "x" / "y" / "z.txt").read_bytes() == b"deep"
    assert [path.name for path in (root / "sub").iterdir()] == ["a.txt"]


def test_a_root_that_is_gone_or_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    for place in (tmp_path / "none", tmp_path / "link"):
        with pytest.raises(ToolFailed):
            read(place, "secret", MOST)


FLIP = """
import os, shutil
while True:
    for old, new in (("flip", "kept"), ("link", "flip"), ("flip", "link"), ("kept", "flip")):
        try:
            os.rename(old, new)
        except OSError:
            if old == "kept":
                shutil.rmtree("flip", ignore_errors=True)
"""


def test_a_link_that_comes_and_goes_is_never_followed(root: Path, tmp_path: Path) -> None:
    """A folder is swapped for a link to the outside as fast as can be while a path through it is read and written."""
    (root / "flip").mkdir()
    (root / "flip" / "secret").write_text("inside")
    (root / "link").symlink_to(tmp_path / "outside")
    flipping = subprocess.Popen([sys.executable, "-c", FLIP], cwd=root)
    seen = set()
    try:
        for turn in range(20_000):
            try:
                write(root, "flip/secret", b"inside")
                seen.add(read(root, "flip/secret", MOST))
            except ToolFailed:
                seen.add(b"refused")
            if len(seen) > 1 and turn > 1_500:
                break
    finally:
        flipping.kill()
        flipping.wait()
    assert seen == {b"inside", b"refused"}
    assert (tmp_path / "outside" / "secret").read_text() == "secret"


def test_names_are_written_as_valid_text_on_one_line() -> None:
    assert printable("é/a") == "é/a"
    assert printable("a\nb\x1b[2J") == "a\\nb\\x1b[2J"
    assert printable(os.fsdecode(b"a\xff")) == "a\\xff"
