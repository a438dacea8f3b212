"""Runs inside a sandbox as its first process: starts commands as it is told and ends them. Its source is handed in; evalkit is not there.

Invariant: it is process 1 of its own process namespace, so no signal from inside ends it, and when it ends all others do. It ends when the
runner lets go of the channel, however the runner came to its end. What it says is never trusted outside, for it lives beside hostile code.

    python -I -S -c SOURCE PROCESSES MEMORY DISK FOLDER …

The channel is its standard output. A byte on it is answered with a byte, so that the runner learns who this is; with the byte may come four handles:
a command's own line, and its standard input, output and error. On the line comes a count of bytes and one of words, then the folder, the words and the variables,
each ended by NUL. Back goes `E` and an errno, or `C` and the command's status; `P`, `M` or `D` in the place of `C` where everything was ended because there was
too much of processes, memory or disk. What comes then ends the command: `k`, or the end of the line. PROCESSES and threads, bytes of MEMORY
and bytes of DISK below the folders are what all commands together may use at once.

What counts (`weigh`, `held`, `Disk`) serves the runner too, where there is no sandbox.
"""

from __future__ import annotations

import _collections_abc  # what `os` has loaded already; `collections.abc` takes long to load
import _socket  # the C module alone: `socket` takes ten times as long to load, and each trial waits for it
import array
import os
import select
import sys

TICK = 25
"""Milliseconds between two counts of what runs."""

REST = 8
"""Counts that are left out after a long one: of the memory that is really held, and of all files."""

ENTRIES = 1000
"""Files that one count goes through at most; the next one goes on from there."""

MARGIN = 1_000_000
"""Bytes that may be added by commands after one that was ended for the disk, so that they can clear up."""

SMALLEST = 4096
"""Bytes that a file or folder counts at least: an empty one takes room too."""

PAGE = os.sysconf("SC_PAGESIZE")
KILL, EVERYBODY = 9, -1
TOO_LONG = 36
"""ENAMETOOLONG; `errno` is a module more to load."""

SET_ASIDE = (2, 3, 13, 25)
"""The signals that a shell or Python ignore for those that they start: INT, QUIT, PIPE, XFSZ."""


class Warden:
    """What runs: a line by the number of each command, and what wakes us."""

    def __init__(self, channel: _socket.socket, processes: int, memory: int, disk: Disk) -> None:
        """Begin with nothing."""
        self.channel = channel
        self.usage = Usage(processes, memory, disk)
        self.lines: dict[int, int] = {}
        self.handles: dict[int, int] = {}
        self.wakers: dict[int, int] = {}
        self.crowded: dict[int, bytes] = {}

    def serve(self) -> None:
        """Do as told until the runner lets go."""
        while True:
            poller = select.poll()
            for one in (self.channel.fileno(), *self.wakers):
                poller.register(one, select.POLLIN)
            ready = {one for one, _ in poller.poll(TICK if others() else None)}
            if self.channel.fileno() in ready and not self.hear():
                return
            for one in ready & self.wakers.keys():
                if one in self.lines.values():  # the other kind of waker is the end of a command: it is reaped below
                    end(self.wakers.pop(one))
            met = self.usage.met(others())
            if met:
                self.crowded |= dict.fromkeys(self.lines, met)
                os.kill(EVERYBODY, KILL)
                while others():  # the dying would be counted against the next command
                    self.reap()
                    select.poll().poll(1)
                self.usage.disk.settle()
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
                say(line, self.crowded.pop(pid, b"C"), os.waitstatus_to_exitcode(status))
                for one in (line, handle):
                    self.wakers.pop(one, None)
                    os.close(one)


class Usage:
    """What all processes together may use, and whether they use more."""

    def __init__(self, processes: int, memory: int, disk: Disk) -> None:
        """Begin with nothing counted."""
        self.processes, self.memory, self.disk = processes, memory, disk
        self.rest = 0

    def met(self, pids: list[str]) -> bytes:
        """Count: `P`, `M` or `D` for the first bound that these processes crossed, nothing where they crossed none."""
        if not pids:
            return b""
        threads, resident = weigh(pids)
        if threads > self.processes:
            return b"P"
        self.rest -= 1
        if resident > self.memory and self.rest < 0:
            self.rest = REST
            if held(pids) > self.memory:
                return b"M"
        return b"D" if self.disk.is_over(pids) else b""


