"""The state that a workspace starts from: a folder of the suite, and files written in the suite itself.

Invariant: what is laid is what the task's digest was made of: the folder's files by their bytes, without Python's caches.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalkit.core.errors import ConfigurationError, ToolError
from evalkit.parts._paths import write
from evalkit.parts._tree import copy

CACHES = frozenset({"__pycache__"})


def lay(base: Path, folder: str | None, files: Mapping[str, str], into: Path) -> None:
    """Lay a template into an empty folder; `files` replace those of the folder. Raises `ConfigurationError`."""
    try:
        if folder is not None:
            copy(base / folder, into, skip=CACHES)
        for path, text in files.items():
            write(into, path, text.encode())
    except (ToolError, UnicodeEncodeError) as error:
        raise ConfigurationError.of(f"workspace: {folder or 'files'}", f"cannot be laid out: {error}") from error
