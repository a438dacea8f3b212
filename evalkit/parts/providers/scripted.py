"""A model whose replies are written down beforehand: the public fake for tests, and a way to try a loop by hand.

Invariant: the n-th call of a trial gets the n-th reply of the script. A script that has run out is a permanent
provider error, so a loop that asks too often is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import Message, Nature, Price, Reply, Request, StopReason, Text, ToolCall, Usage
from evalkit.core.plan import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One reply of a script: text, tool calls as pairs of name and arguments, or a fault instead of both.

    `stop` is derived from the calls where it is not given. `fault` raises: `transient` and `permanent` a provider
    error, `fatal` one that ends the run, `overflow` a context overflow.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    stop: StopReason | None = None
    fault: str | None = None
    retry_after: float | None = None
    usage: Usage = Usage(input=100, output=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """A provider that says what its script says."""

    script: tuple[Line, ...]
    usd_price: Price | None = None
    context_window: int | None = None
    nature: ClassVar[Nature] = "simulated"

    def ready(self) -> str | None:
        """Always."""
        return None

    def price(self) -> Price | None:
        """The price given, if one was."""
        return self.usd_price

    def window(self) -> int | None:
        """The context window given, if one was."""
        return self.context_window

    def open(self, trial: Trial) -> ScriptedProvider:
        """Start the script anew."""
        return ScriptedProvider(self)


@dataclass(slots=True)
class ScriptedProvider:
    """One trial's reading of a script; `requests` keeps what was asked, for tests."""

    part: Scripted
    requests: list[Request] = field(default_factory=list)

    def complete(self, request: Request) -> Reply:
        """Give the next reply, or raise the next fault."""
        self.requests.append(request)
        position = len(self.requests)
        if position > len(self.part.script):
            raise ProviderError(f"the script has {len(self.part.script)} replies, call {position} asked for one more")
        line = self.part.script[position - 1]
        if line.fault == "overflow":
            raise ContextOverflow("the script says that the prompt is too long")
        if line.fault is not None:
            raise ProviderError(
                f"scripted {line.fault} fault",
                transient=line.fault == "transient",
                fatal=line.fault == "fatal",
                retry_after=line.retry_after,
            )
        calls = tuple(
            ToolCall(id=f"call_{position}_{number}", name=name, input=arguments)
            for number, (name, arguments) in enumerate(line.calls, 1)
        )
        text = (Text(text=line.text),) if line.text else ()
        price = self.part.usd_price
        return Reply(
            message=Message(role="assistant", content=(*text, *calls)),
            stop_reason=line.stop or ("tool_use" if calls else "end_turn"),
            usage=line.usage,
            usd=None if price is None else price.of(line.usage),
            model="scripted",
        )
