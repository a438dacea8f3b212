"""A runner whose commands take more than all of a trial may, with and without a sandbox; `test_parts_bounds` starts it as two users.

Each attack is finite by itself, so that a bound which does not hold costs a test and not the machine.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evalkit.core.sandbox import Sandbox
from evalkit.parts._bounds import Bounds
from evalkit.parts._process import Limits, surroundings
from evalkit.parts._sandbox import open_cell

BOUNDS = Bounds(processes=60, memory=200_000_000, disk=8_000_000)

FORKS = """
import os, sys, time
for depth in range(7):
    os.fork()
    if sys.argv[1:]:
        os.setsid() if os.getsid(0) != os.getpid() else None
time.sleep(25)
"""
THREADS = """
import threading, time
for _ in range(90):
    threading.Thread(target=time.sleep, args=(15,)).start()
"""
EATERS = """
import os, time
for _ in range(8):
    if not os.fork():
        held = bytearray(60_000_000)
        for at in range(0, len(held), 4096):
            held[at] = 1
        time.sleep(25)
time.sleep(25)
"""
SHARED_EATERS = """
import mmap, os, time
for _ in range(4):
    if not os.fork():
        held = mmap.mmap(-1, 60_000_000)
        for at in range(0, len(held), 4096):
            held[at] = 1
        time.sleep(25)
time.sleep(25)
"""
SHARERS = """
import os, time
held = bytearray(60_000_000)
for at in range(0, len(held), 4096):
    held[at] = 1
for _ in range(8):
    if not os.fork():
        time.sleep(0.5)
        os._exit(0)
time.sleep(0.6)
print("fine")
"""
FILES = "i=0; while [ $i -lt 20 ]; do head -c 1000000 /dev/zero > {place}/f$i; i=$((i+1)); done; sleep 25"
TOGETHER = "cd {place}; for i in 1 2 3 4; do (head -c 4000000 /dev/zero > f$i) & done; wait; sleep 25"
EMPTY = """
import os, time
for at in range(3000):
    open(f"empty-{at}", "w").close()
time.sleep(25)
"""
NAMELESS = """
import os, time
held = []
for at in range(20):
    held.append(open(f"gone-{at}", "wb"))
    os.unlink(f"gone-{at}")
    held[-1].write(bytes(1_000_000))
    held[-1].flush()
time.sleep(25)
"""
IN_MEMORY = """
import os, time
held = [os.memfd_create(str(at)) for at in range(20)]
for one in held:
    os.write(one, bytes(1_000_000))
time.sleep(25)
"""
DEEP = """
import os, time
for at in range(40):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
time.sleep(25)
"""
DAEMON = """
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for at in range(20):
    open(f"late-{at}", "wb").write(bytes(1_000_000))
    time.sleep(0.02)
time.sleep(25)
"""


def python(program: str, *words: str) -> str:
    """A command that runs a program."""
    return f"python3 -c '{program}' {' '.join(words)}"


ATTACKS = {
    "processes": python(FORKS),
    "processes in sessions of their own": python(FORKS, "apart"),
    "threads": python(THREADS),
    "memory": python(EATERS),
    "memory that is shared": python(SHARED_EATERS),
    "files": FILES.replace("{place}", "$HOME"),
    "temporary files": FILES.replace("{place}", "$TMPDIR"),
    "large files side by side": TOGETHER.replace("{place}", "$HOME"),
    "empty files": python(EMPTY),
    "files without a name": python(NAMELESS),
    "files in memory": python(IN_MEMORY),
    "folders without a bottom": python(DEEP),
    "a daemon that goes on": python(DAEMON) + "; sleep 25",
}
BOXED = {"shared memory": FILES.replace("{place}", "/dev/shm")}  # noqa: S108  # that of a sandbox
"""Where only a sandbox has its own."""

HARMLESS = {
    "memory counted once": python(SHARERS),
    "up to the bound": "head -c 6000000 /dev/zero > most; sleep 0.4; echo fine",
    "files that come and go": "for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > now; sleep 0.1; rm now; done; echo fine",
}
CLEAR = "find . $TMPDIR -mindepth 1 -delete 2> /dev/null; echo still on"
"""Beside the trial's own files a sandbox's /tmp may show programs that lie there, which cannot be deleted."""


def trial(root: Path, kind: str, *commands: str) -> list[dict[str, str]]:
    """Run commands in one trial."""
    place = Path(tempfile.mkdtemp(dir=root))
    home, temporary = place / "home", place / "temporary"
    home.mkdir()
    temporary.mkdir()
    told = []
    sandbox = Sandbox(kind="bubblewrap" if kind == "bubblewrap" else "none")
    with open_cell(sandbox, folders=(home,), temporary=temporary, linger=True, bounds=BOUNDS) as cell:
        for command in commands:
            done = cell.run(
                ("/bin/sh", "-c", command),
                folder=home,
                variables=surroundings(home, temporary),
                limits=Limits(seconds=20.0, memory=20_000_000_000),
            )
            told.append({"ended": done.ended, "text": done.text[-2000:]})
    left = sum(one.stat().st_blocks * 512 for one in place.rglob("*") if one.is_file())
    shutil.rmtree(place, ignore_errors=True)
    return [*told, {"left": str(left)}]


def main() -> None:
    """Try everything at a level and print what came of each."""
    kind = sys.argv[1]
    root = Path(tempfile.mkdtemp(prefix="evalkit-bounds-"))
    try:
        attacks = {**ATTACKS, **(BOXED if kind == "bubblewrap" else {})}
        commands: dict[str, tuple[str, ...]] = {name: (command, CLEAR) for name, command in attacks.items()}
        commands |= {name: (command,) for name, command in HARMLESS.items()}
        with ThreadPoolExecutor(4) as pool:
            told = pool.map(lambda given: trial(root, kind, *given), commands.values())
            found = dict(zip(commands, told, strict=True))
        print(json.dumps(found))  # noqa: T201  # read by the test
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
