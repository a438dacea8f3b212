"""Evidence as graders get it: an answer, and a workspace or database as an agent left it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.core.errors import ProviderError
from evalkit.core.message import JSON, Message, Reply
from evalkit.core.plan import Spec, Task
from evalkit.core.protocols import CheckResult, Environment, Evidence
from evalkit.core.sandbox import Sandbox
from evalkit.engine.ground import TrialGround
from evalkit.parts import build


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What an agent left (`core.protocols.Evidence`); there is no model to consult."""

    task: Task
    answer: str
    world: Environment
    ground: TrialGround
    transcript: tuple[Message, ...] = ()

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the check's processes."""
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
        """Refuse."""
        raise ProviderError("there is no model here")


def evidence(ground: TrialGround, answer: str = "", environment: Mapping[str, Any] | None = None) -> Left:
    """Make evidence; `environment` is written as in a suite."""
    options = dict(environment or {"kind": "bare"})
    spec = Spec(kind=options.pop("kind"), options=options)
    task = Task(suite="s", id="t", prompt="p", graders=(), environment=spec, base=str(ground.base))
    return Left(task=task, answer=answer, world=build("environments", spec).open(ground), ground=ground)


def judge(kind: str, given: Evidence, **options: Any) -> CheckResult:
    """Build a check and ask it."""
    result: CheckResult = build("checks", Spec(kind=kind, options=options)).judge(given)
    return result
