"""`evalkit doctor`: what this machine has, or what is the matter with a run's folder, and what to do about it.

Invariant: it changes nothing, and says of a key that it is there and never what it is.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from evalkit import __version__
from evalkit.cli.confine import MEND
from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say, say_json, width
from evalkit.cli.reading import REPORTS, find
from evalkit.core.clock import SystemClock
from evalkit.parts._sandbox import probe
from evalkit.report.clean import clean_line
from evalkit.report.layout import entry
from evalkit.report.numbers import times
from evalkit.store.disk import network_type
from evalkit.store.examine import Finding, examine

MARKS = {"fine": "ok", "note": "note", "incomplete": "INCOMPLETE", "damaged": "DAMAGED"}
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
OLD = 48 * 3600.0
"""Seconds after which a trial's folder is taken for one that was left."""

LEAST_FREE = 1_000_000_000
LONGEST = 2_000
"""Characters of a finding that are shown: names in it may be anybody's."""

COMMAND = Command("doctor", "Say what this machine has, or look for damage in the folder of a run: `doctor [RUN]`.")
COMMAND.argument(
    "run", nargs="?", help="a run folder, a name under reports/, or `latest`, the newest there; without it the machine"
)
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Look; gives 4 where a run is damaged or incomplete."""
    folder = find(values.run) if values.run else None
    findings = list(examine(folder) if folder else machine())
    if values.json:
        say_json({"run": str(folder) if folder else None, "findings": [asdict(one) for one in findings]})
    else:
        for one in findings:
            text = clean_line(one.what, LONGEST) + (f"\n{clean_line(one.mend, LONGEST)}" if one.mend else "")
            say("\n".join(entry(f"{MARKS[one.grade]:<12}", text, width())))
    return Exit.INVALID if any(one.grade in ("incomplete", "damaged") for one in findings) else Exit.OK


def machine() -> Iterator[Finding]:
    """What there is here for a run to use."""
    yield Finding(grade="fine", what=f"evalkit {__version__}, Python {platform.python_version()} ({sys.executable})")
    yield Finding(grade="fine", what=f"{platform.system()} {platform.release()}, {os.cpu_count()} processors")
    lacking = probe()
    yield (
        Finding(grade="note", what=f"sandbox: {lacking}", mend=MEND)
        if lacking
        else Finding(grade="fine", what="sandbox: bubblewrap works and holds")
    )
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        yield Finding(
            grade="note",
            what="you are root: without a sandbox commands of trials are too",
            mend="an ordinary user is safer",
        )
    yield _browser()
    for name in KEYS:
        yield Finding(grade="fine", what=f"{name}: {'set' if os.environ.get(name) else 'not set'}")
    yield _reports()
    yield from _left()


def _browser() -> Finding:
    """Whether the check `visual` can be made."""
    try:
        from evalkit.parts.checks._render import BROWSERS, find_browser  # noqa: PLC0415  # an extra, and heavy
    except ImportError:
        mend = "pip install 'evalkit-passk[visual]', where a suite has such checks"
        return Finding(grade="note", what="visual checks: Playwright is not installed", mend=mend)
    found = find_browser()
    if found is None:
        mend = "install Chromium, where a suite has such checks"
        return Finding(grade="note", what=f"visual checks: none of {', '.join(BROWSERS)} is on the path", mend=mend)
    return Finding(grade="fine", what=f"visual checks: {found}")


def _left() -> Iterator[Finding]:
    """Folders of trials whose runner was killed: nobody else removes them."""
    place, now = Path(tempfile.gettempdir()), SystemClock().time()
    left = []
    for one in sorted(place.glob("evalkit-*")):
        with suppress(OSError):
            known = one.lstat()
            if stat.S_ISDIR(known.st_mode) and known.st_uid == os.geteuid() and now - known.st_mtime > OLD:
                left.append(one.name)
    if left:
        what = f"{times(len(left), 'folder')} of trials in {place} from before yesterday, whose run was killed: {', '.join(left[:5])}"
        yield Finding(grade="note", what=what, mend="delete them, unless a run is that old")


def _reports() -> Finding:
    """Whether runs can be written where they go by default."""
    place = REPORTS if REPORTS.is_dir() else Path()
    kind = network_type(place)
    where = f"runs go to {place.absolute() if place == REPORTS else REPORTS.absolute()}"
    if kind is not None:
        return Finding(
            grade="note", what=f"{where}: a network file system ({kind})", mend="write runs elsewhere with --out"
        )
    if not os.access(place, os.W_OK):
        return Finding(grade="note", what=f"{where}: it cannot be written to", mend="write runs elsewhere with --out")
    free = shutil.disk_usage(place).free
    what = f"{where}: a local disk with {free / 1e9:.1f} GB free"
    if free < LEAST_FREE:
        return Finding(grade="note", what=what, mend="a run that fills its disk stops, and goes on once there is room")
    return Finding(grade="fine", what=what)
