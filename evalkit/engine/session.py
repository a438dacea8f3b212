"""A loop's way to the model and the world: ask, act, note, consult, delegate, stop; guarded, counted and recorded.

Invariant: the transcript is only ever appended to, every tool call in it is answered before the model is asked
again, and a stop is sticky: after the first one every step ends the loop again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from evalkit.core.errors import Stopped, ToolFailed
from evalkit.core.message import Message, Picture, Reply, Request, ToolCall, ToolResult, ToolSpec, Usage, size
from evalkit.core.plan import Caps, Spec, Task, Variant, digest
from evalkit.core.protocols import Housed, Loop, MemoRequest, Result, SessionTool
from evalkit.core.record import Acted, Counter, Delegated, Event, Noted, Observed, Stop, Tally
from evalkit.core.sandbox import Sandbox
from evalkit.engine.asking import Asker, Failed
from evalkit.engine.budget import crossed, exhausted
from evalkit.engine.contain import contain, explain
from evalkit.engine.dispatch import EnvironmentBroke
from evalkit.engine.kit import Kit
from evalkit.engine.ledger import Ledger
from evalkit.engine.limits import Limits, Question, exhausted_aside
from evalkit.engine.overhearing import Overheard
from evalkit.engine.toolbox import extend
from evalkit.engine.transcript import Transcript
from evalkit.engine.viewing import Viewer

CUT_OFF = "not run: your reply was cut off at max_tokens before this call was complete; make a shorter reply or a smaller call"
WRAP_UP = "[Notice from the harness] {left} turns are left. Sum up where you stand, give your answer, and end."
TRUNCATIONS_IN_A_ROW = 3
PAUSES_IN_A_ROW = 16
DEEPEST = 3


class TrialSession:
    """One conversation of a trial (`core.protocols.Session`): the trial's own, or one that it delegated to."""

    def __init__(
        self,
        kit: Kit,
        *,
        prompt: str,
        caps: Caps,
        context: Sequence[Spec],
        system: str | None = None,
        extra: Sequence[SessionTool] = (),
        agent: str = "",
        parent: TrialSession | None = None,
    ) -> None:
        """Begin with a request; the time of the conversation starts to count now."""
        self._kit = kit
        self._context = context
        self._system = kit.system if system is None else system
        self._box = extend(kit.box, [(tool.spec(Path(kit.trial.task.base)), tool) for tool in extra])
        self.agent = agent
        self._parent = parent
        self._ledger: Ledger = Ledger(kit.clock, parent._ledger if parent else None)  # noqa: SLF001  # of the same class
        above = parent._limits if parent else None  # noqa: SLF001  # of the same class
        self._limits: Limits = Limits(caps=caps, ledger=self._ledger, price=kit.price, above=above)
        self._viewer = Viewer(
            policies=kit.policies(context), window_tokens=kit.window_tokens, now=kit.clock.time, agent=agent
        )
        self._watch = kit.watch()
        self._transcript = Transcript(prompt)
        self._ears = Overheard(ledger=self._ledger, transcript=self._transcript, clock=kit.clock, record=self.record)
        self._answer: str | None = None
        self._prompt_tokens = size(self._transcript.messages)
        self._cut = 0
        self._delegated = 0
        self._warned_of_end = False
        self.events: list[Event] = parent.events if parent else []
        self.models: dict[str, None] = parent.models if parent else {}
        self.stopped: Stop | None = None
        self.fatal = False

    @property
    def task(self) -> Task:
        """What is to be done."""
        return self._kit.trial.task

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the processes that the loop itself starts."""
        return self._kit.trial.sandbox

    @property
    def variant(self) -> Variant:
        """How."""
        return self._kit.trial.variant

    @property
    def folder(self) -> Path | None:
        """The folder that the environment is; None where it is none."""
        world = self._kit.dispatcher.world
        return world.home if isinstance(world, Housed) else None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All tools: the environment's, the suite's, the variant's, and those of this conversation alone."""
        return tuple(self._box.specs.values())

    @property
    def asker(self) -> Asker:
        """The way to the provider."""
        return self._kit.asker

    @property
    def transcript(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return self._transcript.messages

    @property
    def tally(self) -> Tally:
        """Everything counted so far, the working time up to this moment."""
        return self._ledger.tally

    @property
    def answer(self) -> str:
        """What the loop gave as such, else the text of the last reply; empty where there was none."""
        if self._answer is not None:
            return self._answer
        return self._transcript.last.text if self._transcript.last else ""

    def now(self) -> float:
        """Seconds since the epoch, for the stamps of events."""
        return self._kit.clock.time()

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
        self._end_if_seen()
        return reply

    def act(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Run tool calls; the results join the transcript in call order."""
        self._guard(crossed)
        if self._cut:
            results = tuple(ToolResult(tool_use_id=call.id, content=CUT_OFF, is_error=True) for call in calls)
            self._transcript.answer(results)
            return results
        acted = self._dispatch(calls)
        self._ledger.add_tools(acted)
        self._transcript.answer(tuple(one.result for one in acted))
        for one in acted:
            self.record(replace(one, agent=self.agent))
        self._observe()
        self._end_on_critical(acted)
        self._end_if_seen()
        return tuple(one.result for one in acted)

    def note(self, text: str, origin: str, pictures: Sequence[Picture] = ()) -> None:
        """Put a user message of the loop's own into the conversation."""
        self._enter()
        self._transcript.add_note(text, pictures)
        self.record(
            Noted(
                turn=self._ledger.turns,
                origin=origin,
                text=text,
                at=self.now(),
                agent=self.agent,
                pictures=tuple(pictures),
            )
        )

    def consult(self, messages: tuple[Message, ...], *, purpose: str, max_tokens: int = 1024) -> Reply:
        """Ask the model aside: counted in every cap but `turns`, and no part of the transcript."""
        reply = self._call(messages, purpose=purpose, max_tokens=max_tokens)
        if isinstance(reply, Failed):
            self._fail(reply)
        return reply

    def delegate(
        self,
        prompt: str,
        *,
        agent: str,
        loop: Loop,
        caps: Caps,
        extra: Sequence[SessionTool] = (),
        system: str | None = None,
        context: Spec | None = None,
    ) -> Result:
        """Hand work to a fresh conversation in the same world, with caps of its own; what it uses counts here too."""
        self._guard(crossed)
        if self.agent.count("/") + 1 >= DEEPEST:
            raise ToolFailed(f"work can be handed on {DEEPEST} levels deep and no further: do this yourself")
        self._delegated += 1
        child = TrialSession(
            self._kit,
            prompt=prompt,
            caps=caps,
            context=self._context if context is None else (context,),
            system=system,
            extra=extra,
            agent=f"{self.agent}/{agent}#{self._delegated}".lstrip("/"),
            parent=self,
        )
        try:
            loop.play(child)
        except Stopped:
            self._enter()
        return self._take_back(child, prompt)

    def _take_back(self, child: TrialSession, prompt: str) -> Result:
        """Record what came of delegated work; where our own world broke under it, the trial ends."""
        stop = child.stopped or Stop(reason="finished")
        result = Result(answer=child.answer, stop=stop, tally=child.tally)
        event = Delegated(
            turn=self._ledger.turns,
            agent=child.agent,
            prompt=prompt,
            answer=result.answer,
            stop=stop,
            tally=result.tally,
            at=self.now(),
        )
        self.record(event)
        if stop.is_error:
            self.fatal = self.fatal or child.fatal
            self._halt(stop)
        self._guard(crossed)
        return result

    def hold(self) -> None:
        """End the conversation where a cap is crossed or a stop is due."""
        self._guard(crossed)
        if self._watch.stop is not None:
            self._halt(self._watch.stop)

    def overhear(self, reply: Reply, *, agent: str = "") -> None:
        """Take in a turn that the loop's own program took; where it was the last that the caps allow, no other may follow."""
        self._enter()
        self.models[reply.model] = None
        self._ears.reply(reply, "/".join(name for name in (self.agent, agent) if name))
        self.hold()

    def overhear_results(self, results: Sequence[ToolResult], *, agent: str = "") -> None:
        """Take in what that program's tools gave back: it will ask its model again."""
        self._enter()
        self._ears.results(results, "/".join(name for name in (self.agent, agent) if name))
        self._observe()
        self.hold()
        self._guard(exhausted_aside if agent else exhausted)

    def settle(self, *, turns: int, usage: Usage, usd: float | None, uncounted: tuple[Counter, ...] = ()) -> None:
        """Close that program's account, also after a stop; what it shows of the caps is for `hold` to say."""
        self._ledger.settle(usage, turns=turns, usd=usd, uncounted=uncounted)

    def conclude(self, answer: str) -> None:
        """Give the answer, where it is not the text of the last reply."""
        self._enter()
        self._answer = answer

    def record(self, event: Event) -> None:
        """Add an event to the trace and show it to whoever watches."""
        self.events.append(event)
        self.events.extend(replace(flag, agent=self.agent) for flag in self._watch.see(event))

    def stop(self, reason: str, detail: str = "") -> NoReturn:
        """End the conversation; the first stop is the one that counts."""
        self._halt(Stop(reason=reason, detail=detail))

    def _halt(self, stop: Stop) -> NoReturn:
        """Keep the first stop and raise it through the loop."""
        self.stopped = self.stopped or stop
        raise Stopped(self.stopped.reason)

    def _enter(self) -> None:
        """Refuse to go on after a stop, of this conversation or of one that it belongs to."""
        if self._parent is not None:
            self._parent._enter()  # noqa: SLF001  # of the same class
        if self.stopped is not None:
            raise Stopped(self.stopped.reason)

    def _guard(self, question: Question) -> None:
        """Refuse to go on after a stop or past a cap; one above this conversation ends that conversation too."""
        if self._parent is not None and self._limits.fired_above(question):
            self._parent._guard(question if question is crossed else exhausted_aside)  # noqa: SLF001  # of the same class
        self._enter()
        cap = self._limits.fired(question)
        if cap is not None:
            self._halt(Stop(reason=f"cap:{cap.meter}", cap=cap))

    def _turn(self, *, tools: bool, purpose: str) -> Reply:
        """Let the model take one turn on what the context policies show of the transcript."""
        self._enter()
        self._transcript.answer(())
        self._guard(exhausted)
        self._remind()
        shown, condensed = self._viewer.view(self.transcript, self.tally, self._prompt_tokens, self._memo)
        for event in condensed:
            self.record(event)
        reply = self._call(
            shown,
            purpose=purpose,
            max_tokens=self._kit.trial.variant.max_tokens,
            tools=self.tools if tools else (),
            is_turn=True,
        )
        if isinstance(reply, Failed):
            self._fail(reply)
        self._transcript.add_reply(reply)
        self._prompt_tokens = reply.usage.prompt + reply.usage.output
        self._guard(crossed)
        return reply

    def _call(
        self,
        messages: tuple[Message, ...],
        *,
        purpose: str,
        max_tokens: int,
        tools: tuple[ToolSpec, ...] = (),
        is_turn: bool = False,
    ) -> Reply | Failed:
        """Make one model call within what the caps leave, and record it."""
        self._guard(exhausted if is_turn else exhausted_aside)
        room = self._limits.room()
        request = Request(
            system=self._system if is_turn else "",
            messages=messages,
            tools=tools,
            max_tokens=max_tokens if room is None else min(max_tokens, room),
            seed=self._kit.trial.seed,
            call=self._ledger.root.calls + 1,
        )
        done = self._kit.asker.call(
            request, self._ledger, purpose=purpose, held=len(self._transcript), is_turn=is_turn, agent=self.agent
        )
        if isinstance(done, Failed):
            self.record(done.event)
            return done
        asked, reply = done
        self.record(asked)
        self.models[reply.model] = None
        if reply.usd is None and self._limits.in_dollars:
            self.stop(
                "error:price", f"the price of a reply by {reply.model!r} is unknown, so the dollar cap cannot hold"
            )
        if not is_turn:
            self._guard(crossed)
        return reply

    def _fail(self, failed: Failed) -> NoReturn:
        """End on a model call that failed for good, by its cause."""
        self.fatal = self.fatal or failed.fatal
        self._halt(failed.stop)

    def _memo(self, due: MemoRequest) -> tuple[Reply | None, str]:
        """Have a memo written; a prompt that is too long for it is no memo, all other failures end the trial."""
        reply = self._call(due.messages, purpose="condense", max_tokens=due.max_tokens)
        if not isinstance(reply, Failed):
            return reply, ""
        if reply.stop.is_error:
            self._fail(reply)
        return None, reply.stop.detail

    def _remind(self) -> None:
        """Give the model the warnings that are due: of its detectors, and of the end of its turns."""
        for origin, text in self._watch.take_warnings():
            self.note(text, f"detector:{origin}")
        wrap_up, limit = self._kit.trial.variant.wrap_up, self._limits.caps.turns
        if wrap_up is None or limit is None or self._warned_of_end:
            return
        left = limit - self._ledger.turns
        if left <= wrap_up.turns and self._ledger.turns > 0:
            self._warned_of_end = True
            self.note(WRAP_UP.format(left=left), "wrap_up")

    def _classify(self, reply: Reply) -> None:
        """Turn the stop reasons that end a conversation into stops, and remember a reply that was cut off."""
        self._cut = self._cut + 1 if reply.stop_reason == "max_tokens" else 0
        if reply.stop_reason == "refusal":
            self.stop("refusal", reply.text)
        if reply.stop_reason == "model_context_window_exceeded":
            self.stop("context_overflow", "the model's context window is full")
        if self._cut:
            self._guard(exhausted)
            if not reply.calls or self._cut >= TRUNCATIONS_IN_A_ROW:
                self.stop("truncated", f"replies were cut off at max_tokens, {self._cut} in a row")

    def _end_if_seen(self) -> None:
        """End the conversation where a detector or a guardrail asked for it; the turn is whole now."""
        if self._watch.stop is not None:
            self._transcript.answer(())
            self._halt(self._watch.stop)

    def _observe(self) -> None:
        """Show the world's state to the detectors that want to see it."""
        if not self._watch.wants_state:
            return
        state, broke = contain(lambda: digest(self._kit.dispatcher.world.state()))
        if state is None:
            self.stop("error:environment", explain(broke) if broke else "no state")
        self.record(Observed(turn=self._ledger.turns, state=state, at=self.now(), agent=self.agent))

    def _dispatch(self, calls: Sequence[ToolCall]) -> tuple[Acted, ...]:
        """Run calls through the dispatcher; a broken world ends the trial as an error."""
        turn = self._ledger.turns
        acted, broke = contain(
            lambda: self._kit.dispatcher.run(calls, turn, lambda: self._guard(crossed), self, self._box)
        )
        if acted is None:
            detail = str(broke) if isinstance(broke, EnvironmentBroke) or broke is None else explain(broke)
            self.stop("error:environment", detail)
        return acted

    def _end_on_critical(self, acted: Sequence[Acted]) -> None:
        """End the trial where a critical write failed."""
        for one in acted:
            spec = self._box.specs.get(one.call.name)
            if one.error is not None and spec is not None and spec.critical:
                self.stop("tool_error", f"{one.call.name}: {one.detail}")
