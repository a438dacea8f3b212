"""A sandbox that runs, and commands in it.

Invariant: what is ended is our own child, or the process that the kernel itself names as the one that answers from inside, held by a handle: its
number alone is never trusted. Nothing that comes from inside is believed beyond a status.

Between the runner and the sandbox stands a guard, a shell that waits for the end of its input: it ends the sandbox when the runner is killed,
also where code inside has laid hands on the warden. (bubblewrap's own `--die-with-parent` follows the thread that started it, and threads end.)
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.errors import EvalkitError
from evalkit.parts._bounds import MET, Bounds
from evalkit.parts._process import Ending, Finished, LeftRunning, Limits, Talk, collect, limiting

START_SECONDS = 20.0
END_SECONDS = 5.0
ANSWER_SECONDS = 2.0
GUARD = '"$@" & exec >&- 2>&-; read -r _; kill -9 $!; wait'
"""Stands between the runner and the sandbox: when its input ends, by our wish or with us, it ends the sandbox."""

WARDEN = Path(__file__).with_name("_warden.py").read_text(encoding="utf-8")
_CREDENTIALS = struct.Struct("3i")


class SandboxBroke(EvalkitError):
    """A sandbox could not be started: our world broke, not what was to run in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A sandbox that runs: `guard` is our own child, `channel` leads to the warden inside, `warden` is a handle of it."""

    guard: subprocess.Popen[bytes]
    channel: socket.socket
    warden: int

    @classmethod
    def start(cls, words: Sequence[str], bounds: Bounds, folders: Sequence[str]) -> Box:
        """Start it; raises `SandboxBroke` with what was said where it does not come up."""
        channel, theirs = socket.socketpair()
        said, saying = os.pipe()
        with ExitStack() as undo:
            undo.callback(channel.close)
            most = map(str, (bounds.processes, bounds.memory, bounds.disk))
            inside = (sys.executable, "-I", "-S", "-c", WARDEN, *most, *folders)
            with ExitStack() as ours:
                ours.callback(theirs.close)
                ours.callback(os.close, saying)
                undo.callback(os.close, said)
                guard = subprocess.Popen(  # noqa: S603  # a fixed program, and words of our own
                    ("/bin/sh", "-c", GUARD, "sh", *words, *inside),
                    stdin=subprocess.PIPE,
                    stdout=theirs.fileno(),
                    stderr=saying,
                    env={"PATH": os.defpath},
                    cwd="/",
                    start_new_session=True,
                )
            undo.callback(_let_go, guard)
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            channel.settimeout(START_SECONDS)
            pid = _greeted(channel)
            handle = None if pid is None else _handle(pid)
            if handle is None:
                raise SandboxBroke(f"the sandbox did not start: {_rest(said) or 'it said nothing'}")
            undo.callback(os.close, handle)
            if _greeted(channel) != pid:
                raise SandboxBroke("the sandbox did not start: its first process is another than it was")
            channel.settimeout(None)
            undo.pop_all()
            os.close(said)
        return cls(guard=guard, channel=channel, warden=handle)

    def is_alive(self) -> bool:
        """True while the first process lives, and with it all the others."""
        return not _has_died(self.warden, 0.0)

    def run(
        self,
        words: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        limits: Limits,
        talk: Talk | None = None,
    ) -> Finished:
        """Run a program to its end; where code in the sandbox brought the sandbox down, it counts as killed."""
        asked = _packed(folder, ("/bin/sh", "-c", limiting(limits), "sh", *words), variables)
        with ExitStack() as ending:
            line, theirs = socket.socketpair()
            ending.enter_context(line)
            pipe, output = os.pipe()
            ending.callback(os.close, pipe)
            with theirs, ExitStack() as given:
                given.callback(os.close, output)
                nothing = os.open(os.devnull, os.O_RDONLY)
                given.callback(os.close, nothing)
                stdin = talk.stdin if talk and talk.stdin >= 0 else nothing
                stderr = talk.stderr if talk and talk.stderr >= 0 else output
                self._send(theirs.fileno(), stdin, output, stderr)
            return _watched(line, pipe, asked, limits, self, talk)

    def _send(self, *handles: int) -> None:
        """Hand over the handles of a command."""
        with suppress(OSError):  # a sandbox that has gone is noticed on the command's own line
            socket.send_fds(self.channel, [b"r"], handles)

    def kill(self) -> bool:
        """Kill the first process, with which the kernel ends all others; gives False where that did not end."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.warden, signal.SIGKILL)
        return _has_died(self.warden, END_SECONDS)

    def end(self) -> None:
        """Kill all and let go, once; raises `LeftRunning` where something does not end."""
        dead = self.kill()
        os.close(self.warden)
        self.channel.close()
        _let_go(self.guard)
        if not dead:
            raise LeftRunning("the processes of the trial's sandbox could not be ended")