class Disk:
    """What lies below some folders, counted piece by piece; a file that is held open without a name counts too."""

    def __init__(self, folders: list[str], most: int) -> None:
        """Begin with nothing counted."""
        self.folders, self.most, self.allowed = folders, most, most
        self.walk: _collections_abc.Iterator[int] | None = None
        self.sum = self.rest = 0

    def is_over(self, pids: list[str]) -> bool:
        """Count on; True where there is already more than may be."""
        self.rest -= 1
        if self.walk is None and self.rest < 0:
            self.walk, self.sum = self.sizes(pids), 0
        for _ in range(ENTRIES if self.walk else 0):
            size = next(self.walk, None) if self.walk else None
            if size is None:
                self.walk, self.rest = None, REST
                self.allowed = max(self.most, min(self.allowed, self.sum + MARGIN))
                break
            self.sum += size
        return self.sum > self.allowed

    def settle(self) -> None:
        """Once everything is ended: take what is there for given, so that commands can run which make it less."""
        self.walk, self.rest = None, 0
        self.sum = sum(self.sizes([]))
        self.allowed = max(self.most, self.sum + MARGIN)

    def sizes(self, pids: list[str]) -> _collections_abc.Iterator[int]:
        """The bytes of each file and folder; a folder too deep to be looked into counts as too much."""
        seen: set[tuple[int, int]] = set()
        waiting, elsewhere = list(self.folders), mounts()
        while waiting:
            place = waiting.pop()
            if os.path.islink(place):  # noqa: PTH114  # a folder of a moment ago; pathlib takes long to load
                continue
            try:
                with os.scandir(place) as found:
                    for one in found:
                        info = one.stat(follow_symlinks=False)
                        if info.st_nlink == 1 or (info.st_dev, info.st_ino) not in seen:
                            yield max(info.st_blocks * 512, SMALLEST)
                        if one.is_dir(follow_symlinks=False) and one.path not in elsewhere:
                            waiting.append(one.path)
                        elif info.st_nlink > 1:
                            seen.add((info.st_dev, info.st_ino))
            except OSError as error:
                if error.errno == TOO_LONG:
                    yield self.most + 1
        yield from nameless(pids)


def others() -> list[str]:
    """The numbers of all processes that are seen, besides the first."""
    return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: PTH208  # pathlib takes as long to load as all the rest


def weigh(pids: list[str]) -> tuple[int, int]:
    """How many threads some processes have, and how many bytes they hold at most: pages that they share count for each."""
    threads = pages = 0
    for pid in pids:
        try:  # contextlib takes long to load
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # as above
                fields = file.read().rpartition(b")")[2].split()
            threads, pages = threads + int(fields[17]), pages + int(fields[21])
        except (OSError, ValueError, IndexError):
            pass
    return threads, pages * PAGE


def held(pids: list[str]) -> int:
    """How many bytes some processes really hold: pages that they share count once, those of files not at all, which the kernel can drop."""
    found = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123  # as above
                lines = [line.split() for line in file]
            found += 1024 * sum(int(line[1]) for line in lines if line[0] in (b"Pss_Anon:", b"Pss_Shmem:"))
        except (OSError, ValueError, IndexError):
            found += weigh([pid])[1]
    return found


def mounts() -> set[str]:
    """Where other file systems, or other parts of this one, are put in: what lies below is no part of the folder around it."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123  # as above
        places = [
            line.split()[4].decode("unicode_escape") for line in file
        ]  # a blank is written as a backslash and 040
    return {os.fsdecode(place.encode("latin-1")) for place in places}


def nameless(pids: list[str]) -> _collections_abc.Iterator[int]:
    """The bytes of each file that some processes hold open though its name is gone, those in memory included."""
    seen = set()
    for pid in pids:
        try:
            handles = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208  # as above
        except OSError:
            continue
        for handle in handles:
            try:
                info = os.stat(f"/proc/{pid}/fd/{handle}")  # noqa: PTH116  # as above
            except OSError:
                continue
            if info.st_mode & 0o170000 == 0o100000 and not info.st_nlink and (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                yield info.st_blocks * 512


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
    Warden(_socket.socket(fileno=1), int(sys.argv[1]), int(sys.argv[2]), Disk(sys.argv[4:], int(sys.argv[3]))).serve()
