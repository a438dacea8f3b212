"""Checks made on a state: the ladder that the loop may climb, and the graders that decide. Each is contained.

Invariant: a check that crashed or could not say makes no pass and no failure. A grader that says fail decides: no other
answer could turn the trial into a pass. The ladder stops at its first fail, and every rung that was asked is in the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalkit.core.clock import Clock
from evalkit.core.errors import GraderBroke
from evalkit.core.message import JSON, Message, Picture, Reply
from evalkit.core.plan import Spec, Task
from evalkit.core.protocols import Check, CheckResult, Environment
from evalkit.core.record import Checked, Verdict
from evalkit.core.sandbox import Sandbox
from evalkit.engine.contain import contain, explain
from evalkit.engine.ground import TrialGround


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldEvidence:
    """What checks may look at (`core.protocols.Evidence`)."""

    task: Task
    answer: str
    transcript: tuple[Message, ...]
    world: Environment
    ground: TrialGround
    asking: Callable[[tuple[Message, ...], int], Reply]

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the processes that a check starts."""
        return self.ground.sandbox

    def state(self) -> JSON:
        """The environment's observable state."""
        return self.world.state()

    def copy(self) -> Path:
        """A fresh folder with a copy of the state."""
        folder = self.ground.folder()
        self.world.export(folder)
        return folder

    def consult(self, messages: tuple[Message, ...], max_tokens: int) -> Reply:
        """Ask the model; the cost is counted."""
        return self.asking(messages, max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The checks' word on a state: the verdict that follows, what each said, what broke among them, and pictures of what failed."""

    verdict: Verdict
    checked: tuple[Checked, ...]
    error: str = ""
    pictures: tuple[Picture, ...] = ()

    @property
    def failure(self) -> str:
        """The verbatim reasons of the checks that failed."""
        return "\n\n".join(f"{one.kind}: {one.reason}" for one in self.checked if one.verdict == "fail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where checks are asked: each with its spec, on evidence, with a clock."""

    checks: Sequence[tuple[Spec, Check]]
    clock: Clock

    def grade(self, evidence: WorldEvidence, turn: int) -> Judged:
        """Ask all, in their order."""
        return _judged([self._ask(spec, check, evidence, turn, "grader") for spec, check in self.checks])

    def climb(self, evidence: WorldEvidence, turn: int) -> Judged:
        """Ask the cheapest first (`COST` of the check's class), and stop at the first fail."""
        asked: list[tuple[Checked, Picture | None]] = []
        for spec, check in sorted(self.checks, key=lambda pair: getattr(pair[1], "COST", 0)):
            asked.append(self._ask(spec, check, evidence, turn, "ladder"))
            if asked[-1][0].verdict == "fail":
                break
        return _judged(asked)

    def _ask(
        self, spec: Spec, check: Check, evidence: WorldEvidence, turn: int, stage: Literal["ladder", "grader"]
    ) -> tuple[Checked, Picture | None]:
        """Ask one check; a crash counts as `unknown`, with its output as the reason."""
        at, start = self.clock.time(), self.clock.monotonic()
        result, broke = contain(lambda: check.judge(evidence))
        if not isinstance(result, CheckResult):
            reason = str(broke) if isinstance(broke, GraderBroke) else explain(broke) if broke else "no result"
            result = CheckResult(verdict="unknown", reason=f"broke: {reason}")
        checked = Checked(
            turn=turn,
            stage=stage,
            kind=spec.kind,
            verdict=result.verdict,
            reason=result.reason,
            at=at,
            seconds=self.clock.monotonic() - start,
        )
        return checked, result.picture if result.verdict == "fail" else None


def _judged(asked: Sequence[tuple[Checked, Picture | None]]) -> Judged:
    """Put answers together: fail if any fails, else unknown if any could not say, else pass."""
    checked = tuple(one for one, _ in asked)
    pictures = tuple(picture for _, picture in asked if picture is not None)
    verdicts = [one.verdict for one in checked]
    verdict: Verdict = "fail" if "fail" in verdicts else "unknown" if "unknown" in verdicts else "pass"
    unsure = [f"grader {one.kind}: {one.reason or 'could not say'}" for one in checked if one.verdict == "unknown"]
    error = "\n".join(unsure) if verdict == "unknown" else ""
    return Judged(verdict=verdict, checked=checked, error=error, pictures=pictures)
