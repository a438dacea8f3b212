"""The one place where processes are started: bounded in time, output and memory, with nothing of our own surroundings.

Invariant: a process gets no inherited variable beside `PATH`, no input, a session of its own, and limits; and it is told apart from all
others by its home, so that what it leaves behind is found and ended, also where it has left its session.
What cleared its variables *and* left its folder is not found: only a sandbox holds that (`_sandbox`, through which commands of a trial go).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Literal

from evalkit.core.clock import SystemClock
from evalkit.core.errors import EvalkitError

_PROC = Path("/proc")
_SWEEP_SECONDS = 5.0
_TICK = 0.02
_PIECE = 65_536
DEEP_ENOUGH = 3
"""Steps that the name of a trial's folder has at least, the root counted: `/tmp/evalkit-x` is one, `/tmp` is none."""


Bound = Literal["processes", "memory", "disk"]
"""What all processes of a trial share."""

Ending = Literal["itself", "time", "output"] | Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a process may use: seconds of wall time, bytes of output, bytes of each file that it writes, bytes of address space each."""

    seconds: float
    output: int = 8_000_000
    file: int = 1_000_000_000
    memory: int = 4_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a process ended: by itself with `code` (negative: the signal that ended it), or by us at a limit of its own or of its sandbox."""

    code: int
    output: bytes
    ended: Ending

    @property
    def text(self) -> str:
        """The output as text; bytes that are no UTF-8 are shown as such."""
        return self.output.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """How to talk with a process while it runs.

    `hear` is called with the output that has not been taken yet, at least every 20 ms, and takes of it what it wants; whatever it raises
    ends the process. `stdin` and `stderr` are file descriptors; a byte on one of `wake` calls `hear` at once.
    """

    hear: Callable[[bytearray], None]
    stdin: int = subprocess.DEVNULL
    stderr: int = subprocess.STDOUT
    wake: tuple[int, ...] = ()


class LeftRunning(EvalkitError):
    """Processes of a trial could not be ended."""


def search_path(*, own_first: bool = True) -> str:
    """Where programs are looked for: beside the interpreter that runs evalkit, first or last of all; relative folders are left out."""
    own, path = [str(Path(sys.executable).parent)], os.get_exec_path()
    path = own + path if own_first else path + own
    return ":".join(dict.fromkeys(folder for folder in path if folder.startswith("/")))


def surroundings(home: Path, temporary: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """All variables that a process gets."""
    return {
        "PATH": search_path(),
        "HOME": _own(home),
        "TMPDIR": _own(temporary),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        **(extra or {}),
    }


def run(
    words: Sequence[str],
    *,
    folder: Path,
    variables: Mapping[str, str],
    limits: Limits,
    linger: bool = False,
    talk: Talk | None = None,
    watch: Callable[[], Bound | None] | None = None,
) -> Finished:
    """Run a program to its end and give what it wrote on both of its outputs, in order.

    At its limits its whole session is killed. Where it ends by itself, what it started in the background is killed too,
    unless it may `linger` until `end_all`. `watch` is asked every 20 ms which bound of the trial is crossed. Raises `OSError` where it cannot be started at all, `ValueError` for a NUL.
    """
    child = subprocess.Popen(  # noqa: S603  # running what a task asks for is the purpose, and its limits are here
        ["/bin/sh", "-c", limiting(limits), "sh", *words],
        cwd=folder,
        env=dict(variables),
        stdin=talk.stdin if talk else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=talk.stderr if talk else subprocess.STDOUT,
        start_new_session=True,
        bufsize=0,
    )
    ended: Ending | None = None
    output = bytearray()
    try:
        pipe = child.stdout.fileno() if child.stdout is not None else -1
        ended = collect(pipe, lambda: has_ended(child.pid), limits, output, talk, watch)
    finally:
        if ended != "itself" or not (linger and _PROC.is_dir()):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)  # the child is not yet reaped, so its number is still its own
        if child.stdout is not None:
            child.stdout.close()
        child.wait()
    return Finished(code=child.returncode, output=bytes(output), ended=ended)


