"""One model call: made, retried, counted, and told as an event.

Invariant: every call that was tried leaves an event, answered or not, with each failed attempt before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.clock import Clock
from evalkit.core.errors import ContextOverflow, EvalkitError, ProviderError
from evalkit.core.message import Reply, Request, fingerprint
from evalkit.core.protocols import Provider
from evalkit.core.record import Asked, Stop, Unanswered
from evalkit.engine.contain import contain, explain
from evalkit.engine.ledger import Ledger
from evalkit.engine.retry import Retrier, Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A call that failed for good: its event, the stop that follows, and whether no other trial can succeed either."""

    event: Unanswered
    stop: Stop
    fatal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """A trial's way to its provider; `patience` bounds all waiting of the trial together, in seconds."""

    provider: Provider
    retrier: Retrier
    clock: Clock
    patience: float | None

    def call(
        self, request: Request, ledger: Ledger, *, purpose: str, held: int, is_turn: bool, agent: str
    ) -> tuple[Asked, Reply] | Failed:
        """Make a call and count it; `held` is how many messages the conversation has, of which the request shows some."""
        at, start = self.clock.time(), self.clock.monotonic()
        waited = ledger.root.waited
        left = None if self.patience is None else max(0.0, self.patience - waited)
        tried = self.retrier.run(lambda: self._complete(request), self.retrier.policy.model, left)
        seconds = self.clock.monotonic() - start
        reply = tried.value
        if reply is None:
            return _failed(request, ledger, tried, at=at, seconds=seconds, agent=agent)
        ledger.add_reply(reply, retries=len(tried.attempts), waited=tried.waited, is_turn=is_turn)
        asked = Asked(
            turn=ledger.turns,
            call=request.call,
            purpose=purpose,
            sent=len(request.messages),
            held=held,
            reply=reply,
            at=at,
            seconds=seconds,
            attempts=tried.attempts,
            agent=agent,
            asked=fingerprint(request),
        )
        return asked, reply

    def _complete(self, request: Request) -> Reply:
        """Ask the provider; anything that it raises beside its own errors is a fault of the provider."""
        reply, error = contain(lambda: self.provider.complete(request))
        if reply is not None:
            return reply
        if isinstance(error, EvalkitError):
            raise error
        raise ProviderError(explain(error) if error else "the provider gave no reply")


def _failed(request: Request, ledger: Ledger, tried: Tried[Reply], *, at: float, seconds: float, agent: str) -> Failed:
    """Count a call that failed for good, and say what follows from it."""
    error = tried.error
    ledger.add_failure(retries=len(tried.attempts) - 1, waited=tried.waited)
    event = Unanswered(
        turn=ledger.turns,
        call=request.call,
        error=str(error),
        at=at,
        seconds=seconds,
        attempts=tried.attempts,
        agent=agent,
        asked=fingerprint(request),
    )
    stop = _stop_of(error, len(tried.attempts))
    return Failed(event=event, stop=stop, fatal=isinstance(error, ProviderError) and error.fatal)


def _stop_of(error: EvalkitError | None, tries: int) -> Stop:
    """Say why a trial ends on a failed call: a prompt that is too long is the variant's doing, all else the provider's."""
    if isinstance(error, ContextOverflow):
        return Stop(reason="context_overflow", detail=str(error))
    return Stop(reason="error:provider", detail=f"{error}" + (f" (after {tries} tries)" if tries > 1 else ""))
