"""The process of a `python` agent: finds its function, gives it the task and a session, and sends back what came of it.

Run as a program by the loop `python`. The standard input is a socket to the runner: the first line from there is the task, then each
step of the session is a line there and a line back. Invariant: an exception of the agent's own ends the process with its
traceback sent, and nothing of the runner but the task is here.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn


def main() -> None:
    """Play the agent once."""
    end = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    lines = end.makefile("rb")
    start = json.loads(lines.readline())
    sys.path[:] = [start["folder"], *start["path"]]
    from evalkit.parts.loops._wire import send  # noqa: PLC0415  # found only now

    def failed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Send the traceback of whatever ends the process."""
        send(end, {"failed": "".join(traceback.format_exception(kind, error, trace))})

    sys.excepthook = failed
    task = AgentTask(**start["task"])
    value = _function(start["agent"], Path(start["folder"]))(task, _session(end, lines, start["tools"]))
    if inspect.iscoroutine(value):
        value = asyncio.run(value)
    kind = type(value).__name__
    sys.stdout.flush()
    send(end, {"returned": value} if value is None or isinstance(value, str) else {"odd": kind})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask:
    """What an agent is told of its task: nothing of what decides it."""

    suite: str
    id: str
    prompt: str
    folder: str
    checklist: Sequence[Any] = ()


def _function(written: str, folder: Path) -> Callable[[Any, Any], Any]:
    """Find the agent's function: `file.py:name` beside the config, or `module:name`."""
    place, _, name = written.rpartition(":")
    if place.endswith(".py") or "/" in place:
        path = folder / place
        sys.path.insert(0, str(path.parent))
        name_of = path.stem if path.stem not in sys.modules else f"agent_{path.stem}"
        spec = importlib.util.spec_from_file_location(name_of, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded as Python")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name_of] = module
        sys.dont_write_bytecode = True
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    found: Any = module
    for word in name.split("."):
        found = getattr(found, word)
    function: Callable[[Any, Any], Any] = found
    return function


def _session(end: socket.socket, lines: IO[bytes], tools: Sequence[Any]) -> Any:
    """Make the agent's end of the session."""
    from evalkit.parts.loops._agent_session import AgentSession  # noqa: PLC0415  # found only now

    def gone() -> NoReturn:
        """End at once: the trial is over, and what an agent catches or cleans up changes nothing any more."""
        os._exit(0)

    return AgentSession(end, lines, tools, gone)


if __name__ == "__main__":
    main()
