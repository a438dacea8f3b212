"""Reflection: the model judges its own progress, in JSON, and the loop acts on the verdict.

Invariant: a reflection is asked aside and never joins the transcript; only a revised plan does, as a note. A reply that cannot be read is
one event, and the loop goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.core.message import user
from evalkit.core.protocols import Session
from evalkit.core.record import Acted, Asked, Event, Reflected

STEP_SHOWN = 200
RECOMMENDATIONS = ("continue", "revise_approach", "abort")
REVISED = "[Notice from the harness] A review of your work suggests a new plan:\n{plan}\nGo on by it."
ASK = """\
Judge the progress of an agent.

<goal>
{goal}
</goal>

<steps so far>
{steps}
</steps so far>

<last observations>
{observations}
</last observations>

Is it on the way to the goal? Answer with one JSON object and nothing else:
{{"on_track": true or false, "confidence": a number from 0 to 1, "issues": ["what goes wrong"], \
"recommendation": "continue" or "revise_approach" or "abort", "revised_plan": "what to do instead, where you revise"}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflect:
    """When to reflect: every `every` turns, and after turns that reached one of the `milestones`.

    A milestone is reached when a tool of that name worked, or when the model's text has the mark `[milestone: NAME]`.
    """

    every: int | None = None
    milestones: tuple[str, ...] = ()
    max_tokens: int = 512

    def __post_init__(self) -> None:
        """Refuse a reflection that never comes."""
        if self.every is not None and self.every < 1:
            raise ValueError("every must be at least 1")
        if self.every is None and not self.milestones:
            raise ValueError("say when to reflect: every N turns, or on milestones")

    def due(self, session: Session, since: int) -> bool:
        """True where a checkpoint is due; `since` is how many events there were when the turn began."""
        turns = session.tally.turns
        if self.every is not None and turns > 0 and turns % self.every == 0:
            return True
        return any(_reached(name, session.events[since:]) for name in self.milestones)


def reflect(session: Session, max_tokens: int) -> None:
    """Ask for a reflection and act on it: revise puts the plan into the conversation, abort ends the trial."""
    reply = session.consult((user(_question(session)),), purpose="reflect", max_tokens=max_tokens)
    event = _read(reply.text, session)
    session.record(event)
    if event.recommendation == "abort":
        session.stop("gave_up", "; ".join(event.issues) or "a reflection said to abort")
    if event.recommendation == "revise_approach" and event.revised_plan:
        session.note(REVISED.format(plan=event.revised_plan), "reflect")


def _question(session: Session) -> str:
    """Put goal, steps and observations before the model."""
    acted = [event for event in session.events if isinstance(event, Acted)]
    steps = [
        f"{number}. {one.call.name}({json.dumps(dict(one.call.input), default=str)}) → {one.result.content[:STEP_SHOWN]}"
        for number, one in enumerate(acted, 1)
    ]
    observations = acted[-1].result.content if acted else "none"
    return ASK.format(goal=session.task.prompt, steps="\n".join(steps) or "none", observations=observations)


def _read(text: str, session: Session) -> Reflected:
    """Read the JSON object of a reply; say what is wrong with one that is none."""
    turn, at = session.tally.turns, session.now()
    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value: Any = json.loads(found.group()) if found else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return Reflected(turn=turn, at=at, error=f"no JSON object in the reply: {text[:STEP_SHOWN]!r}")
    if value.get("recommendation") not in RECOMMENDATIONS:
        return Reflected(turn=turn, at=at, error=f"no such recommendation: {value.get('recommendation')!r}")
    issues, confidence = value.get("issues"), value.get("confidence")
    return Reflected(
        turn=turn,
        at=at,
        on_track=value.get("on_track") if isinstance(value.get("on_track"), bool) else None,
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        issues=tuple(str(issue) for issue in issues) if isinstance(issues, list) else (),
        recommendation=value["recommendation"],
        revised_plan=str(value.get("revised_plan") or ""),
    )


def _reached(milestone: str, events: Sequence[Event]) -> bool:
    """True where one of the events reaches a milestone."""
    for event in events:
        if isinstance(event, Acted) and event.call.name == milestone and event.error is None:
            return True
        if isinstance(event, Asked) and f"[milestone: {milestone}]" in event.reply.text:
            return True
    return False
