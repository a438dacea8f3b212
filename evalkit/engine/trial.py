"""The life of one trial, from a plan to a record: open the world, let the loop play, stop, grade, record.

Invariant: `play_trial` returns a record whatever happens, and is a pure function of its arguments plus the world
and the model that it calls. What went wrong is decided by its cause, fixed here: caps, refusals and overflow are the agent's
doing and fail; a broken provider, environment, loop or grader is ours and makes an error.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalkit.core.clock import Clock
from evalkit.core.errors import ProviderError, Stopped
from evalkit.core.message import Message, Nature, Reply, Request, least
from evalkit.core.plan import Trial
from evalkit.core.protocols import Environment, Parts
from evalkit.core.record import Asked, Halted, Outcome, Stop, Tally, TrialRecord, Verdict
from evalkit.engine.asking import Asker, Failed
from evalkit.engine.contain import contain, explain
from evalkit.engine.dispatch import Dispatcher
from evalkit.engine.grading import Bench, Judged, WorldEvidence
from evalkit.engine.ground import TrialGround
from evalkit.engine.kit import Kit
from evalkit.engine.ledger import Ledger
from evalkit.engine.retry import Retrier
from evalkit.engine.session import TrialSession
from evalkit.engine.toolbox import toolbox
from evalkit.engine.watching import Watch

FINISHED = Stop(reason="finished")
FEEDBACK = "[Notice from the harness] A check of your work failed. Mend it, then end your turn again.\n\n{failure}"


def play_trial(trial: Trial, parts: Parts, clock: Clock) -> TrialRecord:
    """Play one trial and give its record; never raises for anything that a part did."""
    started, start, nature = clock.time(), clock.monotonic(), parts.nature
    with TrialGround(Path(trial.task.base), trial.sandbox) as ground:
        world, broke = contain(lambda: parts.environment.open(ground))
        if world is None:
            return unplayable(trial, nature, Stop(reason="error:environment", detail=_text(broke)), clock)
        session, broke = contain(lambda: _open_session(trial, parts, world, clock))
        if session is None:
            contain(world.close)
            return unplayable(trial, nature, Stop(reason="error:setup", detail=_text(broke)), clock)
        stage = Stage(trial=trial, parts=parts, session=session, world=world, ground=ground, clock=clock)
        stop = stage.converse()
        tally = session.tally
        session.events.append(Halted(turn=tally.turns, stop=stop, at=clock.time()))
        graded = None if stop.is_error else stage.grade()
        return TrialRecord(
            key=trial.key,
            seed=trial.seed,
            outcome=outcome_of(stop, graded.verdict if graded else None, graded=trial.task.count_capped == "graded"),
            stop=stop,
            graded=graded.verdict if graded else None,
            answer=session.answer,
            tally=tally,
            grading=stage.grading,
            nature=_nature(stage, stop),
            started=started,
            seconds=clock.monotonic() - start,
            attempt=trial.attempt,
            error=stop.detail if stop.is_error else graded.error if graded else "",
            fatal=session.fatal,
            models=tuple(session.models),
            events=tuple(session.events),
        )


def outcome_of(stop: Stop, verdict: Verdict | None, *, graded: bool) -> Outcome:
    """Decide a trial from its two facts: why it stopped and what its graders say.

    A trial passes when its graders pass and it stopped by itself; with `graded` a capped trial counts by its graders alone.
    """
    if stop.is_error or verdict in (None, "unknown"):
        return "error"
    by_itself = stop.reason == "finished" or (graded and stop.reason.startswith("cap:"))
    return "passed" if verdict == "pass" and by_itself else "failed"


@dataclass(slots=True, kw_only=True)
class Stage:
    """One trial under way; `grading` counts what its graders use."""

    trial: Trial
    parts: Parts
    session: TrialSession
    world: Environment
    ground: TrialGround
    clock: Clock
    grading: Tally = field(default_factory=Tally)

    def converse(self) -> Stop:
        """Let the loop play to its end, as often as the ladder sends it back, and shut the world down; say why it ended."""
        try:
            _, broke = contain(self._play)
        except Stopped:
            broke = None
        _, stuck = contain(self.world.close)
        if self.session.stopped is not None:
            return self.session.stopped
        if broke is not None:
            return Stop(reason="error:loop", detail=explain(broke))
        if stuck is not None:
            return Stop(reason="error:environment", detail=explain(stuck))
        return FINISHED

    def grade(self) -> Judged:
        """Let the graders look at what the agent left."""
        bench = Bench(checks=tuple(zip(self.trial.task.graders, self.parts.graders, strict=True)), clock=self.clock)
        ledger = Ledger(self.clock)
        judged = bench.grade(self._evidence(ledger), self.session.tally.turns)
        self.session.events.extend(judged.checked)
        self.grading = replace(ledger.tally, seconds=sum(one.seconds for one in judged.checked))
        return judged

    def _play(self) -> None:
        """Play the loop; where it ends by itself and a check of the ladder fails, tell it the failure and play on."""
        verify = self.trial.variant.verify
        bench = Bench(checks=tuple(zip(self.trial.task.checks, self.parts.checks, strict=True)), clock=self.clock)
        corrections = 0
        while True:
            self.parts.loop.play(self.session)
            if verify is None or not bench.checks:
                return
            judged = bench.climb(self._evidence(None), self.session.tally.turns)
            for event in judged.checked:
                self.session.record(event)
            if judged.verdict != "fail" or corrections >= verify.self_correct:
                return
            corrections += 1
            self.session.note(FEEDBACK.format(failure=judged.failure), "self_correct", judged.pictures)

    def _evidence(self, ledger: Ledger | None) -> WorldEvidence:
        """Put the evidence together; a check that asks a model is charged to `ledger`, to the session where that is None."""

        def asking(messages: tuple[Message, ...], max_tokens: int) -> Reply:
            """Ask the variant's model."""
            if ledger is None:
                return self.session.consult(messages, purpose="judge", max_tokens=max_tokens)
            return self._ask_aside(messages, max_tokens, ledger)

        return WorldEvidence(
            task=self.trial.task,
            answer=self.session.answer,
            transcript=self.session.transcript,
            world=self.world,
            ground=self.ground,
            asking=asking,
        )

    def _ask_aside(self, messages: tuple[Message, ...], max_tokens: int, ledger: Ledger) -> Reply:
        """Make a model call that no cap of the trial bounds; raises `ProviderError` where it fails."""
        call = self.session.tally.calls + ledger.calls + 1
        request = Request(system="", messages=messages, max_tokens=max_tokens, seed=self.trial.seed, call=call)
        done = self.session.asker.call(request, ledger, purpose="judge", held=0, is_turn=False, agent="grader")
        if isinstance(done, Failed):
            self.session.events.append(done.event)
            raise ProviderError(done.stop.detail)
        event, reply = done
        self.session.events.append(event)
        return reply


