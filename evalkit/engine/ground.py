"""The place on disk of one trial, made when first needed and removed at the end.

Invariant: nothing that a trial wrote outlives it, and what graders look at is a copy that the agent never had.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from evalkit.core.sandbox import PLAIN, Sandbox


class TrialGround:
    """Folders of one trial (`core.protocols.Ground`), removed on leaving the context."""

    def __init__(self, base: Path, sandbox: Sandbox = PLAIN) -> None:
        """Note where the suite lies; touch nothing yet."""
        self._base = base
        self._sandbox = sandbox
        self._root: Path | None = None
        self._made = 0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove everything, also what the agent made read-only."""
        if self._root is not None:
            _remove(self._root)

    @property
    def base(self) -> Path:
        """The folder that relative paths in the suite start from."""
        return self._base

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the trial's processes."""
        return self._sandbox

    def folder(self) -> Path:
        """Make an empty folder of this trial alone; each call makes another."""
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="evalkit-"))
        self._made += 1
        made = self._root / str(self._made)
        made.mkdir(mode=0o700)
        return made


def _remove(root: Path) -> None:
    """Delete a tree, also one that was made hard to delete: without permissions, or deeper than Python can walk. Links are never followed."""
    with suppress(RecursionError):
        shutil.rmtree(root, ignore_errors=True)
    if root.exists():
        for words in (("chmod", "-R", "u+rwx"), ("rm", "-rf", "--")):
            subprocess.run([*words, str(root)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # fixed programs on a folder of our own
