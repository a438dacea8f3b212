"""The life of one trial, from a plan to a record: open the world, let the loop play, stop, grade, record.

Invariant: `play_trial` returns a record whatever happens, and is a pure function of its arguments plus the world
and the model that it calls. What went wrong is decided by its cause, fixed here: caps, refusals and overflow are the agent's
doing and fail; a broken provider, environment, loop or grader is ours and makes an error.
"""

from __future__ import annotations

import random
from pathlib import Path

from evalkit.core.clock import Clock
from evalkit.core.errors import Stopped
from evalkit.core.plan import Trial
from evalkit.core.protocols import Environment, Loop, Parts
from evalkit.core.record import Halted, Nature, Outcome, Stop, Tally, TrialRecord, Verdict
from evalkit.engine.contain import contain, explain
from evalkit.engine.dispatch import Dispatcher, toolbox
from evalkit.engine.grading import FinalEvidence, Grade, grade
from evalkit.engine.ground import TrialGround
from evalkit.engine.retry import Retrier
from evalkit.engine.session import TrialSession

FINISHED = Stop(reason="finished")


def play_trial(trial: Trial, parts: Parts, clock: Clock) -> TrialRecord:
    """Play one trial and give its record; never raises for anything that a part did."""
    started, start, nature = clock.time(), clock.monotonic(), parts.provider.nature
    with TrialGround(Path(trial.task.base)) as ground:
        world, broke = contain(lambda: parts.environment.open(ground))
        if world is None:
            return unplayable(trial, nature, Stop(reason="error:environment", detail=_text(broke)), clock)
        session, broke = contain(lambda: _open_session(trial, parts, world, clock))
        if session is None:
            contain(world.close)
            return unplayable(trial, nature, Stop(reason="error:setup", detail=_text(broke)), clock)
        stop = _converse(session, parts.loop, world)
        tally = session.tally
        session.events.append(Halted(turn=tally.turns, stop=stop, at=clock.time()))
        graded = None if stop.is_error else _grade(trial, parts, session, world, ground, clock)
        if graded is not None:
            session.events.extend(graded.checked)
        return TrialRecord(
            key=trial.key,
            seed=trial.seed,
            outcome=outcome_of(stop, graded.verdict if graded else None, graded=trial.task.count_capped == "graded"),
            stop=stop,
            graded=graded.verdict if graded else None,
            answer=session.answer,
            tally=tally,
            nature=nature,
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


def _open_session(trial: Trial, parts: Parts, world: Environment, clock: Clock) -> TrialSession:
    """Put the session of a trial together."""
    declared = [(tool.spec(Path(trial.task.base)), tool) for tool in parts.tools]
    specs, tools = toolbox(world, declared)
    retrier = Retrier(trial.variant.retries, clock, random.Random(trial.seed))
    dispatcher = Dispatcher(
        world=world,
        specs=specs,
        declared=tools,
        retrier=retrier,
        clock=clock,
        base=Path(trial.task.base),
        generic_errors=trial.variant.errors == "generic",
    )
    return TrialSession(
        trial=trial,
        provider=parts.provider.open(trial),
        context=parts.context,
        dispatcher=dispatcher,
        retrier=retrier,
        clock=clock,
    )


def _converse(session: TrialSession, loop: Loop, world: Environment) -> Stop:
    """Let the loop play to its end and shut the world down; say why it ended."""
    try:
        _, broke = contain(lambda: loop.play(session))
    except Stopped:
        broke = None
    _, stuck = contain(world.close)
    if session.stopped is not None:
        return session.stopped
    if broke is not None:
        return Stop(reason="error:loop", detail=explain(broke))
    if stuck is not None:
        return Stop(reason="error:environment", detail=explain(stuck))
    return FINISHED


def _grade(
    trial: Trial, parts: Parts, session: TrialSession, world: Environment, ground: TrialGround, clock: Clock
) -> Grade:
    """Let the graders look at what the agent left."""
    evidence = FinalEvidence(
        task=trial.task, answer=session.answer, transcript=session.transcript, world=world, ground=ground
    )
    return grade(trial.task.graders, parts.graders, evidence, clock, session.tally.turns)


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


def _text(error: Exception | None) -> str:
    """Write what broke."""
    return explain(error) if error else "nothing was opened"
