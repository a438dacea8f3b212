"""Files that a person names for results: what may be written over, and what may not.

Invariant: a file is replaced only where it is empty or holds earlier results of the same kind, and never where a run keeps its own; a link stays a link,
what it names is written. Devices and pipes are no files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from evalkit.core.errors import ConfigurationError
from evalkit.store import database, lock, manifest
from evalkit.store.disk import exists

HEAD = 4096
"""Bytes that are looked at to tell what a file holds."""

OWN = {f"{database.FILE}{ending}" for ending in ("", "-wal", "-shm", "-journal")} | {
    lock.FILE,
    manifest.FILE,
    "summary.json",
    "report.html",
}
"""Files of a run's folder that evalkit itself keeps."""


def target(flag: str, written: str | Path, ours: Callable[[bytes], bool]) -> Path:
    """The file that results may be written to; `ours` tells by a file's first bytes that it holds such results.

    Raises `ConfigurationError`, with `flag`, where it may not be replaced.
    """
    path, where = Path(written), f"{flag} {written}"
    if exists(path) and path.is_dir():
        raise ConfigurationError.of(where, "is a folder", "name a file")
    if exists(path) and not path.is_file():
        raise ConfigurationError.of(where, "is a device or a pipe", "name a file")
    real = Path(os.path.realpath(path))
    if real.name in OWN and exists(real.parent / manifest.FILE):
        raise ConfigurationError.of(where, "is a file of the run itself", "choose another file")
    try:
        with real.open("rb") as file:
            head = file.read(HEAD)
    except FileNotFoundError:
        return real
    except OSError as error:
        raise ConfigurationError.of(where, f"cannot be written to: {error.strerror}", "choose another file") from error
    if head and not ours(head):
        raise ConfigurationError.of(
            where, "holds something else than such results", "choose another file, or delete it first"
        )
    return real


def refuse_foreign(flag: str, folder: Path) -> None:
    """Refuse a folder for a run that holds something and no run: results would lie among files of other kinds. What a killed start left may stay."""
    where = f"{flag} {folder}"
    try:
        held = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigurationError.of(where, f"cannot be used: {error.strerror}", "choose another folder") from error
    if manifest.FILE not in held and held - OWN:
        some = ", ".join(sorted(held - OWN)[:3])
        raise ConfigurationError.of(
            where, f"holds no run but other things ({some})", "name an empty folder, or one that does not exist"
        )
