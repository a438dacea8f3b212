"""`evalkit init`: a small suite and its config to start from, that run as they are.

Invariant: nothing that is there is written over, and where one file cannot be written none is left. What is written are the files under
`evalkit/starters/` as they stand, but for the one line that holds the command of a person's own agent.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from evalkit import parts
from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say, tell
from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.plan import Spec, Variant

LAYERS = {None: ("shared", "model", "plain"), "command": ("shared", "command"), "python": ("shared", "model", "python")}
"""The folders of `evalkit/starters/` that make each kind; without an agent of one's own the tasks are tried by loops that evalkit has."""

SHOWN = {None: " --variant react", "command": "", "python": " --variant mine"}
"""How `show` is told which of several variants is meant."""

STANDS_IN = '[python3, "{here}/agent.py", "{prompt}"]'
NO_FILES = "# files: [lib.py]".ljust(50)
HEAD = 512
NO_EVENTS, EVENTS = "# events: stream-json  ", "events: stream-json"
SHELL = {"|", "&", ";", "<", ">", "||", "&&", ">>", "<<"}

MEND = "name another folder: evalkit init FOLDER"

COMMAND = Command("init", "Write a small suite and its config to start from, into a folder that may hold other files.")
COMMAND.argument("folder", nargs="?", help="the folder, made where it is not there [.]")
COMMAND.option(
    "--agent", help="what tries the tasks: a program or a Python function of yours", choices=("command", "python")
)
COMMAND.option("--run", help="the program's command line, such as 'my-agent \"{prompt}\"', in the place of a stand-in")


def run(values: Values) -> int:
    """Write the files and say what comes next; gives 2 where a file is there already or cannot be written."""
    agent, folder = values.agent, Path(values.folder if values.folder is not None else ".")
    if values.run is not None and not values.run.strip():
        raise ConfigurationError.of("--run", "is empty", 'write how your agent is started: my-agent "{prompt}"')
    if values.run is not None and agent == "python":
        raise ConfigurationError.of(
            "--run", "is the command line of a program", "leave it away, or say --agent command"
        )
    agent = "command" if values.run is not None else agent
    texts = {path: found.read_bytes() for path, found in _starters(LAYERS[agent])}
    if values.run is not None:
        del texts[PurePosixPath("agent.py")]
        config = PurePosixPath("config.yaml")
        texts[config] = _put(texts[config].decode(), values.run, folder).encode()
    _write(folder, texts)
    _tell_next(folder, sorted({path.parts[0] + ("/" if path.parts[1:] else "") for path in texts}), agent, values.run)
    return Exit.OK


def _starters(layers: tuple[str, ...]) -> Iterator[tuple[PurePosixPath, Traversable]]:
    """Each file of these layers, by its path in the folder that is written."""
    waiting = [(PurePosixPath(), files("evalkit").joinpath("starters", layer)) for layer in layers]
    while waiting:
        place, found = waiting.pop()
        if found.is_file():
            yield place, found
        elif found.name != "__pycache__":
            waiting += [(place / one.name, one) for one in found.iterdir()]


def _put(config: str, command: str, folder: Path) -> str:
    """Put the command line of a person's own agent into the config; raises `ConfigurationError` for one that cannot be run."""
    try:
        words = shlex.split(command)
        is_line = not SHELL.isdisjoint(shlex.shlex(command, posix=True, punctuation_chars=True)) or "$" in command
    except ValueError as error:
        raise ConfigurationError.of(f"--run {command}", f"cannot be taken apart: {error}", "close all quotes") from None
    written: str | list[str] = command if is_line else [_placed(word, folder) for word in words]
    made = Spec(kind="command", options={"run": written})
    try:
        loop = parts.build("loops", made)
    except ConfigurationError as error:
        raise ConfigurationError(
            *(Problem(where=f"--run {command}", what=one.what) for one in error.problems)
        ) from None
    lacking = loop.ready(Variant(name="mine", base=str(folder.absolute())))
    if lacking:
        tell(f"warning: {lacking}")
    put = config.replace(STANDS_IN, _yaml(written))
    if beside := loop.unnamed(str(folder.absolute())):
        put = put.replace(NO_FILES, f"files: {_yaml(beside)}".ljust(len(NO_FILES)))
    return put.replace(NO_EVENTS, EVENTS.ljust(len(NO_EVENTS))) if "stream-json" in words else put


def _yaml(value: str | list[str]) -> str:
    """Write a text or a list of texts in one line, quoted; what YAML would not take as it is is escaped."""
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)


def _placed(word: str, folder: Path) -> str:
    """A word of a command; one that names a file from here is written so that it is found from a task's folder too."""
    path = Path(word)
    if word.startswith(("/", "-")) or "{" in word or not path.is_file():
        return word
    if path.is_symlink() or _is_binary(path):  # the machine's, and not the agent itself
        return str(path.absolute())
    return f"{{here}}/{os.path.relpath(path, folder)}"


def _is_binary(path: Path) -> bool:
    """True for a file that is no text, or that nobody may read."""
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(HEAD)
    except OSError:
        return True


def _write(folder: Path, texts: Mapping[PurePosixPath, bytes]) -> None:
    """Write all files or none; raises `ConfigurationError` with every one that is there already."""
    top = {path.parts[0] for path in texts}
    there = sorted(name for name in top if os.path.lexists(folder / name))
    if there:
        what = f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already"
        raise ConfigurationError.of(str(folder), what, MEND)
    made: list[Path] = []
    try:
        for path, text in sorted(texts.items()):
            target = folder / path
            for parent in reversed(target.parents):
                if not parent.exists():
                    parent.mkdir()
                    made.append(parent)
            with target.open("xb") as file:
                made.append(target)
                file.write(text)
    except OSError as error:
        for one in reversed(made):
            with suppress(OSError):
                one.rmdir() if one.is_dir() else one.unlink()
        raise ConfigurationError.of(
            str(error.filename or folder), f"cannot be written: {error.strerror}", f"nothing was written; {MEND}"
        ) from error


def _tell_next(folder: Path, names: list[str], agent: str | None, command: str | None) -> None:
    """Say what was written, and the commands that come next."""
    suite, config = (shlex.quote(str(folder / name)) for name in ("suite.yaml", "config.yaml"))
    say(f"wrote {', '.join(names)}" + ("" if folder == Path() else f" into {folder}"))
    own = {
        None: f"then put your own tasks into {suite}, and your model into {config}",
        "command": f"then put your own tasks into {suite}"
        + ("" if command else f", and your agent's command line into {config}: the line `run`"),
        "python": f"then put your own tasks into {suite}, and your agent into {shlex.quote(str(folder / 'agent.py'))}",
    }
    steps = (
        (f"evalkit run {suite}", "three tasks, eight trials each"),
        ("evalkit show latest", "the numbers again, and each task"),
        (f"evalkit show latest find-port 1{SHOWN[agent]}", "what happened in one trial"),
        (f"evalkit validate {suite}", "after an edit: what is wrong, with its line"),
    )
    widest = max(len(step) for step, _ in steps)
    say("\n".join(("next:", *(f"  {step.ljust(widest)}  # {why}" for step, why in steps), own[agent])))