def end_all(*homes: Path) -> int:
    """Kill every process whose home or temporary folder is one of these, or that works inside one; give how many there were.

    The folders are taken by their names, as `surroundings` got them: what an agent has put in their place since is not looked at. Nothing
    that is older than this process is touched. Raises `LeftRunning` where some are still there after five seconds, and `ValueError` for a
    folder that is not a trial's own. Without a `/proc` nothing lingers, and nothing is to be done.
    """
    marks = [_own(home) for home in homes]
    clock = SystemClock()
    until = clock.monotonic() + _SWEEP_SECONDS
    killed: set[int] = set()
    while found := [pid for pid in _pids() if _belongs(pid, marks) and _kill(pid, marks)]:
        killed.update(found)
        if clock.monotonic() > until:
            raise LeftRunning(f"{len(found)} processes of the trial could not be ended")
        clock.sleep(0.001)
    return len(killed)


def belonging(*homes: Path) -> list[int]:
    """The numbers of all processes that `end_all` would end."""
    marks = [_own(home) for home in homes]
    return [pid for pid in _pids() if _belongs(pid, marks)]


def _own(home: Path) -> str:
    """A trial's own folder by its name; raises `ValueError` for one so near to the root that others may work in it too."""
    if not home.is_absolute() or ".." in home.parts or len(home.parts) < DEEP_ENOUGH:
        raise ValueError(f"{home} is no folder that belongs to one trial alone")
    return str(home)


def limiting(limits: Limits) -> str:
    """A shell program that sets limits, one a call as dash wants it, and becomes its arguments; a limit that is lower already stays."""
    seconds = ceil(limits.seconds) * (os.cpu_count() or 1) + 1  # of all threads, for what escapes the watch
    each = (f"-t {seconds}", f"-f {limits.file // 512}", f"-v {limits.memory // 1024}", "-c 0")
    return "".join(f"ulimit {one} 2>/dev/null; " for one in each) + 'exec "$@"'


def has_ended(pid: int) -> bool:
    """True where a child of this process has ended; it is not reaped by asking."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def collect(
    pipe: int,
    is_gone: Callable[[], bool],
    limits: Limits,
    output: bytearray,
    talk: Talk | None = None,
    watch: Callable[[], Bound | None] | None = None,
) -> Ending:
    """Collect output until a process is gone or crosses a limit; one that it left running may hold the pipe, and is not waited for."""
    clock = SystemClock()
    until = clock.monotonic() + limits.seconds
    os.set_blocking(pipe, False)
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    for one in talk.wake if talk else ():
        poller.register(one, select.POLLIN)
    tick = 0.0002
    is_open = True
    while True:
        gone = is_gone()
        is_open = is_open and _drain(pipe, limits.output, output)
        if talk:
            talk.hear(output)
        if len(output) > limits.output:
            del output[limits.output :]
            return "output"
        if gone:
            return "itself"
        left = until - clock.monotonic()
        if left <= 0:
            return "time"
        if watch and (met := watch()):
            return met
        if is_open:
            poller.poll(ceil(min(_TICK, left) * 1000))
        else:
            clock.sleep(min(tick, left))
            tick = min(tick * 2, _TICK)


def _drain(pipe: int, most: int, output: bytearray) -> bool:
    """Take what the pipe holds, a little over `most` at most; False at its end."""
    while len(output) <= most:
        try:
            piece = os.read(pipe, _PIECE)
        except BlockingIOError:
            return True
        if not piece:
            return False
        output += piece
    return True


def _pids() -> list[int]:
    """All processes but this one, by number."""
    if not _PROC.is_dir():
        return []
    own = os.getpid()
    return [int(name) for name in os.listdir(_PROC) if name.isdigit() and int(name) != own]  # noqa: PTH208  # names alone are wanted


def _belongs(pid: int, marks: Sequence[str]) -> bool:
    """True where a process bears one of the marks."""
    try:
        held = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        place = os.readlink(_PROC / str(pid) / "cwd")  # noqa: PTH115  # a deleted folder has a name that is no path
    except OSError:
        return False
    names = {entry for mark in marks for entry in (b"HOME=" + os.fsencode(mark), b"TMPDIR=" + os.fsencode(mark))}
    inside = any(place == mark or place.startswith((mark + "/", mark + " (")) for mark in marks)
    return (inside or not names.isdisjoint(held)) and _started(pid) >= _started(os.getpid())


def _started(pid: int) -> int:
    """When a process was started, in the kernel's ticks; -1 where it is gone."""
    try:
        return int(
            (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
        )
    except (OSError, IndexError):
        return -1


def _kill(pid: int, marks: Sequence[str]) -> bool:
    """Kill a process, held by a handle so that it is the very one that bears the mark; False where it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _belongs(pid, marks):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
