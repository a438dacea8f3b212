"""The session as a `python` agent has it, in its own process: each step goes to the runner and comes back.

Invariant: nothing is counted or decided here. A trial that is over ends the process inside of the step, so there is no stop to swallow.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import IO, Any, NoReturn

from evalkit.core.message import JSON, Message, Reply, ToolCall, ToolResult, ToolSpec, user
from evalkit.core.record import Tally
from evalkit.parts.loops._wire import block_in, message_in, message_out, reply_in, send


class AgentSession:
    """An agent's way to the variant's model and the task's tools: guarded by the caps, counted, and in the trace."""

    def __init__(
        self, end: socket.socket, lines: IO[bytes], tools: Sequence[Mapping[str, JSON]], gone: Callable[[], NoReturn]
    ) -> None:
        """Take the socket to the runner and the tools that there are."""
        self._end, self._lines, self._gone = end, lines, gone
        self._lock = Lock()
        self.tools: tuple[ToolSpec, ...] = tuple(ToolSpec(**one) for one in tools)

    @property
    def transcript(self) -> tuple[Message, ...]:
        """The conversation with the variant's model so far; the first message is the task's prompt."""
        return tuple(message_in(one) for one in self._step("transcript"))

    @property
    def tally(self) -> Tally:
        """Everything counted so far."""
        found = self._step("tally")
        return Tally(**{**found, "uncounted": tuple(found["uncounted"])})

    def ask(self, *, tools: bool = True, purpose: str = "act") -> Reply:
        """Let the model take its turn on the transcript; `tools` False offers none. The reply joins the transcript."""
        return reply_in(self._step("ask", tools=tools, purpose=purpose))

    def act(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Run tool calls; the results join the transcript in call order."""
        plain = [{"id": one.id, "name": one.name, "input": dict(one.input)} for one in calls]
        return tuple(found for one in self._step("act", calls=plain) if isinstance(found := block_in(one), ToolResult))

    def note(self, text: str) -> None:
        """Put a user message into the conversation."""
        self._step("note", text=text)

    def consult(self, messages: str | Sequence[Message], *, max_tokens: int = 1024) -> Reply:
        """Ask the model aside: counted in every cap but `turns`, and no part of the transcript."""
        given = (user(messages),) if isinstance(messages, str) else messages
        return reply_in(self._step("consult", messages=[message_out(one) for one in given], max_tokens=max_tokens))

    def give_up(self, why: str = "") -> NoReturn:
        """End the trial: the agent says that it cannot do the task."""
        self._step("give_up", why=why)
        self._gone()

    def _step(self, name: str, **given: Any) -> Any:
        """Send a step and wait for what comes of it; raises `RuntimeError` where it was asked for wrongly."""
        with self._lock:
            try:
                send(self._end, {"step": name, **given})
                line = self._lines.readline()
            except OSError:
                self._gone()
        if not line:
            self._gone()
        answer = json.loads(line)
        if "wrong" in answer:
            raise RuntimeError(answer["wrong"])
        return answer["value"]
