"""Runs the user's own agent as a process of its own, for the loops that do: its variables, its folders, its sandbox, its end.

Invariant: it gets no variable of ours but those that the variant names, a home and temporary folder that are removed, and nothing that it
started runs on when the loop ends, however that ends. Where the trial has no sandbox, or the loop cannot use one, it has the rights of whoever runs evalkit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.core.protocols import Session
from evalkit.core.record import Reported
from evalkit.core.sandbox import PLAIN, Needs
from evalkit.parts._bounds import Bounds
from evalkit.parts._box import SandboxBroke
from evalkit.parts._process import Ending, Finished, LeftRunning, Limits, Talk, surroundings
from evalkit.parts._sandbox import Cell, open_cell
from evalkit.parts.loops._needs import agent_path

UNBOUNDED = 10**15
"""Bytes of address space for an agent whose memory is not bounded: runtimes reserve far more than they use."""

CROSSED: dict[Ending, str] = {
    "processes": "the agent had started too many processes",
    "memory": "the agent and all that it had started held too much memory",
    "disk": "the agent had written too much into its folders",
}
"""What is said of an agent that was ended at a bound of its trial."""

GRACE = 3600.0
"""Seconds beyond the cap after which a process is ended even if its session never says so."""

TAIL = 20_000
"""Bytes of the standard error that are kept: the last ones."""

PIECE, PIECES = 65_536, 32
"""Bytes of one read, and reads at a time: a program that never stops writing keeps nothing else from its turn."""


def missing(names: Sequence[str], program: str | None) -> str | None:
    """Say which variable is not set or which program is not there; None where all is well."""
    unset = [name for name in names if name not in os.environ]
    if unset:
        return (
            f"env names {', '.join(unset)}, which {'is' if len(unset) == 1 else 'are'} not set: set it before the run"
        )
    if program is not None and shutil.which(program, path=agent_path()) is None:
        return f"there is no program {program!r}: is it installed, and on PATH?"
    return None


@dataclass(slots=True, kw_only=True)
class Program:
    """One run of a program: where it works and what it gets; `tail` is the end of its standard error."""

    session: Session
    cell: Cell
    folder: Path
    home: Path
    temporary: Path
    names: Sequence[str]
    values: Mapping[str, str]
    memory_mb: int | None
    tail: bytearray = field(default_factory=bytearray)

    def play(
        self, words: Sequence[str], hear: Callable[[bytearray], None], *, stdin: int, wake: int | None
    ) -> Finished:
        """Run it to its end; `hear` gets its output and may end the trial. Raises `OSError` where it cannot be started."""
        errors, into = os.pipe()
        os.set_blocking(errors, False)

        def listen(output: bytearray) -> None:
            """Take in what came, and end the trial where a cap says so."""
            self._take(errors)
            hear(output)
            self.session.hold()

        seconds = (self.session.variant.caps.seconds or 0.0) + GRACE
        memory = UNBOUNDED if self.memory_mb is None else self.memory_mb * 1_000_000
        passed = {name: os.environ[name] for name in self.names if name in os.environ}
        try:
            done = self.cell.run(
                words,
                folder=self.folder,
                variables=surroundings(self.home, self.temporary, {"PATH": agent_path(), **self.values, **passed}),
                limits=Limits(seconds=seconds, memory=memory),
                talk=Talk(hear=listen, stdin=stdin, stderr=into, wake=() if wake is None else (wake,)),
            )
        except SandboxBroke as error:
            self.session.stop("error:environment", str(error))
        finally:
            os.close(into)
            self._take(errors)
            os.close(errors)
            self._tell_errors()
        if done.ended in CROSSED:
            self.session.stop("agent_error", CROSSED[done.ended])
        return done

    def _take(self, errors: int) -> None:
        """Keep the end of the standard error."""
        for _ in range(PIECES):
            try:
                piece = os.read(errors, PIECE)
            except BlockingIOError:
                return
            if not piece:
                return
            self.tail += piece
            del self.tail[:-TAIL]

    def _tell_errors(self) -> None:
        """Put the end of the standard error into the trace."""
        text = self.tail.decode("utf-8", "replace").strip()
        if text:
            turn, now = self.session.tally.turns, self.session.now()
            self.session.record(Reported(turn=turn, origin="stderr", text=text, at=now))


@contextmanager
def program(
    session: Session,
    *,
    names: Sequence[str],
    values: Mapping[str, str],
    memory_mb: int | None,
    needs: Needs | None = None,
) -> Iterator[Program]:
    """Give an agent its folders, and end all that it left running; a process that cannot be ended makes the trial an error.

    `needs` None is an agent that no sandbox can hold.
    """
    root = Path(tempfile.mkdtemp(prefix="evalkit-agent-")).resolve()
    home, temporary, work = root / "home", root / "temporary", session.folder or root / "work"
    try:
        for one in (home, temporary, *(() if session.folder else (work,))):
            one.mkdir()
        cell = _cell(session, (work, home), temporary, needs, bounds_of(session, memory_mb))
        try:
            yield Program(
                session=session,
                cell=cell,
                folder=work,
                home=home,
                temporary=temporary,
                names=names,
                values=values,
                memory_mb=memory_mb,
            )
        finally:
            try:
                cell.close()
            except LeftRunning as error:
                session.stop("error:environment", str(error))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def bounds_of(session: Session, memory_mb: int | None) -> Bounds:
    """What an agent and all that it starts may use: processes and files as its workspace says, memory as its loop does."""
    options, usual = session.task.environment.options, Bounds()
    processes, disk_mb = options.get("processes"), options.get("disk_mb")
    return Bounds(
        processes=processes if isinstance(processes, int) else usual.processes,
        memory=UNBOUNDED if memory_mb is None else memory_mb * 1_000_000,
        disk=disk_mb * 1_000_000 if isinstance(disk_mb, int) else usual.disk,
    )


def _cell(session: Session, folders: Sequence[Path], temporary: Path, needs: Needs | None, bounds: Bounds) -> Cell:
    """Where the agent runs; its links stay links there."""
    if needs is None:
        return open_cell(PLAIN, folders=folders, temporary=temporary, bounds=bounds)
    read = [Path(one) for one in needs.read]
    return open_cell(
        session.sandbox,
        folders=folders,
        temporary=temporary,
        read=[one for one in read if not one.is_symlink()],
        links=[one for one in read if one.is_symlink()],
        network=needs.network,
        bounds=bounds,
    )


def asked(session: Session) -> str:
    """The prompt: the task's, and after it the last thing that the harness had to say, where it had."""
    request, *later = [message.text for message in session.transcript if message.role == "user" and message.text]
    return "\n\n".join((request, *later[-1:]))
