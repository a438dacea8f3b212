"""The user's own agent as a program: it gets the prompt and the task's folder, and what it writes becomes the trial's trace.

Invariant: what the program does not tell is not known (turns, tokens, cost), never 0; and however it behaves, the trial ends as the
agent's failure with a reason, not as an error of ours.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Gt, MinLen

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Spec, Variant
from evalkit.core.protocols import Session, Stream
from evalkit.core.sandbox import Needs
from evalkit.parts import build, kinds, part
from evalkit.parts._bubblewrap import KERNEL
from evalkit.parts._process import Finished
from evalkit.parts.loops._imports import doubted, imported, unnamed
from evalkit.parts.loops._needs import BESIDE, is_there, needed, outermost, readable, real, words_of
from evalkit.parts.loops._program import Program, asked, missing, program

PROMPT, PROMPT_FILE, HERE = "{prompt}", "{prompt_file}", "{here}"
SCRIPTS = (".py", ".sh", ".js", ".mjs", ".ts")
MOST_OUTPUT = 64_000_000
"""Bytes that a program may write on its standard output in one trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Your own agent as a program, in the folder of a `workspace` (or an empty one, for tasks without an environment).

    `run` is a list of words or a line for the shell. In a list `{prompt}` stands for the prompt and `{prompt_file}` for a file that holds it;
    where neither stands, the prompt comes on the standard input. In a line it comes there and as the file `$EVALKIT_PROMPT_FILE`. `{here}` is the
    config's folder, and a file named `{here}/NAME` counts in the variant's identity, as those under `files` do. `events` is the shape of its
    output: `text` (the output is the answer) or `stream-json` (as `claude -p --output-format stream-json --verbose` writes). `env` names the
    variables that are passed on and whose values never reach a record; `variables` are given as they are. The program gets no others
    but `PATH`, a language, and a fresh `HOME` and `TMPDIR`. `caps: {seconds: …}` is needed: it ends the whole tree of processes.

    In a sandbox it sees the programs and files that `run` and `files` name, what `readable` names, and its workspace, which alone it can write to beside its
    own home and /tmp. `memory_mb` bounds all that runs at once; the workspace's `processes` and `disk_mb` hold for it too. What `readable` names under `~` is found in the fresh home too, with or without a sandbox. `network` false takes the network away.
    """

    MODEL: ClassVar[str] = "own"
    TOOLS: ClassVar[bool] = False
    WANTS_SECONDS: ClassVar[bool] = True
    FILES: ClassVar[tuple[str, ...]] = ("files",)
    PROGRAMS: ClassVar[tuple[str, ...]] = ("run",)

    run: str | Annotated[tuple[str, ...], MinLen(1)]
    events: str = "text"
    env: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    network: bool = True
    memory_mb: Annotated[int, Gt(0)] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run or read."""
        if isinstance(self.run, str) and (PROMPT in self.run or PROMPT_FILE in self.run):
            raise ValueError(
                "run is a line for the shell, which gets the prompt on its standard input and as the file"
                " $EVALKIT_PROMPT_FILE; for {prompt} write a list of words"
            )
        if not (self.run.strip() if isinstance(self.run, str) else self.run[0]):
            raise ValueError("run names no program")
        if any("\0" in one for one in self.readable):
            raise ValueError("readable holds a NUL")
        if self._kind not in kinds("streams"):
            known = ", ".join(kind.replace("_", "-") for kind in kinds("streams"))
            raise ValueError(f"there are no events of the shape {self.events!r}; there are: {known}")

    @property
    def _kind(self) -> str:
        """The part that reads the output."""
        return self.events.replace("-", "_")

    def _beside(self, base: str) -> list[Path]:
        """The files that `run` names from the config's folder."""
        words = (self.run,) if isinstance(self.run, str) else self.run
        return [readable(name, base) for word in words for name in BESIDE.findall(word)]

    def unnamed(self, base: str) -> list[str]:
        """The modules that the program imports from beside it and that `files` does not name."""
        return unnamed(self._beside(base), self.files, base)

    def needs(self, variant: Variant) -> Needs:
        """What the program has to find in a sandbox."""
        base = variant.base
        words = words_of(self.run) if isinstance(self.run, str) else self.run
        own = [one for one in self._beside(base) if is_there(one)]
        modules = [one for program in own for one in imported(program)]
        named = [readable(one, base) for one in (*self.files, *self.readable)]
        seen = outermost((*needed(words, base), *own, *modules, *named))
        return Needs(read=tuple(map(str, seen)), network=self.network)

    def ready(self, variant: Variant) -> str | None:
        """What keeps the program from being run at all."""
        for one in self.readable:
            path = readable(one, variant.base)
            if any(real(path).is_relative_to(place) for place in KERNEL):
                return f"readable names {one}, which would show the machine and its other processes: take it out"
            if not is_there(path):
                return f"readable names {one}, which is not there or cannot be read: paths start from the config's folder, or with ~/"
        first = None if isinstance(self.run, str) else self.run[0].replace(HERE, variant.base)
        return missing(self.env, first if first and (first.startswith("/") or "/" not in first) else None)

    def doubts(self, variant: Variant) -> Iterator[str]:
        """Say which caps cannot be held as they are meant, and which file would not be found."""
        for word in () if isinstance(self.run, str) else self.run:
            if word and not word.startswith("/") and is_there(beside := Path(variant.base, word)) and beside.is_file():
                yield f"run names {word}, which is beside the config and not in the task's folder, where the program starts: write {HERE}/{word}"
            if word.startswith("/") and word.endswith(SCRIPTS) and is_there(word):
                yield f"run names {word} by its whole path, so an edited one passes for the same agent: write {HERE}/{os.path.relpath(word, variant.base)}"
        yield from doubted(self.unnamed(variant.base))
        reader: Any = part("streams", self._kind)
        for meter in ("turns", "tokens", "usd"):
            if getattr(variant.caps, meter) is None or meter in reader.HOLDS:
                continue
            if meter in reader.TELLS:
                yield f"caps.{meter} is asked when the program has ended: {self.events} tells it no earlier"
            else:
                yield f"caps.{meter} cannot be held: the program's output (events: {self.events}) does not tell it"

    def play(self, session: Session) -> None:
        """Run the program once on the task, or on the task and what a check said of the last run."""
        stream: Stream = build("streams", Spec(kind=self._kind)).open(session)
        needs = self.needs(session.variant)
        with program(session, names=self.env, values=self.variables, memory_mb=self.memory_mb, needs=needs) as made:
            self._lay_home(made.home, session.variant.base)
            try:
                done = self._run(made, session, stream)
                stream.end(done.code)
            finally:
                stream.settle()
        session.hold()

    def _lay_home(self, home: Path, base: str) -> None:
        """Let the program find under its own home what `readable` names under that of whoever runs it."""
        theirs = Path.home()
        for path in outermost(readable(one, base) for one in self.readable if one.startswith("~/")):
            if path != theirs and path.is_relative_to(theirs):
                link = home / path.relative_to(theirs)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)

    def _run(self, made: Program, session: Session, stream: Stream) -> Finished:
        """Run the program; its output goes to the stream as it comes."""
        written = 0

        def hear(output: bytearray) -> None:
            """Hand on what came."""
            nonlocal written
            written += len(output)
            stream.hear(bytes(output))
            output.clear()
            if written > MOST_OUTPUT:
                session.stop("agent_error", f"the program wrote more than {MOST_OUTPUT:,} bytes on its standard output")

        prompt = asked(session)
        file = made.home / "prompt.txt"
        file.write_text(prompt, encoding="utf-8", errors="replace")
        made.values = {**made.values, "EVALKIT_PROMPT_FILE": str(file)}
        words = self._words(prompt, {PROMPT_FILE: str(file), HERE: session.variant.base})
        placed = any(mark in word for word in self.run for mark in (PROMPT, PROMPT_FILE))
        with Path(os.devnull if placed else file).open("rb") as source:
            try:
                return made.play(words, hear, stdin=source.fileno(), wake=None)
            except (FileNotFoundError, NotADirectoryError):
                session.stop("agent_error", "the workspace's own folder is gone, so nothing can be run in it")
            except OSError as error:
                raise ConfigurationError.of(
                    f"run {words[0]}",
                    f"cannot be started: {error.strerror}",
                    "give a long prompt on the standard input",
                ) from error

    def _words(self, prompt: str, places: Mapping[str, str]) -> tuple[str, ...]:
        """What is run."""
        if isinstance(self.run, str):
            line = BESIDE.sub(lambda found: shlex.quote(str(readable(found[1], places[HERE]))), self.run)
            return ("/bin/sh", "-c", line.replace(HERE, shlex.quote(places[HERE])))
        words = []
        for written in self.run:
            word = BESIDE.sub(lambda found: str(readable(found[1], places[HERE])), written)
            for name, value in places.items():
                word = word.replace(name, value)
            words.append(word.replace(PROMPT, prompt))
        return tuple(words)
