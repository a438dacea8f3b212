"""The user's own agent as a Python function, in a process of its own for each trial.

A process, and no thread: a thread that hangs cannot be ended, and agents that share one interpreter would share their modules' state and
working folder. Invariant: whatever the function does (raise, hang, exit, return something else), the trial ends as the
agent's failure with a reason; the session's steps run here, in the runner, under the trial's caps.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Gt

from evalkit.core.message import ToolCall, Usage
from evalkit.core.plan import Variant
from evalkit.core.protocols import Session
from evalkit.core.record import Reported
from evalkit.parts.loops._imports import doubted, unnamed
from evalkit.parts.loops._program import asked, missing, program
from evalkit.parts.loops._wire import LONGEST, message_in, message_out, reply_out, send

HOST = Path(__file__).with_name("_host.py")
PATIENCE = 10.0
"""Seconds in which an agent has to take what it asked for."""

TAIL = 20_000
"""Characters of what the agent printed, and of a traceback, that the trace keeps: the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """Your own agent as a function `agent(task, session)`, plain or async, that returns its answer (a text, or None for the last reply's).

    `agent` is `file.py:name` beside the config, or `module:name`; the file's bytes, and those of `files`, count in the variant's identity.
    `task` has `prompt`, `id`, `suite`, `checklist` and `folder`, where it works; `session` has `ask`, `act`, `consult`, `note`, `give_up`, `tools`, `tally`
    and `transcript`. What goes through the session is capped, counted and traced; what the agent asks elsewhere is not seen. An
    exception is a failure of the agent. `env`, `variables` and `memory_mb` as for `command`. `caps: {seconds: …}` is needed: it ends the process.
    """

    MODEL: ClassVar[str] = "may_ask"
    WANTS_SECONDS: ClassVar[bool] = True
    runs_outside: ClassVar[bool] = True
    FILES: ClassVar[tuple[str, ...]] = ("files",)
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("agent",)

    agent: str
    env: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    memory_mb: Annotated[int, Gt(0)] | None = None

    def ready(self, variant: Variant) -> str | None:  # the seam gives it
        """What keeps the agent from being run at all."""
        return missing(self.env, None)

    def doubts(self, variant: Variant) -> Iterator[str]:
        """Say which caps cannot be held where the agent has no model of ours to ask, and which of its files count in no identity."""
        place = self.agent.rpartition(":")[0]
        if place.endswith(".py"):
            yield from doubted(unnamed([Path(variant.base, place)], self.files, variant.base))
        if variant.provider == Variant(name="").provider:
            for meter in ("turns", "tokens", "usd"):
                if getattr(variant.caps, meter) is not None:
                    yield f"caps.{meter} cannot be held: the variant names no provider, so the agent asks a model out of our sight"

    def play(self, session: Session) -> None:
        """Run the function once."""
        ours, theirs = socket.socketpair()
        with ours, program(session, names=self.env, values=self.variables, memory_mb=self.memory_mb) as made:
            calls = session.tally.calls
            talk = _Talk(session=session, end=ours)
            try:
                with theirs:
                    send(ours, self._start(session, made.folder))
                    words = (sys.executable, "-P", str(HOST))
                    ours.settimeout(0)
                    done = made.play(words, talk.hear, stdin=theirs.fileno(), wake=ours.fileno())
                talk.take()
            finally:
                talk.tell_output()
                if session.tally.calls == calls:
                    session.settle(turns=0, usage=Usage(), usd=None, uncounted=("turns", "tokens", "tool_calls"))
            talk.end_trial(done.code)
        session.hold()

    def _start(self, session: Session, folder: Path) -> dict[str, Any]:
        """The first line: the task's public facts, and where the function is."""
        task = session.task
        return {
            "agent": self.agent,
            "folder": session.variant.base,
            "path": [entry for entry in sys.path if entry],
            "tools": [asdict(tool) for tool in session.tools],
            "task": {
                "suite": task.suite,
                "id": task.id,
                "prompt": asked(session),
                "folder": str(folder),
                "checklist": [asdict(item) for item in task.checklist],
            },
        }