def _open_session(trial: Trial, parts: Parts, world: Environment, clock: Clock) -> TrialSession:
    """Put the session of a trial together."""
    variant = trial.variant
    declared = [(tool.spec(Path(trial.task.base)), tool) for tool in parts.tools]
    retrier = Retrier(variant.retries, clock, random.Random(trial.seed))
    dispatcher = Dispatcher(
        world=world,
        retrier=retrier,
        clock=clock,
        output=variant.tool_output,
        base=Path(trial.task.base),
        generic_errors=variant.errors == "generic",
    )

    def watch() -> Watch:
        """Open the detectors of one conversation."""
        named = zip(variant.detectors, parts.detectors, strict=True)
        return Watch(
            detectors=[(spec.kind, part, part.open()) for spec, part in named],
            guardrails=parts.guardrails,
            base=Path(variant.base),
        )

    kit = Kit(
        trial=trial,
        asker=Asker(provider=parts.provider.open(trial), retrier=retrier, clock=clock, patience=variant.caps.seconds),
        dispatcher=dispatcher,
        box=toolbox(world, trial.task.environment.kind, declared, variant.tools),
        clock=clock,
        price=parts.provider.price(),
        window_tokens=parts.provider.window(),
        watch=watch,
        policies=parts.policies,
        system="\n\n".join(text for text in (*parts.fragments, variant.prompt) if text),
    )
    return TrialSession(kit, prompt=trial.task.prompt, caps=variant.caps, context=(*variant.condense, variant.context))


def unplayable(trial: Trial, nature: Nature, stop: Stop, clock: Clock) -> TrialRecord:
    """Record a trial whose parts or world could not even be set up."""
    now = clock.time()
    return TrialRecord(
        key=trial.key,
        seed=trial.seed,
        outcome="error",
        stop=stop,
        graded=None,
        answer="",
        tally=Tally(),
        nature=nature,
        started=now,
        seconds=0.0,
        attempt=trial.attempt,
        error=stop.detail,
        events=(Halted(turn=0, stop=stop, at=now),),
    )


def _nature(stage: Stage, stop: Stop) -> Nature:
    """Where a trial's replies came from: the least of what was really used.

    That is the provider, where the loop or a grader asked it, and what each answer said of itself; and a model that nobody saw, where an agent
    that brings its own, or may, worked without asking the provider. One that failed before it asked anybody tells nothing.
    """
    model, provider = getattr(stage.parts.loop, "MODEL", "asked"), stage.parts.provider.nature
    seen = [event for event in stage.session.events if isinstance(event, Asked) and event.purpose != "overheard"]
    asked = any(event.purpose != "judge" for event in seen)
    failed = stop.is_error or stop.reason == "agent_error"
    alone = model == "own" or (model == "may_ask" and not asked and not failed)
    named = not alone or bool(seen) or stage.grading.calls > 0
    said = [event.reply.nature for event in seen if event.reply.nature is not None]
    used: list[Nature] = [*said, *([provider] if named else [])]
    return least((*used, "external") if alone else used)


def _text(error: Exception | None) -> str:
    """Write what broke."""
    return explain(error) if error else "nothing was opened"