def _let_go(guard: subprocess.Popen[bytes]) -> None:
    """Let the guard end what it stands before."""
    if guard.stdin is not None:
        guard.stdin.close()
    try:
        guard.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        raise LeftRunning("the sandbox of a trial could not be ended") from None


def _greeted(channel: socket.socket) -> int | None:
    """Who answers at the other end, as the kernel numbers it here; None where nobody does."""
    try:
        channel.send(b"?")
        text, extra, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:
        return None
    found = [data for _, kind, data in extra if kind == socket.SCM_CREDENTIALS]
    return int(_CREDENTIALS.unpack(found[0])[0]) if text and found else None


def _handle(pid: int) -> int | None:
    """A handle of a process that answers; None where it is gone."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _has_died(handle: int, seconds: float) -> bool:
    """Wait for the end of a process, so long at most."""
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(round(seconds * 1000)))


def _rest(said: int) -> str:
    """What was said on a pipe that nobody holds any more."""
    text = b""
    poller = select.poll()
    poller.register(said, select.POLLIN)
    while len(text) < 4000 and poller.poll(1000) and (piece := os.read(said, 4000)):
        text += piece
    return text.decode("utf-8", "replace").strip()


def _packed(folder: Path, words: Sequence[str], variables: Mapping[str, str]) -> bytes:
    """Write down a command for the warden; raises `ValueError` for a NUL, as starting a process does."""
    given = (f"{name}={value}" for name, value in variables.items())
    fields = [os.fsencode(one) for one in (str(folder), *words, *given)]
    if any(b"\0" in one for one in fields):
        raise ValueError("embedded null byte")
    body = b"".join(one + b"\0" for one in fields)
    return b"%d %d\n" % (len(body), len(words)) + body


def _watched(
    line: socket.socket, pipe: int, asked: bytes, limits: Limits, box: Box, talk: Talk | None = None
) -> Finished:
    """Ask for a command, and give what came of it. Raises `OSError` where it cannot be started."""
    output = bytearray()
    with suppress(OSError):
        line.sendall(asked)
    ended: Ending = collect(pipe, lambda: _can_read(line, 0.0), limits, output, talk)
    if ended != "itself":
        with suppress(OSError):
            line.send(b"k")
        if not _can_read(line, ANSWER_SECONDS):
            box.kill()
    kind, number = _said(line)
    if kind == "E":
        raise OSError(number, os.strerror(number))
    if ended == "itself":
        ended = MET.get(kind.encode(), ended)
    return Finished(code=number, output=bytes(output), ended=ended)


def _said(line: socket.socket) -> tuple[str, int]:
    """What the warden says of a command: its kind and its number; where it says nothing fit to read, the command was killed."""
    try:
        said = line.recv(64).decode("ascii", "replace")
        return said[:1], int(said[1:9])
    except (OSError, ValueError):
        return "C", -signal.SIGKILL


def _can_read(line: socket.socket, seconds: float) -> bool:
    """True where something is on the line, its end counted."""
    return bool(select.select([line], [], [], seconds)[0])
