"""Where a run was made is looked up without failing and without running anybody's code."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from evalkit import __version__
from evalkit.store.origin import origin

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git")


def git(folder: Path, *words: str) -> str:
    """Run git as somebody."""
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_versions_and_machine_are_there(tmp_path: Path) -> None:
    found = origin("evalkit run x", tmp_path, packages=("pydantic", "no-such-package-here"))
    assert (found.evalkit, found.python, found.command) == (__version__, platform.python_version(), "evalkit run x")
    assert set(found.packages) == {"pydantic"}
    assert found.cpus >= 1


def test_where_there_is_no_checkout_there_is_no_commit(tmp_path: Path) -> None:
    found = origin(folder=tmp_path)
    assert (found.commit, found.dirty) == (None, None)
    assert origin(folder=tmp_path / "none").commit is None


@needs_git
def test_commit_and_dirt_of_a_checkout(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert origin(folder=tmp_path).commit is None
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    found = origin(folder=tmp_path)
    assert (found.commit, found.dirty) == (git(tmp_path, "rev-parse", "HEAD"), False)
    (tmp_path / "file").write_text("two")
    assert origin(folder=tmp_path).dirty is True


@needs_git
def test_a_checkout_cannot_run_code_of_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    assert origin(folder=tmp_path).dirty is False
    assert not (tmp_path / "ran").exists()
