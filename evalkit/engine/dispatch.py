"""Tool calls: validated, run, retried where the fault is passing, and answered in call order.

Invariant: every call gets exactly one result. Failures are told apart: malformed arguments and unrecoverable
failures go to the model (in their own words, unless the variant hides them), passing faults are retried unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import TypeIs  # the standard library has it from Python 3.13 on

from evalkit.core.clock import Clock
from evalkit.core.errors import EvalkitError, MalformedArgs, ToolError, ToolFailed
from evalkit.core.message import ToolCall, ToolResult
from evalkit.core.plan import ToolOutput
from evalkit.core.protocols import Environment, Session, SessionTool, Tool
from evalkit.core.record import Acted
from evalkit.engine.arguments import complaint
from evalkit.engine.contain import contain, explain
from evalkit.engine.retry import Retrier, Tried
from evalkit.engine.toolbox import Toolbox
from evalkit.engine.truncate import shorten

GENERIC = "tool failed"
PARALLEL = 8


class EnvironmentBroke(EvalkitError):
    """An environment raised something that is no `ToolError`: our world broke, not the agent's call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """Runs the tool calls of one trial; tools that a box does not declare are the environment's."""

    world: Environment
    retrier: Retrier
    clock: Clock
    output: ToolOutput
    base: Path
    generic_errors: bool = False

    def run(
        self, calls: Sequence[ToolCall], turn: int, guard: Callable[[], None], session: Session, box: Toolbox
    ) -> tuple[Acted, ...]:
        """Run the calls of one turn; in parallel where none of them writes. `guard` is asked before each and may end the trial.

        Raises `EnvironmentBroke` where the world itself failed.
        """
        if len(calls) > 1 and all(_harmless(call, box) for call in calls):
            guard()
            with ThreadPoolExecutor(min(PARALLEL, len(calls))) as pool:
                return tuple(pool.map(lambda call: self._one(call, turn, session, box), calls))
        acted = []
        for call in calls:
            guard()
            acted.append(self._one(call, turn, session, box))
        return tuple(acted)

    def _one(self, call: ToolCall, turn: int, session: Session, box: Toolbox) -> Acted:
        """Run one call to its result."""
        at, start = self.clock.time(), self.clock.monotonic()
        tried: Tried[str] = self.retrier.run(lambda: self._use(call, session, box), self.retrier.policy.tool)
        error = tried.error
        if error is not None and not isinstance(error, ToolError):
            raise error
        said = tried.value if error is None else GENERIC if self.generic_errors else str(error)
        shown, cut = shorten(said or "", self.output)
        return Acted(
            turn=turn,
            call=call,
            result=ToolResult(tool_use_id=call.id, content=shown, is_error=error is not None),
            at=at,
            seconds=self.clock.monotonic() - start,
            error=None if error is None else error.kind,
            detail=str(error) if error is not None else cut,
            attempts=tried.attempts if error is None else tried.attempts[:-1],
        )

    def _use(self, call: ToolCall, session: Session, box: Toolbox) -> str:
        """Validate the call and hand it to whoever owns the tool."""
        spec = box.specs.get(call.name)
        if spec is None:
            names = ", ".join(box.specs) or "none"
            raise MalformedArgs(f"there is no tool named {call.name!r}; there are: {names}")
        wrong = complaint(spec, call.input)
        if wrong is not None:
            raise MalformedArgs(wrong)
        arguments = {**call.input, **box.fixed.get(call.name, {})}
        own = ToolCall(id=call.id, name=box.own_names[call.name], input=arguments)
        tool = box.declared.get(own.name)
        value, error = contain(lambda: self._hand_over(own, tool, session))
        if error is None:
            return value or ""
        if isinstance(error, ToolError):
            raise error
        if tool is None:
            raise EnvironmentBroke(f"{own.name}: {explain(error)}") from error
        raise ToolFailed(f"{type(error).__name__}: {error}") from error

    def _hand_over(self, call: ToolCall, tool: Tool | SessionTool | None, session: Session) -> str:
        """Run the call where its tool lives."""
        if tool is None:
            return self.world.call(call)
        if _converses(tool):
            return tool.converse(call.input, session)
        return tool.use(call.input, self.world, self.base)


def _harmless(call: ToolCall, box: Toolbox) -> bool:
    """True where a call neither writes nor talks to the model, so that it may run beside others."""
    spec = box.specs.get(call.name)
    tool = box.declared.get(box.own_names.get(call.name, ""))
    return spec is not None and not spec.writes and not _converses(tool)


def _converses(tool: Tool | SessionTool | None) -> TypeIs[SessionTool]:
    """True for a tool that works through the session; a protocol's own `isinstance` takes forty times as long, at each call."""
    return hasattr(tool, "converse")
