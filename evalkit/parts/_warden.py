"""Runs inside a sandbox as its first process: starts commands as it is told and ends them. Its source is handed in; evalkit is not there.

Invariant: it is process 1 of its own process namespace, so no signal from inside ends it, and when it ends all others do. It ends when the
runner lets go of the channel, however the runner came to its end. What it says is never trusted outside, for it lives beside hostile code.

    python -I -S -c SOURCE MOST

The channel is its standard output. A byte on it is answered with a byte, so that the runner learns who this is; with the byte may come four handles:
a command's own line, and its standard input, output and error. On the line comes a count of bytes and one of words, then the folder, the words and the variables,
each ended by NUL. Back goes `E` and an errno, or `C` and the command's status (`P` where there were too many processes). What comes then ends the
command: `k`, or the end of the line. MOST is how many processes and threads there may be at once.
"""

from __future__ import annotations

import _socket  # the C module alone: `socket` takes ten times as long to load, and each trial waits for it
import array
import os
import select
import sys

TICK = 25
"""Milliseconds between two counts of what runs."""

KILL, EVERYBODY = 9, -1
SET_ASIDE = (2, 3, 13, 25)
"""The signals that a shell or Python ignore for those that they start: INT, QUIT, PIPE, XFSZ."""


class Warden:
    """What runs: a line by the number of each command, and what wakes us."""

    def __init__(self, channel: _socket.socket, most: int) -> None:
        """Begin with nothing."""
        self.channel = channel
        self.most = most
        self.lines: dict[int, int] = {}
        self.handles: dict[int, int] = {}
        self.wakers: dict[int, int] = {}
        self.crowded: set[int] = set()

    def serve(self) -> None:
        """Do as told until the runner lets go."""
        while True:
            poller = select.poll()
            for one in (self.channel.fileno(), *self.wakers):
                poller.register(one, select.POLLIN)
            count = self.count()
            ready = {one for one, _ in poller.poll(TICK if count else None)}
            if self.channel.fileno() in ready and not self.hear():
                return
            for one in ready & self.wakers.keys():
                if one in self.lines.values():  # the other kind of waker is the end of a command: it is reaped below
                    end(self.wakers.pop(one))
            if self.count() > self.most:
                self.crowded.update(self.lines)
                os.kill(EVERYBODY, KILL)
                while self.count():  # the dying would be counted against the next command
                    self.reap()
                    select.poll().poll(1)
            self.reap()

    def hear(self) -> bool:
        """Take what is on the channel; False where the runner let go."""
        text, extra, _, _ = self.channel.recvmsg(1, 64, _socket.MSG_CMSG_CLOEXEC)
        handles = array.array("i")
        for _, _, data in extra:
            handles.frombytes(data)
        if text and not handles:
            self.channel.send(text)
        elif text:
            self.start(*handles)
        return bool(text)

    def start(self, line: int, *standard: int) -> None:
        """Start a command in a session of its own; where that cannot be done, its line is told."""
        try:
            pid = spawn(ask(line), standard)
        except OSError as error:
            say(line, b"E", error.errno or 0)
            os.close(line)
            return
        finally:
            for one in standard:
                os.close(one)
        self.lines[pid], self.handles[pid] = line, os.pidfd_open(pid)
        self.wakers[line] = self.wakers[self.handles[pid]] = pid

    def reap(self) -> None:
        """Take the dead, ours and the orphans, and tell of ours."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.lines:
                line, handle = self.lines.pop(pid), self.handles.pop(pid)
                say(line, b"P" if pid in self.crowded else b"C", os.waitstatus_to_exitcode(status))
                self.crowded.discard(pid)
                for one in (line, handle):
                    self.wakers.pop(one, None)
                    os.close(one)

    def count(self) -> int:
        """How many processes and threads there are besides this one."""
        found = 0
        for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib takes as long to load as all the rest
            if name.isdigit() and name != "1":
                try:  # contextlib takes long to load
                    with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # as above
                        found += int(file.read().rpartition(b")")[2].split()[17])
                except (OSError, ValueError, IndexError):
                    pass
        return found


def ask(line: int) -> tuple[bytes, list[bytes], dict[bytes, bytes]]:
    """Read what is to be run: folder, words and variables."""
    text = b""
    while b"\n" not in text:
        text += os.read(line, 1 << 16) or b"0 0\n"
    head, _, body = text.partition(b"\n")
    size, count = map(int, head.split())
    while len(body) < size:
        body += os.read(line, 1 << 16) or bytes(size)
    folder, *fields = body[:size].split(b"\0")[:-1]
    names = (field.partition(b"=") for field in fields[count:])
    return folder, fields[:count], {name: value for name, _, value in names}


def spawn(asked: tuple[bytes, list[bytes], dict[bytes, bytes]], standard: tuple[int, ...]) -> int:
    """Start a program and give its number; raises `OSError` where that cannot be done."""
    folder, words, variables = asked
    os.chdir(folder)
    copies = [(os.POSIX_SPAWN_DUP2, one, place) for place, one in enumerate(standard)]
    return os.posix_spawn(words[0], words, variables, file_actions=copies, setsid=True, setsigdef=SET_ASIDE)


def say(line: int, what: bytes, number: int) -> None:
    """Tell the runner, where it still listens."""
    try:  # noqa: SIM105  # contextlib takes long to load
        os.write(line, what + str(number).encode() + b"\n")
    except OSError:
        pass


def end(pid: int) -> None:
    """End a command with all of its session; it is not yet reaped, so its number is still its own."""
    try:  # noqa: SIM105  # contextlib takes long to load
        os.killpg(pid, KILL)
    except OSError:
        pass


if __name__ == "__main__":
    Warden(_socket.socket(fileno=1), int(sys.argv[1])).serve()
