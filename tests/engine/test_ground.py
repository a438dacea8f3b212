"""The place of one trial: made when needed, gone at the end, whatever was done to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from evalkit.engine.ground import TrialGround


def test_folders_are_fresh_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with TrialGround(tmp_path) as ground:
        one, other = ground.folder(), ground.folder()
        assert one != other
        assert list(one.iterdir()) == list(other.iterdir()) == []
        assert one.stat().st_mode & 0o077 == 0
        (one / "file").write_text("x")
    assert not one.exists()
    assert not other.exists()


def test_without_need_nothing_is_made(tmp_path: Path) -> None:
    with TrialGround(tmp_path) as ground:
        assert ground.base == tmp_path
        assert ground._root is None


def test_a_tree_without_permissions_is_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("x")
    with TrialGround(tmp_path) as ground:
        folder = ground.folder()
        (folder / "link").symlink_to(tmp_path)
        (folder / "locked" / "inner").mkdir(parents=True)
        (folder / "locked" / "inner" / "file").write_text("x")
        (folder / "locked" / "inner").chmod(0)
        (folder / "locked").chmod(0)
    assert not folder.exists()
    assert kept.read_text() == "x"


def test_a_tree_that_is_deeper_than_python_can_walk_is_removed(tmp_path: Path) -> None:
    here = Path.cwd()
    with TrialGround(tmp_path) as ground:
        folder = ground.folder()
        try:
            os.chdir(folder)
            for _ in range(3000):
                os.mkdir("d")  # noqa: PTH102  # relative, because the whole path is longer than a path may be
                os.chdir("d")
        finally:
            os.chdir(here)
    assert not folder.exists()


ORDINARY = """
import os, sys
from pathlib import Path
from evalkit.engine.ground import TrialGround
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
with TrialGround(Path("/")) as ground:
    folder = ground.folder()
    (folder / "locked" / "inner").mkdir(parents=True)
    (folder / "locked" / "inner" / "file").write_text("x")
    (folder / "locked" / "inner").chmod(0)
    (folder / "locked").chmod(0)
print(folder.exists())
"""


def test_an_ordinary_user_is_not_kept_from_removing_what_has_no_permissions() -> None:
    """Root would remove it in any case."""
    words = [sys.executable, "-c", ORDINARY]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
