"""Checks made on a final state, each contained, each on a copy of its own.

Invariant: a grader that crashed or could not say makes no pass and no failure. One that says fail decides: no other
answer could turn the trial into a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.clock import Clock
from evalkit.core.errors import GraderBroke
from evalkit.core.message import JSON, Message
from evalkit.core.plan import Spec, Task
from evalkit.core.protocols import Check, CheckResult, Environment
from evalkit.core.record import Checked, Verdict
from evalkit.engine.contain import contain, explain
from evalkit.engine.ground import TrialGround


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEvidence:
    """What graders may look at (`core.protocols.Evidence`)."""

    task: Task
    answer: str
    transcript: tuple[Message, ...]
    world: Environment
    ground: TrialGround

    def state(self) -> JSON:
        """The environment's observable state."""
        return self.world.state()

    def copy(self) -> Path:
        """A fresh folder with a copy of the state."""
        folder = self.ground.folder()
        self.world.export(folder)
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The graders' word on a trial: their verdicts, the one that follows, and what broke among them."""

    verdict: Verdict
    checked: tuple[Checked, ...]
    error: str = ""


def grade(specs: Sequence[Spec], graders: Sequence[Check], evidence: FinalEvidence, clock: Clock, turn: int) -> Grade:
    """Ask all graders; the verdict is fail if any fails, else unknown if any could not say, else pass."""
    checked = tuple(_ask(spec, grader, evidence, clock, turn) for spec, grader in zip(specs, graders, strict=True))
    verdicts = [one.verdict for one in checked]
    verdict: Verdict = "fail" if "fail" in verdicts else "unknown" if "unknown" in verdicts else "pass"
    unsure = [f"grader {one.kind}: {one.reason or 'could not say'}" for one in checked if one.verdict == "unknown"]
    return Grade(verdict=verdict, checked=checked, error="\n".join(unsure) if verdict == "unknown" else "")


def _ask(spec: Spec, grader: Check, evidence: FinalEvidence, clock: Clock, turn: int) -> Checked:
    """Ask one grader; a crash counts as `unknown`, with its output as the reason."""
    at, start = clock.time(), clock.monotonic()
    result, broke = contain(lambda: grader.judge(evidence))
    if not isinstance(result, CheckResult):
        reason = str(broke) if isinstance(broke, GraderBroke) else explain(broke) if broke else "no result"
        result = CheckResult(verdict="unknown", reason=f"broke: {reason}")
    return Checked(
        turn=turn,
        stage="grader",
        kind=spec.kind,
        verdict=result.verdict,
        reason=result.reason,
        at=at,
        seconds=clock.monotonic() - start,
    )
