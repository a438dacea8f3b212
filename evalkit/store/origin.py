"""Where a run was made: versions, commit, machine, command. Facts that explain a number later, none that change it.

Invariant: what cannot be known is None or absent, never guessed, and looking never fails.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalkit import __version__

PACKAGES = ("anthropic", "joblib", "jsonschema", "numpy", "pandas", "pydantic", "pyyaml", "scipy")
PATIENCE = 5.0
"""Seconds that git gets to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The facts; `commit` and `dirty` are None where the working folder belongs to no git checkout."""

    evalkit: str
    python: str
    system: str
    cpus: int
    packages: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    dirty: bool | None = None
    command: str = ""


def origin(command: str = "", folder: Path | None = None, packages: Iterable[str] = PACKAGES) -> Origin:
    """Look at this process and at the git checkout that `folder` (else the working folder) lies in."""
    where = folder or Path.cwd()
    commit = _git(where, "rev-parse", "HEAD")
    changes = None if commit is None else _git(where, "status", "--porcelain", "--untracked-files=no")
    return Origin(
        evalkit=__version__,
        python=platform.python_version(),
        system=platform.platform(),
        cpus=os.cpu_count() or 1,
        packages={name: found for name in packages if (found := _version(name)) is not None},
        commit=commit,
        dirty=None if changes is None else bool(changes),
        command=command,
    )


def _version(package: str) -> str | None:
    """The version of an installed package."""
    from importlib import metadata  # noqa: PLC0415  # slow to load, and who reads a run has no use of it

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(folder: Path, *words: str) -> str | None:
    """What git says; nothing of the checkout's own configuration is let run, and nothing is written."""
    safe = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder))
    try:
        done = subprocess.run(  # noqa: S603  # fixed words and a folder, no shell
            (*safe, *words),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
