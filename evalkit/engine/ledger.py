"""What a conversation has used: the one place that adds to a tally.

Invariant: what a delegated conversation uses is added to its parent's ledger in the same step, but for turns: those are
each conversation's own. So a cap on tokens, seconds or dollars can't be evaded by delegating.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.core.clock import Clock
from evalkit.core.message import Reply, Usage
from evalkit.core.record import Acted, Counter, Tally


class Ledger:
    """The counts of one conversation, with the time since it began."""

    def __init__(self, clock: Clock, parent: Ledger | None = None) -> None:
        """Begin at nothing, now."""
        self._clock = clock
        self._parent = parent
        self._start = clock.monotonic()
        self.turns = self.calls = self.tool_calls = self.tool_errors = self.retries = 0
        self._input = self._output = self._read = self._write_5m = self._write_1h = 0
        self._usd: float | None = 0.0
        self._unsettled = False
        self._uncounted: dict[Counter, None] = {}
        self.waited = 0.0

    @property
    def root(self) -> Ledger:
        """The ledger of the trial itself."""
        return self._parent.root if self._parent else self

    @property
    def tally(self) -> Tally:
        """Everything counted so far, with the working time up to this moment."""
        return Tally(
            turns=self.turns,
            calls=self.calls,
            input_tokens=self._input,
            output_tokens=self._output,
            cache_read_tokens=self._read,
            cache_write_5m_tokens=self._write_5m,
            cache_write_1h_tokens=self._write_1h,
            usd=None if self._unsettled else self._usd,
            tool_calls=self.tool_calls,
            tool_errors=self.tool_errors,
            retries=self.retries,
            seconds=max(0.0, self._clock.monotonic() - self._start - self.waited),
            waited=self.waited,
            uncounted=tuple(self._uncounted),
        )

    def add_reply(self, reply: Reply, *, retries: int, waited: float, is_turn: bool) -> None:
        """Count a model call that was answered; one unknown price makes the sum unknown."""
        self._count(reply.usage, turns=int(is_turn), calls=1)
        self._usd = None if self._usd is None or reply.usd is None else self._usd + reply.usd
        self.retries += retries
        self.waited += waited
        if self._parent:
            self._parent.add_reply(reply, retries=retries, waited=waited, is_turn=False)

    def add_overheard(self, reply: Reply, *, is_turn: bool) -> None:
        """Count a reply that an agent got from a model of its own; what it cost is unknown until `settle` says so."""
        self._count(reply.usage, turns=int(is_turn), calls=1)
        self._unsettled = True
        if self._parent:
            self._parent.add_overheard(reply, is_turn=False)

    def settle(self, usage: Usage, *, turns: int, usd: float | None, uncounted: Sequence[Counter]) -> None:
        """Count what such an agent used beyond that, and its cost in all; one unknown cost makes the sum unknown for good."""
        self._count(usage, turns=turns, calls=turns)
        self._unsettled = False
        self._usd = None if self._usd is None or usd is None else self._usd + usd
        self._uncounted |= dict.fromkeys(uncounted)
        if self._parent:
            self._parent.settle(usage, turns=0, usd=usd, uncounted=uncounted)

    def _count(self, usage: Usage, *, turns: int, calls: int) -> None:
        """Add to the counters of turns, calls and tokens."""
        self.turns += turns
        self.calls += calls
        self._input += usage.input
        self._output += usage.output
        self._read += usage.cache_read
        self._write_5m += usage.cache_write_5m
        self._write_1h += usage.cache_write_1h

    def add_failure(self, *, retries: int, waited: float) -> None:
        """Count a model call that failed for good."""
        self.retries += retries
        self.waited += waited
        if self._parent:
            self._parent.add_failure(retries=retries, waited=waited)

    def add_tools(self, acted: Sequence[Acted]) -> None:
        """Count tool calls."""
        self.tool_calls += len(acted)
        self.tool_errors += sum(one.error is not None for one in acted)
        self.retries += sum(len(one.attempts) for one in acted)
        if self._parent:
            self._parent.add_tools(acted)
