"""A folder of files, fresh for each trial, with tools to read and change them and to run commands in them.

Invariant: the agent's file tools never leave the folder, commands see none of the runner's variables, and nothing that a command
started runs on after `close`. What a command may otherwise reach is a matter of the trial's sandbox, in which all of them run.
"""

from __future__ import annotations

import errno
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Gt

from evalkit.core.errors import MalformedArgs, ToolFailed
from evalkit.core.message import JSON, ToolCall, ToolSpec
from evalkit.core.protocols import Ground
from evalkit.parts._bounds import Bounds
from evalkit.parts._duration import Duration
from evalkit.parts._match import PatternError, search
from evalkit.parts._process import Bound, Finished, Limits, surroundings
from evalkit.parts._sandbox import Cell, open_cell
from evalkit.parts._template import lay
from evalkit.parts._tree import copy, digests
from evalkit.parts.environments._file_tools import (
    edit_file,
    list_files,
    matches_text,
    read_file,
    search_text,
    texts,
    write_file,
)
from evalkit.parts.environments._workspace_specs import (
    EDIT_FILE,
    LIST_FILES,
    READ_FILE,
    SEARCH,
    WRITE_FILE,
    run_command,
)

ToolName = Literal["read_file", "write_file", "edit_file", "list_files", "search", "run_command"]
ALL: tuple[ToolName, ...] = ("read_file", "write_file", "edit_file", "list_files", "search", "run_command")
MOST_TEXT = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """An environment of files.

    `folder` is copied for each trial, `files` are laid over it. `tools` are those that are offered. `commands` says what
    `run_command` may run: anything (true), nothing (false), or the programs listed, then without a shell. `timeout` ends a
    command. All that runs at once may hold `memory_mb` (so much is the address space of each process, too), be so many `processes` and threads,
    and leave `disk_mb` in the workspace and the temporary folder: past one of these everything is ended, and the model is told.
    """

    FILES: ClassVar[tuple[str, ...]] = ("folder",)
    OPEN_TO_PROGRAMS: ClassVar[bool] = True

    folder: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    tools: tuple[ToolName, ...] = ALL
    commands: bool | tuple[str, ...] = True
    timeout: Annotated[Duration, Gt(0)] = 60.0
    memory_mb: Annotated[int, Gt(0)] = 4000
    processes: Annotated[int, Gt(0)] = 1000
    disk_mb: Annotated[int, Gt(0)] = 2000

    def __post_init__(self) -> None:
        """Refuse options that do not fit together."""
        if not self.commands and "run_command" in self.tools and self.tools != ALL:
            raise ValueError("tools lists run_command, but commands allows none: take it out, or write commands: true")
        if isinstance(self.commands, tuple) and any("/" in one or not one for one in self.commands):
            raise ValueError("commands lists programs by name, without a path: such as [python, make]")

    @property
    def bounds(self) -> Bounds:
        """What all that runs at once may use."""
        return Bounds(processes=self.processes, memory=self.memory_mb * 1_000_000, disk=self.disk_mb * 1_000_000)

    @property
    def starts_processes(self) -> bool:
        """True where the agent may run commands."""
        return bool(self.commands) and "run_command" in self.tools

    def announce(self) -> Mapping[str, JSON]:
        """The schema of each tool's arguments by the tool's name."""
        return {spec.name: spec.input_schema for spec in self.offered()}

    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that the suite offers, in its order."""
        programs = self.commands if isinstance(self.commands, tuple) else ()
        every = {"read_file": READ_FILE, "write_file": WRITE_FILE, "edit_file": EDIT_FILE}
        every |= {"list_files": LIST_FILES, "search": SEARCH}
        if self.commands:
            every["run_command"] = run_command(self.timeout, programs)
        return tuple(every[name] for name in dict.fromkeys(self.tools) if name in every)

    def open(self, ground: Ground) -> WorkspaceWorld:
        """Lay the files out anew."""
        home = ground.folder().resolve()
        lay(ground.base, self.folder, self.files, home)
        return WorkspaceWorld(self, home, ground)


@dataclass(slots=True)
class WorkspaceWorld:
    """The workspace of one trial; `scratch` is its temporary folder, `cell` where its commands run: both made for the first."""

    part: Workspace
    home: Path
    ground: Ground
    scratch: Path | None = None
    cell: Cell | None = None
    known: dict[tuple[int, ...], str] = field(default_factory=dict)

    def tools(self) -> tuple[ToolSpec, ...]:
        """Those that the suite offers, in its order."""
        return self.part.offered()

    def call(self, call: ToolCall) -> str:
        """Run one of the tools."""
        known: dict[str, Callable[..., str]] = {
            "read_file": read_file,
            "write_file": write_file,
            "edit_file": edit_file,
            "list_files": list_files,
        }
        if call.name == "search":
            return self._search(**call.input)
        if call.name == "run_command":
            return self._run_command(**call.input)
        if call.name not in known:
            raise MalformedArgs(f"there is no tool named {call.name!r}")
        return known[call.name](self.home, **call.input)

    def state(self) -> JSON:
        """All files by their digests; empty where the agent removed the folder itself."""
        try:
            return digests(self.home, self.known)
        except ToolFailed:
            return {}

    def close(self) -> None:
        """End all that still runs; raises `LeftRunning` where that cannot be done."""
        if self.cell is not None:
            self.cell.close()

    def export(self, into: Path) -> None:
        """Copy the files; nothing is copied where the agent removed the folder itself."""
        try:
            copy(self.home, into)
        except ToolFailed:
            return

    def _search(self, pattern: str, path: str = ".", *, regex: bool = False) -> str:
        """Find lines; a regular expression runs in a process, because it may take for ever."""
        if not regex:
            return search_text(self.home, pattern, path)
        _plain(pattern, "pattern")
        try:
            return matches_text(search(pattern, list(texts(self.home, path)), by_line=True))
        except PatternError as error:
            raise MalformedArgs(f"pattern: {error}") from None

    def _run_command(self, command: str) -> str:
        """Run a command; a status other than 0 is a result like any other."""
        done = self._run(
            self._words(command), Limits(seconds=self.part.timeout, memory=self.part.memory_mb * 1_000_000)
        )
        output = _shortened(done.text)
        if done.ended == "time":
            raise ToolFailed(
                f"the command was ended after {self.part.timeout:g} seconds; let it do less, or run it in the background"
                f" with its output in a file. Output so far:\n{output}"
            )
        if done.ended == "output":
            raise ToolFailed(
                f"the command was ended because it wrote more than {len(done.output):,} bytes; let it write to a file, or"
                f" less. Output so far:\n{output}"
            )
        if done.ended != "itself":
            raise ToolFailed(f"{self._crossed(done.ended)}. Output so far:\n{output}")
        status = f"exit status {done.code}" if done.code >= 0 else f"ended by signal {-done.code}"
        return f"{status}\n{output}" if output else f"{status}, no output"

    def _crossed(self, bound: Bound) -> str:
        """Say which bound was crossed, and what to do."""
        return {
            "processes": f"the command was ended, with all that ran beside it, because there were more than {self.part.processes:,} processes and threads; let it start fewer",
            "memory": f"the command was ended, with all that ran beside it, because together they held more than {self.part.memory_mb:,} MB of memory; let it hold less at once",
            "disk": f"the command was ended, with all that ran beside it, because the workspace and its temporary folder held more than {self.part.disk_mb:,} MB; remove what is not needed",
        }[bound]

    def _words(self, command: str) -> tuple[str, ...]:
        """The program to run for a command."""
        _plain(command, "command")
        if not isinstance(self.part.commands, tuple):
            return ("/bin/sh", "-c", command)
        allowed = ", ".join(self.part.commands)
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            raise MalformedArgs(f"command: cannot be taken apart ({error}); close all quotes") from None
        if not words or words[0] not in self.part.commands:
            raise MalformedArgs(
                f"command: has to begin with one of {allowed}, got {words[0] if words else 'nothing'!r}"
            )
        return words

    def _run(self, words: tuple[str, ...], limits: Limits) -> Finished:
        """Run a program in the workspace."""
        try:
            self.scratch = self.scratch or self.ground.folder().resolve()
            self.cell = self.cell or open_cell(
                self.ground.sandbox,
                folders=(self.home,),
                temporary=self.scratch,
                linger=True,
                bounds=self.part.bounds,
            )
            variables = surroundings(self.home, self.scratch, {"PYTHONDONTWRITEBYTECODE": "1"})
            return self.cell.run(words, folder=self.home, variables=variables, limits=limits)
        except (FileNotFoundError, NotADirectoryError):
            raise ToolFailed("the workspace's own folder is gone, so nothing can be run in it") from None
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise MalformedArgs("command: is too long; write a script with write_file and run that") from None
            raise


def _plain(text: str, name: str) -> None:
    """Refuse text that no program can be given."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MalformedArgs(f"{name}: holds half a character, which cannot be written as UTF-8") from None
    if "\0" in text:
        raise MalformedArgs(f"{name}: holds a NUL character, which no program can be given")


def _shortened(text: str) -> str:
    """Keep the beginning and the end of a long output, and say what is missing and how to see it."""
    text = text.rstrip("\n")
    if len(text) <= MOST_TEXT:
        return text
    half = MOST_TEXT // 2
    missing = len(text) - 2 * half
    mark = f"\n[{missing} characters left out; send the output to a file and read that to see them]\n"
    return text[:half] + mark + text[-half:]
