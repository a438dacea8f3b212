"""What a conversation has used: the one place that adds to a tally.

Invariant: what a delegated conversation uses is added to its parent's ledger in the same step, but for turns: those are
each conversation's own. So a cap on tokens, seconds or dollars can't be evaded by delegating.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalkit.core.clock import Clock
from evalkit.core.message import Reply
from evalkit.core.record import Acted, Tally


class Ledger:
    """The counts of one conversation, with the time since it began."""

    def __init__(self, clock: Clock, parent: Ledger | None = None) -> None:
        """Begin at nothing, now."""
        self._clock = clock
        self._parent = parent
        self._start = clock.monotonic()
        self._tally = Tally()

    @property
    def root(self) -> Ledger:
        """The ledger of the trial itself."""
        return self._parent.root if self._parent else self

    @property
    def tally(self) -> Tally:
        """Everything counted so far, with the working time up to this moment."""
        elapsed = self._clock.monotonic() - self._start - self._tally.waited
        return replace(self._tally, seconds=max(0.0, elapsed))

    @property
    def counts(self) -> Tally:
        """The same without asking the clock; `seconds` is 0."""
        return self._tally

    def add_reply(self, reply: Reply, *, retries: int, waited: float, is_turn: bool) -> None:
        """Count a model call that was answered; one unknown price makes the sum unknown."""
        tally, usage = self._tally, reply.usage
        self._tally = replace(
            tally,
            turns=tally.turns + is_turn,
            calls=tally.calls + 1,
            input_tokens=tally.input_tokens + usage.input,
            output_tokens=tally.output_tokens + usage.output,
            cache_read_tokens=tally.cache_read_tokens + usage.cache_read,
            cache_write_5m_tokens=tally.cache_write_5m_tokens + usage.cache_write_5m,
            cache_write_1h_tokens=tally.cache_write_1h_tokens + usage.cache_write_1h,
            usd=None if tally.usd is None or reply.usd is None else tally.usd + reply.usd,
            retries=tally.retries + retries,
            waited=tally.waited + waited,
        )
        if self._parent:
            self._parent.add_reply(reply, retries=retries, waited=waited, is_turn=False)

    def add_failure(self, *, retries: int, waited: float) -> None:
        """Count a model call that failed for good."""
        self._tally = replace(self._tally, retries=self._tally.retries + retries, waited=self._tally.waited + waited)
        if self._parent:
            self._parent.add_failure(retries=retries, waited=waited)

    def add_tools(self, acted: Sequence[Acted]) -> None:
        """Count tool calls."""
        tally = self._tally
        self._tally = replace(
            tally,
            tool_calls=tally.tool_calls + len(acted),
            tool_errors=tally.tool_errors + sum(one.error is not None for one in acted),
            retries=tally.retries + sum(len(one.attempts) for one in acted),
        )
        if self._parent:
            self._parent.add_tools(acted)
