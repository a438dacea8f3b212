"""Evidence as graders get it: an answer, and a workspace or database as an agent left it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.core.plan import Spec, Task
from evalkit.core.protocols import CheckResult, Environment, Evidence
from evalkit.engine.grading import FinalEvidence
from evalkit.engine.ground import TrialGround
from evalkit.parts import build


def evidence(ground: TrialGround, answer: str = "", environment: Mapping[str, Any] | None = None) -> FinalEvidence:
    """Make evidence; `environment` is written as in a suite."""
    options = dict(environment or {"kind": "bare"})
    spec = Spec(kind=options.pop("kind"), options=options)
    task = Task(suite="s", id="t", prompt="p", graders=(), environment=spec, base=str(ground.base))
    world: Environment = build("environments", spec).open(ground)
    return FinalEvidence(task=task, answer=answer, transcript=(), world=world, ground=ground)


def judge(kind: str, given: Evidence, **options: Any) -> CheckResult:
    """Build a check and ask it."""
    result: CheckResult = build("checks", Spec(kind=kind, options=options)).judge(given)
    return result
