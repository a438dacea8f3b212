"""Where the processes of a trial run: plainly beside the runner, or in a sandbox that holds all of them together.

Invariant: what runs in a sandbox sees the system's programs, read-only, and the folders that it was given; it sees no other process, network,
home, variable or key. All of it is gone when its cell is closed, and also when the runner is killed.

One sandbox serves a whole trial: what a command leaves in the background is there for the next one. Nothing is ended but what this process
started itself and the one process that the kernel names as the sandbox's first.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Protocol, Self

from evalkit.core.sandbox import Sandbox
from evalkit.parts._bounds import MET, Bounds, Watch
from evalkit.parts._box import START_SECONDS, Box, SandboxBroke
from evalkit.parts._bubblewrap import PROGRAM, arguments
from evalkit.parts._process import Finished, LeftRunning, Limits, Talk, end_all, run


class Cell(Protocol):
    """Where processes of one trial run, from its opening to its closing; it is a context manager."""

    def __enter__(self) -> Self:
        """Use it until the block ends."""

    def __exit__(self, *gone: object) -> None:
        """Close it."""

    def run(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        limits: Limits,
        talk: Talk | None = None,
    ) -> Finished:
        """Run a program to its end, as `_process.run` does; what it leaves in the background runs on until `close`, if it may."""

    def close(self) -> None:
        """End all that still runs; raises `LeftRunning` where that cannot be done. The cell can be used again afterwards."""


def open_cell(
    sandbox: Sandbox,
    *,
    folders: Sequence[Path],
    temporary: Path,
    read: Sequence[Path] = (),
    links: Sequence[Path] = (),
    network: bool = False,
    linger: bool = False,
    bounds: Bounds | None = None,
) -> Cell:
    """Make a cell; nothing is started before the first `run`.

    `folders` may be written to, `temporary` stands for /tmp, `read` is shown besides what the sandbox shows anyway, `links` as links;
    `network` lets a sandbox reach the machine's own. Plain processes see all of the machine, and what they leave in the background ends with them unless it
    may `linger`; in a sandbox it may always. `bounds` are for all of them together.
    """
    bounds = bounds or Bounds()
    if sandbox.kind == "none":
        held = (*folders, temporary)
        return Plain(folders=held, linger=linger, watch=Watch(folders=held, bounds=bounds))
    shown = (*read, *map(Path, sandbox.show))
    words = tuple(arguments(folders, temporary, shown, network=network, links=links))
    return Boxed(words=words, bounds=bounds, folders=(*map(str, folders), "/tmp"))  # noqa: S108  # the sandbox's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """Processes beside the runner, found again by the trial's own folders."""

    folders: tuple[Path, ...]
    linger: bool
    watch: Watch

    def __enter__(self) -> Self:
        """Nothing to open."""
        return self

    def __exit__(self, *gone: object) -> None:
        """Close it."""
        self.close()

    def run(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        limits: Limits,
        talk: Talk | None = None,
    ) -> Finished:
        """Run a program (`Cell.run`)."""
        done = run(
            words,
            folder=folder,
            variables=variables,
            limits=limits,
            linger=self.linger,
            talk=talk,
            watch=self.watch.look,
        )
        if done.ended in MET.values():
            self.close()
            self.watch.settle()
        return done

    def close(self) -> None:
        """End all that bears the marks of the folders."""
        end_all(*self.folders)


@dataclass(slots=True, kw_only=True)
class Boxed:
    """Processes in a sandbox that is started with `words` when the first is run; `folders` are those whose size is bounded."""

    words: tuple[str, ...]
    bounds: Bounds = field(default_factory=Bounds)
    folders: tuple[str, ...] = ()
    running: Box | None = None
    lock: Lock = field(default_factory=Lock)

    def __enter__(self) -> Self:
        """Nothing to open yet."""
        return self

    def __exit__(self, *gone: object) -> None:
        """Close it."""
        self.close()

    def run(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        limits: Limits,
        talk: Talk | None = None,
    ) -> Finished:
        """Run a program (`Cell.run`); where code in the sandbox brought the sandbox down, the command counts as killed."""
        with self.lock:
            if self.running is not None and not self.running.is_alive():
                self.running.end()
                self.running = None
            self.running = self.running or Box.start(self.words, self.bounds, self.folders)
            box = self.running
        return box.run(words, folder, {**variables, "TMPDIR": "/tmp"}, limits, talk)  # noqa: S108  # the sandbox's own

    def close(self) -> None:
        """End the sandbox with all that is in it."""
        with self.lock:
            box, self.running = self.running, None
        if box is not None:
            box.end()


@cache
def probe() -> str:
    """What keeps a sandbox from holding anything on this machine, in a sentence; empty where it works. It is started once a process to see.

    That the program is installed says little: a container or a setting of the kernel may forbid what it does.
    """
    if not sys.platform.startswith("linux"):
        return "bubblewrap is a program for Linux"
    if shutil.which(PROGRAM) is None:
        return f"bubblewrap is not installed: there is no program {PROGRAM}"
    with tempfile.TemporaryDirectory(prefix="evalkit-probe-") as made:
        root = Path(made).resolve()
        home, temporary, secret = root / "home", root / "temporary", root / "secret"
        for folder in (home, temporary):
            folder.mkdir()
        secret.write_text("canary", encoding="utf-8")
        program = f"test ! -e {shlex.quote(str(secret))} && test ! -e /proc/{os.getpid()}/environ && echo held > held"
        try:
            with open_cell(Sandbox(kind="bubblewrap"), folders=(home,), temporary=temporary) as cell:
                words, limits = ("/bin/sh", "-c", program), Limits(seconds=START_SECONDS)
                done = cell.run(words, folder=home, variables={"PATH": os.defpath}, limits=limits)
        except (SandboxBroke, LeftRunning, OSError) as error:
            return f"bubblewrap does not work here: {error}"
        if done.code != 0 or not (home / "held").is_file():
            return f"bubblewrap does not hold what it should here: {done.text[-300:].strip() or done.ended}"
    return ""
