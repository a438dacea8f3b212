"""Where runs lie: `reports/<utc>-<suite>-<hash>`, a new one or the one to go on with.

Invariant: a name is made of letters, digits, dots and dashes only, whatever a suite is called, and sorts by time.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from evalkit.store import manifest
from evalkit.store.disk import exists, told

LONGEST = 40
STAMP = "%Y%m%dT%H%M%SZ"
STAMPED = re.compile(r"(\d{8}T\d{6}Z)-")
MARK = 8
"""Hex digits of the fingerprint that a folder's name ends with."""


def run_folder_name(suites: Sequence[str], fingerprint: str, now: float) -> str:
    """Name a run's folder from its suites' names, its fingerprint and the time, in seconds since the epoch."""
    name = slug(suites[0]) if suites else "run"
    more = f"-and-{len(suites) - 1}-more" if len(suites) > 1 else ""
    return f"{time.strftime(STAMP, time.gmtime(now))}-{name}{more}-{fingerprint[:MARK]}"


def slug(text: str) -> str:
    """A text as part of a file's name: lower-case ASCII letters, digits and dashes, at most 40 of them."""
    return re.sub(r"[^a-z0-9]+", "-", text[: 4 * LONGEST].lower()).strip("-")[:LONGEST].strip("-") or "run"


def new_folder(reports: Path, suites: Sequence[str], fingerprint: str, now: float) -> Path:
    """A folder under `reports` that does not exist yet; nothing is made."""
    name = run_folder_name(suites, fingerprint, now)
    number, folder = 1, reports / name
    while folder.exists():
        number += 1
        folder = reports / f"{name[: -MARK - 1]}-{number}-{fingerprint[:MARK]}"
    return folder


def find_resumable(reports: Path, fingerprint: str) -> Path | None:
    """The newest run under `reports` with this fingerprint, None where there is none; raises `StoreError` where it is unreadable."""
    if not reports.is_dir():
        return None
    found = [path.parent for path in reports.glob(f"*-{fingerprint[:MARK]}/{manifest.FILE}")]
    runs = [
        (run.created, folder.name, folder)
        for folder in found
        for run in (manifest.read(folder),)
        if run.fingerprint == fingerprint
    ]
    return max(runs)[2] if runs else None


def newest(reports: Path) -> Path | None:
    """The run under `reports` that was begun last, however its folder is called; None where there is none that can be read.

    Folders that another user's runs are in, and so cannot be looked into, are passed over. Raises `StoreError` where `reports` is such a one.
    """
    if not exists(reports):
        return None
    with told(reports, "cannot be looked into", "name a run's folder, or see the permissions of this one"):
        held = [one for one in reports.iterdir() if os.access(one / manifest.FILE, os.R_OK)]
    stamps = {one: _stamp(one) for one in held}
    last = [one for one in held if stamps[one] == max(stamps.values())]
    return max(last, key=lambda one: (_begun(one), one.name), default=None)


def _stamp(folder: Path) -> str:
    """When a run was begun, to the second: by its folder's name where that tells, since to read every run.json takes long."""
    named = STAMPED.match(folder.name)
    return named[1] if named else time.strftime(STAMP, time.gmtime(_begun(folder)))


def _begun(folder: Path) -> float:
    """When a run was begun, in seconds since the epoch: as its run.json says, of a damaged one when that was written."""
    file = folder / manifest.FILE
    try:
        found = float(json.loads(file.read_bytes())["created"])
        time.gmtime(found)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return file.stat().st_mtime if file.exists() else 0.0
    return found
