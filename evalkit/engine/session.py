"""A loop's way to the model and the world: ask, act, note, stop; guarded, counted and recorded.

Invariant: the transcript is only ever appended to, every tool call in it is answered before the model is asked
again, and a stop is sticky: after the first one every step ends the loop again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from evalkit.core.clock import Clock
from evalkit.core.errors import ContextOverflow, EvalkitError, ProviderError, Stopped
from evalkit.core.message import Message, Reply, Request, ToolCall, ToolResult, ToolSpec, user
from evalkit.core.plan import Caps, Task, Trial
from evalkit.core.protocols import ContextPolicy, Provider
from evalkit.core.record import Acted, Asked, CapFired, Event, Noted, Stop, Tally, Unanswered
from evalkit.engine.budget import crossed, exhausted
from evalkit.engine.contain import contain, explain
from evalkit.engine.dispatch import Dispatcher, EnvironmentBroke
from evalkit.engine.retry import Retrier, Tried

CUT_OFF = "not run: your reply was cut off at max_tokens before this call was complete; make a shorter reply or a smaller call"
NOT_RUN = "not run: the loop went on without this call"
TRUNCATIONS_IN_A_ROW = 3
PAUSES_IN_A_ROW = 16


class TrialSession:
    """The session of one trial (`core.protocols.Session`)."""

    def __init__(
        self,
        *,
        trial: Trial,
        provider: Provider,
        context: ContextPolicy,
        dispatcher: Dispatcher,
        retrier: Retrier,
        clock: Clock,
    ) -> None:
        """Begin with the user's request; the time of the trial starts to count now."""
        self._trial = trial
        self._provider = provider
        self._context = context
        self._dispatcher = dispatcher
        self._retrier = retrier
        self._clock = clock
        self._start = clock.monotonic()
        self._transcript = [user(trial.task.prompt)]
        self._tally = Tally()
        self._cut = 0
        self._last: Reply | None = None
        self.events: list[Event] = []
        self.stopped: Stop | None = None
        self.fatal = False
        self.models: dict[str, None] = {}

    @property
    def task(self) -> Task:
        """What is to be done."""
        return self._trial.task

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All tools, the environment's and the suite's."""
        return tuple(self._dispatcher.specs.values())

    @property
    def transcript(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._transcript)

    @property
    def tally(self) -> Tally:
        """Everything counted so far, the working time up to this moment."""
        elapsed = self._clock.monotonic() - self._start - self._tally.waited
        return replace(self._tally, seconds=max(0.0, elapsed))

    @property
    def answer(self) -> str:
        """The text of the last reply; empty where there was none."""
        return self._last.text if self._last else ""

    def ask(self, *, tools: bool = True, purpose: str = "act") -> Reply:
        """Let the model take its turn on the transcript; the reply joins the transcript."""
        reply = self._turn(tools=tools, purpose=purpose)
        pauses = 0
        while reply.stop_reason == "pause_turn":
            pauses += 1
            if pauses == PAUSES_IN_A_ROW:
                self.stop("error:provider", f"the model paused its turn {pauses} times in a row")
            reply = self._turn(tools=tools, purpose=purpose)
        self._classify(reply)
        return reply

    def act(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Run tool calls; the results join the transcript in call order."""
        self._guard(crossed)
        if self._cut:
            results = tuple(ToolResult(tool_use_id=call.id, content=CUT_OFF, is_error=True) for call in calls)
            self._answer_calls(results)
            return results
        acted = self._dispatch(calls)
        self.events.extend(acted)
        failures = sum(one.error is not None for one in acted)
        self._tally = replace(
            self._tally,
            tool_calls=self._tally.tool_calls + len(acted),
            tool_errors=self._tally.tool_errors + failures,
            retries=self._tally.retries + sum(len(one.attempts) for one in acted),
        )
        self._answer_calls(tuple(one.result for one in acted))
        self._end_on_critical(acted)
        return tuple(one.result for one in acted)

    def note(self, text: str, origin: str) -> None:
        """Put a user message of the loop's own into the conversation."""
        self._enter()
        self._answer_calls(())
        self._transcript.append(user(text))
        self.events.append(Noted(turn=self._tally.turns, origin=origin, text=text, at=self._clock.time()))

    def stop(self, reason: str, detail: str = "") -> NoReturn:
        """End the trial; the first stop is the one that counts."""
        self._halt(Stop(reason=reason, detail=detail))

    def _halt(self, stop: Stop) -> NoReturn:
        """Keep the first stop and raise it through the loop."""
        self.stopped = self.stopped or stop
        raise Stopped(self.stopped.reason)

    def _enter(self) -> None:
        """Refuse to go on after a stop."""
        if self.stopped is not None:
            raise Stopped(self.stopped.reason)

    def _guard(self, fired: Callable[[Caps, Tally], CapFired | None]) -> None:
        """Refuse to go on after a stop or past a cap."""
        self._enter()
        cap = fired(self._trial.variant.caps, self.tally)
        if cap is not None:
            self._halt(Stop(reason=f"cap:{cap.meter}", cap=cap))

    def _turn(self, *, tools: bool, purpose: str) -> Reply:
        """Make one model call on what the context policy shows of the transcript."""
        self._enter()
        self._answer_calls(())
        self._guard(exhausted)
        shown = self._context.view(self.transcript, self.tally)
        request = Request(
            system=self._trial.variant.prompt,
            messages=shown,
            tools=self.tools if tools else (),
            max_tokens=self._trial.variant.max_tokens,
            seed=self._trial.seed,
            call=self._tally.calls + 1,
        )
        at, start = self._clock.time(), self._clock.monotonic()
        tried = self._retrier.run(lambda: self._complete(request), self._retrier.policy.model, self._patience())
        seconds = self._clock.monotonic() - start
        if tried.value is None:
            self._give_up(tried, at, seconds)
        reply = tried.value
        self._count(reply, tried)
        self.events.append(
            Asked(
                turn=self._tally.turns,
                call=self._tally.calls,
                purpose=purpose,
                sent=len(shown),
                held=len(self._transcript),
                reply=reply,
                at=at,
                seconds=seconds,
                attempts=tried.attempts,
            )
        )
        self._transcript.append(reply.message)
        self._last = reply
        self._guard(crossed)
        return reply

    def _patience(self) -> float | None:
        """Seconds that may still be waited: as much again as the working time that the cap leaves."""
        limit = self._trial.variant.caps.seconds
        return None if limit is None else max(0.0, limit - self._tally.waited)

    def _count(self, reply: Reply, tried: Tried[Reply]) -> None:
        """Add a reply to the tally; an unknown price makes the sum unknown and is refused where dollars are capped."""
        tally, usage = self._tally, reply.usage
        self._tally = replace(
            tally,
            turns=tally.turns + 1,
            calls=tally.calls + 1,
            input_tokens=tally.input_tokens + usage.input,
            output_tokens=tally.output_tokens + usage.output,
            cache_read_tokens=tally.cache_read_tokens + usage.cache_read,
            cache_write_5m_tokens=tally.cache_write_5m_tokens + usage.cache_write_5m,
            cache_write_1h_tokens=tally.cache_write_1h_tokens + usage.cache_write_1h,
            usd=None if tally.usd is None or reply.usd is None else tally.usd + reply.usd,
            retries=tally.retries + len(tried.attempts),
            waited=tally.waited + tried.waited,
        )
        self.models[reply.model] = None
        if self._tally.usd is None and self._trial.variant.caps.usd is not None:
            self.stop(
                "error:price", f"the price of a reply by {reply.model!r} is unknown, so the dollar cap cannot hold"
            )

    def _complete(self, request: Request) -> Reply:
        """Ask the provider; anything that it raises beside its own errors is a fault of the provider."""
        reply, error = contain(lambda: self._provider.complete(request))
        if reply is not None:
            return reply
        if isinstance(error, EvalkitError):
            raise error
        raise ProviderError(explain(error) if error else "the provider gave no reply")

    def _give_up(self, tried: Tried[Reply], at: float, seconds: float) -> NoReturn:
        """End the trial on a model call that failed for good, by its cause."""
        tally = self._tally
        self._tally = replace(
            tally, retries=tally.retries + len(tried.attempts) - 1, waited=tally.waited + tried.waited
        )
        self.events.append(
            Unanswered(
                turn=tally.turns,
                call=tally.calls + 1,
                error=str(tried.error),
                at=at,
                seconds=seconds,
                attempts=tried.attempts,
            )
        )
        if isinstance(tried.error, ContextOverflow):
            self.stop("context_overflow", str(tried.error))
        self.fatal = isinstance(tried.error, ProviderError) and tried.error.fatal
        tries = f" (after {len(tried.attempts)} tries)" if len(tried.attempts) > 1 else ""
        self.stop("error:provider", f"{tried.error}{tries}")

    def _classify(self, reply: Reply) -> None:
        """Turn the stop reasons that end a conversation into stops, and remember a reply that was cut off."""
        self._cut = self._cut + 1 if reply.stop_reason == "max_tokens" else 0
        if reply.stop_reason == "refusal":
            self.stop("refusal", reply.text)
        if reply.stop_reason == "model_context_window_exceeded":
            self.stop("context_overflow", "the model's context window is full")
        if self._cut and (not reply.calls or self._cut >= TRUNCATIONS_IN_A_ROW):
            self.stop(
                "truncated", f"{self._cut} replies in a row were cut off at {self._trial.variant.max_tokens} tokens"
            )

    def _dispatch(self, calls: Sequence[ToolCall]) -> tuple[Acted, ...]:
        """Run calls through the dispatcher; a broken world ends the trial as an error."""
        acted, broke = contain(lambda: self._dispatcher.run(calls, self._tally.turns, lambda: self._guard(crossed)))
        if acted is None:
            detail = str(broke) if isinstance(broke, EnvironmentBroke) or broke is None else explain(broke)
            self.stop("error:environment", detail)
        return acted

    def _answer_calls(self, results: tuple[ToolResult, ...]) -> None:
        """Append results for all calls of the last reply; calls without one are answered as not run."""
        last = self._transcript[-1]
        given = {result.tool_use_id: result for result in results}
        missing = ToolResult(tool_use_id="", content=NOT_RUN, is_error=True)
        answers = tuple(given.get(call.id) or replace(missing, tool_use_id=call.id) for call in last.calls)
        if answers:
            self._transcript.append(Message(role="user", content=answers))

    def _end_on_critical(self, acted: Sequence[Acted]) -> None:
        """End the trial where a critical write failed."""
        for one in acted:
            spec = self._dispatcher.specs.get(one.call.name)
            if one.error is not None and spec is not None and spec.critical:
                self.stop("tool_error", f"{one.call.name}: {one.detail}")
