"""One writer a run folder: a lock that the kernel takes back from a process that was killed.

Invariant: the lock is the kernel's (`flock`), never the file's existence; what the file says of its holder is for people only.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.clock import Clock, SystemClock
from evalkit.store.disk import fault, told

FILE = "run.lock"
TRIES = 4
PAUSE = 0.05
"""A reader that looks whether a run is being written holds the lock for an instant: one is waited for, in seconds."""


@dataclass(slots=True)
class Lock:
    """The right to write to a folder, held until it is released or the process ends."""

    handle: int

    @classmethod
    def take(cls, folder: Path, clock: Clock | None = None) -> Lock:
        """Take it; a `StoreError` names the process that has it."""
        clock = clock or SystemClock()
        path = folder / FILE
        for tried in range(1, TRIES + 1):
            with told(path, "the run cannot be locked for writing", "see that the folder can be written to"):
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with ExitStack() as undo:
                undo.callback(os.close, handle)
                if _locked(handle, path):
                    _sign(handle, clock)
                    undo.pop_all()
                    return cls(handle)
                holder = _holder(handle)
            if tried < TRIES:
                clock.sleep(PAUSE)
        raise fault(folder, f"is being written by {holder}", "wait for it, stop it, or give another folder with --out")

    def release(self) -> None:
        """Give it back."""
        with suppress(OSError):
            os.ftruncate(self.handle, 0)
        os.close(self.handle)


def held(folder: Path) -> bool:
    """True where a living process is writing to the folder."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _locked(handle: int, path: Path) -> bool:
    """Lock an open file; False where another has it, or where the file was replaced between opening and locking."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise fault(path, f"this file system has no locks: {error.strerror}", "write to a local folder") from error
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def _sign(handle: int, clock: Clock) -> None:
    """Write into the lock who holds it, as far as the disk lets us: a full one does not undo the lock."""
    words = {"pid": os.getpid(), "host": socket.gethostname(), "since": round(clock.time())}
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(words).encode(), 0)


def _holder(handle: int) -> str:
    """Name the holder of a lock as far as it can be known."""
    try:
        words = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(words['pid'])} on {str(words['host'])[:80]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
