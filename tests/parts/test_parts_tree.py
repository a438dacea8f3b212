"""Trees: walked, copied and hashed without following where they lead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalkit.parts._paths import DEEPEST
from evalkit.parts._tree import copy, digests, walk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small tree."""
    made = tmp_path / "root"
    (made / "b" / "deep").mkdir(parents=True)
    (made / "a.txt").write_text("a")
    (made / "b" / "run.sh").write_text("true")
    (made / "b" / "run.sh").chmod(0o755)
    return made


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """An empty folder."""
    made = tmp_path / "into"
    made.mkdir()
    return made


def test_a_walk_is_in_order_and_passes_over_names(root: Path) -> None:
    assert [found.path for found in walk(root)] == ["a.txt", "b", "b/deep", "b/run.sh"]
    assert [found.path for found in walk(root, "b", skip=frozenset({"deep"}))] == ["b/run.sh"]


def test_a_copy_is_the_same_tree(root: Path, into: Path) -> None:
    copy(root, into)
    assert digests(into) == digests(root)
    assert os.access(into / "b" / "run.sh", os.X_OK)
    assert (into / "b" / "deep").is_dir()


def test_a_copy_keeps_links_only_where_they_cannot_lead_out(root: Path, into: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "top").mkdir()
    (root / "b" / "deep" / "inside").symlink_to("../../a.txt")
    (root / "b" / "absolute").symlink_to(tmp_path / "secret")
    (root / "b" / "out").symlink_to("../../secret")
    (root / "b" / "deep" / "hop").symlink_to("../../top")
    # Read by its letters this stays inside, but `hop` leads to a folder nearer to the root, and from there it leaves.
    (root / "b" / "deep" / "sneaky").symlink_to("hop/../../secret")
    (root / "self").symlink_to("self")
    copy(root, into)
    kept = {path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_symlink()}
    assert kept == {"b/deep/inside", "b/deep/hop", "self"}
    assert (into / "b" / "deep" / "inside").read_text() == "a"


def test_a_copy_leaves_out_what_is_no_file(root: Path, into: Path) -> None:
    os.mkfifo(root / "pipe")
    copy(root, into)
    assert not (into / "pipe").exists()


def test_a_copy_leaves_out_what_is_too_much(root: Path, into: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(50_000_000_000)  # holds no blocks, and would fill the disk when copied
    copy(root, into)
    assert not (into / "huge").exists()
    assert (into / "a.txt").exists()
    assert digests(root)["huge"].startswith("50000000000 bytes")


def test_a_tree_without_a_bottom_is_walked_to_a_depth(root: Path, into: Path) -> None:
    handle = os.open(root, os.O_RDONLY)
    for _ in range(500):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    copy(root, into)
    assert max(found.path.count("/") for found in walk(root)) < DEEPEST
    assert (into / "a.txt").exists()


def test_names_that_are_no_text_are_copied_and_told(root: Path, into: Path) -> None:
    (root / os.fsdecode(b"\xff")).write_text("x")
    copy(root, into)
    assert digests(into) == digests(root)
    assert "\\xff" in digests(root)


def test_digests_tell_changes_links_and_kinds(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    known: dict[tuple[int, ...], str] = {}
    before = digests(root, known)
    assert before["link"] == "link to a.txt"
    assert before["pipe"].startswith("special file")
    assert digests(root, known) == before
    (root / "a.txt").write_text("b")
    after = digests(root, known)
    assert {path for path in before if before[path] != after[path]} == {"a.txt"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_left_out(root: Path, into: Path) -> None:
    (root / "a.txt").chmod(0)
    (root / "b").chmod(0)
    copy(root, into)
    (root / "b").chmod(0o700)
    assert list(into.iterdir()) == []