@dataclass(slots=True, kw_only=True)
class _Talk:
    """The runner's end of one run of an agent; `last` is what it sent at its end."""

    session: Session
    end: socket.socket
    printed: str = ""
    rest: bytearray = field(default_factory=bytearray)
    last: dict[str, Any] | None = None

    def hear(self, output: bytearray) -> None:
        """Keep the end of what was printed, and do the steps that were asked for."""
        if output:
            self.printed = (self.printed + output.decode("utf-8", "replace"))[-TAIL:]
            output.clear()
        self.take()

    def take(self) -> None:
        """Read what the agent sent; a stop passes through, and ends its process."""
        try:
            while piece := self.end.recv(65_536):
                self.rest += piece
                if len(self.rest) > LONGEST:
                    self.session.stop("agent_error", f"the agent sent a step of more than {LONGEST:,} bytes")
                if b"\n" in piece:
                    self._lines()
        except (BlockingIOError, ConnectionError):
            return

    def _lines(self) -> None:
        """Do the steps that are whole."""
        *whole, last = self.rest.split(b"\n")
        self.rest = bytearray(last)
        for line in whole:
            try:
                given = json.loads(line)
            except (ValueError, RecursionError):
                given = None
            if not isinstance(given, dict):
                self.session.stop("agent_error", "the agent wrote into its own connection")
            if "step" not in given:
                self.last = given
                continue
            answer = self._answer(given)
            self.end.settimeout(PATIENCE)
            try:
                send(self.end, answer)
            except TimeoutError:
                self.session.stop("agent_error", "the agent does not read what it asked for")
            self.end.settimeout(0)

    def _answer(self, given: dict[str, Any]) -> dict[str, Any]:
        """Do a step; one that was asked for wrongly is told to the agent, as an exception there."""
        try:
            return {"value": self._step(given)}
        except (TypeError, KeyError, ValueError) as error:
            return {"wrong": f"session.{given.get('step')}: {error}"}

    def _step(self, given: dict[str, Any]) -> Any:
        """Do a step through the session."""
        session, name = self.session, given["step"]
        if name == "ask":
            return reply_out(session.ask(tools=bool(given["tools"]), purpose=str(given["purpose"])))
        if name == "act":
            calls = [
                ToolCall(id=str(one["id"]), name=str(one["name"]), input=dict(one["input"])) for one in given["calls"]
            ]
            return [asdict(result) for result in session.act(calls)]
        if name == "consult":
            messages = tuple(message_in(one) for one in given["messages"])
            return reply_out(session.consult(messages, purpose="aside", max_tokens=int(given["max_tokens"])))
        if name == "note":
            return session.note(str(given["text"]), "agent")
        if name == "give_up":
            session.stop("gave_up", str(given["why"]))
        if name == "transcript":
            return [message_out(one) for one in session.transcript]
        if name == "tally":
            return asdict(session.tally)
        raise ValueError("there is no such step")

    def end_of(self) -> dict[str, Any]:
        """What the agent sent at its end; empty where it sent nothing."""
        return self.last or {}

    def tell_output(self) -> None:
        """Put what the agent printed and its traceback into the trace."""
        failed = str(self.end_of().get("failed", ""))[-TAIL:]
        for origin, text in (("stdout", self.printed.strip()), ("traceback", failed.strip())):
            if text:
                turn, now = self.session.tally.turns, self.session.now()
                self.session.record(Reported(turn=turn, origin=origin, text=text, at=now))  # type: ignore[arg-type]  # one of the origins

    def end_trial(self, code: int) -> None:
        """Give the answer, or say how the agent failed."""
        last = self.end_of()
        if "failed" in last:
            lines = [line for line in str(last["failed"]).splitlines() if line.strip()]
            self.session.stop("agent_error", f"the agent raised {lines[-1] if lines else 'something'}")
        if "odd" in last:
            self.session.stop(
                "agent_error", f"the agent returned {last['odd']}: return a text, or None for the last reply's"
            )
        if "returned" not in last:
            how = f"exit status {code}" if code >= 0 else f"signal {-code}"
            self.session.stop("agent_error", f"the agent's process ended with {how} before its function returned")
        if isinstance(last["returned"], str):
            self.session.conclude(last["returned"])
