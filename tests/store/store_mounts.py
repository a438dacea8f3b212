"""Small disks to fill or to make read-only; a test that needs one is skipped where none can be mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(place: Path, content: Path | None = None, *, size: str) -> Iterator[Path]:
    """A disk of its own in memory; with a copy of `content`, if given, and read-only then."""
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(place)]
    if (
        os.geteuid() != 0
        or shutil.which("mount") is None
        or subprocess.run(["mount", *options], check=False).returncode
    ):
        pytest.skip("needs the right to mount a disk")
    try:
        if content is not None:
            shutil.copytree(content, place, dirs_exist_ok=True)
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
