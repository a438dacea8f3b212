"""Tool calls: validated, run, retried where the fault is passing, and answered in call order.

Invariant: every call gets exactly one result. Failures are told apart: malformed arguments and unrecoverable
failures go to the model (in their own words, unless the variant hides them), passing faults are retried unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.clock import Clock
from evalkit.core.errors import EvalkitError, MalformedArgs, ToolError, ToolFailed
from evalkit.core.message import ToolCall, ToolResult, ToolSpec
from evalkit.core.protocols import Environment, Tool
from evalkit.core.record import Acted
from evalkit.engine.arguments import complaint
from evalkit.engine.contain import contain, explain
from evalkit.engine.retry import Retrier, Tried

GENERIC = "tool failed"
PARALLEL = 8


class EnvironmentBroke(EvalkitError):
    """An environment raised something that is no `ToolError`: our world broke, not the agent's call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """Runs the tool calls of one trial; `declared` are the suite's own tools by name, all others are the environment's."""

    world: Environment
    specs: Mapping[str, ToolSpec]
    declared: Mapping[str, Tool]
    retrier: Retrier
    clock: Clock
    base: Path
    generic_errors: bool = False

    def run(self, calls: Sequence[ToolCall], turn: int, guard: Callable[[], None]) -> tuple[Acted, ...]:
        """Run the calls of one turn; in parallel where none of them writes. `guard` is asked before each and may end the trial.

        Raises `EnvironmentBroke` where the world itself failed.
        """
        if len(calls) > 1 and all(call.name in self.specs and not self.specs[call.name].writes for call in calls):
            guard()
            with ThreadPoolExecutor(min(PARALLEL, len(calls))) as pool:
                return tuple(pool.map(lambda call: self._one(call, turn), calls))
        acted = []
        for call in calls:
            guard()
            acted.append(self._one(call, turn))
        return tuple(acted)

    def _one(self, call: ToolCall, turn: int) -> Acted:
        """Run one call to its result."""
        at, start = self.clock.time(), self.clock.monotonic()
        tried: Tried[str] = self.retrier.run(lambda: self._use(call), self.retrier.policy.tool)
        error = tried.error
        if error is not None and not isinstance(error, ToolError):
            raise error
        shown = tried.value if error is None else GENERIC if self.generic_errors else str(error)
        return Acted(
            turn=turn,
            call=call,
            result=ToolResult(tool_use_id=call.id, content=shown or "", is_error=error is not None),
            at=at,
            seconds=self.clock.monotonic() - start,
            error=None if error is None else error.kind,
            detail="" if error is None else str(error),
            attempts=tried.attempts if error is None else tried.attempts[:-1],
        )

    def _use(self, call: ToolCall) -> str:
        """Validate the call and hand it to whoever owns the tool."""
        spec = self.specs.get(call.name)
        if spec is None:
            raise MalformedArgs(f"there is no tool named {call.name!r}; there are: {', '.join(self.specs) or 'none'}")
        wrong = complaint(spec, call.input)
        if wrong is not None:
            raise MalformedArgs(wrong)
        tool = self.declared.get(call.name)
        value, error = contain(
            lambda: self.world.call(call) if tool is None else tool.use(call.input, self.world, self.base)
        )
        if error is None:
            return value or ""
        if isinstance(error, ToolError):
            raise error
        if tool is None:
            raise EnvironmentBroke(f"{call.name}: {explain(error)}") from error
        raise ToolFailed(f"{type(error).__name__}: {error}") from error


def toolbox(
    world: Environment, declared: Sequence[tuple[ToolSpec, Tool]]
) -> tuple[dict[str, ToolSpec], dict[str, Tool]]:
    """Put the environment's tools and the suite's together by name; two tools of one name are refused."""
    specs = {spec.name: spec for spec in world.tools()}
    for spec, _ in declared:
        if spec.name in specs:
            raise EvalkitError(f"two tools are named {spec.name!r}: rename one in the suite")
        specs[spec.name] = spec
    return specs, {spec.name: tool for spec, tool in declared}
