"""Makers of small plans, shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import settings

from evalkit.core.clock import Clock, ManualClock
from evalkit.core.message import JSON, Nature, Price, Request, ToolSpec
from evalkit.core.plan import Spec, Task, Trial, Variant, trial_key
from evalkit.core.protocols import Check, CheckResult, ContextPolicy, EnvironmentPart, Evidence, Loop, Parts, Tool
from evalkit.core.record import TrialRecord
from evalkit.engine.trial import play_trial
from evalkit.parts.context.full import Full
from evalkit.parts.environments.bare import Bare
from evalkit.parts.loops.react import React
from evalkit.parts.providers.scripted import Line, Scripted, ScriptedProvider

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("searching", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
"""Steady: the same examples each time, so that a red run is a change's own fault; `HYPOTHESIS_PROFILE=searching` draws new ones.

Neither has a deadline: no test asserts a time, and machines are noisy.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """A check that answers as it was told, or raises."""

    verdict: Any = "pass"
    error: Exception | None = None

    def judge(self, evidence: Evidence) -> CheckResult:
        """Answer."""
        if self.error is not None:
            raise self.error
        return CheckResult(verdict=self.verdict, reason="as told")


@dataclass(slots=True, kw_only=True)
class Does:
    """A tool that does what a function does, and keeps what it was given."""

    name: str
    action: Callable[[Mapping[str, JSON]], str]
    schema: Mapping[str, JSON] = field(default_factory=lambda: {"type": "object"})
    writes: bool = False
    critical: bool = False
    given: list[Mapping[str, JSON]] = field(default_factory=list)

    def spec(self, base: object) -> ToolSpec:
        """Describe it."""
        return ToolSpec(
            name=self.name,
            description="a test's tool",
            input_schema=self.schema,
            writes=self.writes,
            critical=self.critical,
        )

    def use(self, arguments: Mapping[str, JSON], world: object, base: object) -> str:
        """Do it."""
        self.given.append(arguments)
        return self.action(arguments)


FULL: Sequence[tuple[str, ContextPolicy]] = (("full", Full()),)


class Watched:
    """A provider that follows a script; `requests` is what it was asked in its first trial."""

    nature: ClassVar[Nature] = "simulated"

    def __init__(self, *script: Line, usd_price: Price | None = None) -> None:
        """Keep the script."""
        self.part = Scripted(script=script, usd_price=usd_price)
        self.opened: list[ScriptedProvider] = []

    @property
    def requests(self) -> list[Request]:
        """What was asked."""
        return self.opened[0].requests

    def ready(self) -> str | None:
        """Always."""
        return None

    def price(self) -> Price | None:
        """As the script says."""
        return self.part.price()

    def window(self) -> int | None:
        """As the script says."""
        return self.part.window()

    def open(self, trial: Trial) -> ScriptedProvider:
        """Open, and keep what was opened."""
        self.opened.append(self.part.open(trial))
        return self.opened[-1]


def a_trial(task: Mapping[str, Any] | None = None, variant: Mapping[str, Any] | None = None, index: int = 1) -> Trial:
    """Make a trial; the mappings replace fields of its task and variant."""
    made_task = Task(**{"suite": "s", "id": "t", "prompt": "do it", "graders": (Spec(kind="equals"),), **(task or {})})
    made_variant = Variant(**{"name": "v", "provider": Spec(kind="scripted"), **(variant or {})})
    key = trial_key(made_task, made_task.digest, made_variant, made_variant.digest, index)
    return Trial(key=key, task=made_task, variant=made_variant, seed=7)


def play_script(
    *script: Line,
    trial: Trial | None = None,
    tools: Sequence[Tool] = (),
    grader: Check | None = None,
    loop: Loop | None = None,
    environment: EnvironmentPart | None = None,
    provider: Any = None,
    clock: Clock | None = None,
    checks: Sequence[Check] = (),
    detectors: Sequence[Any] = (),
    guardrails: Sequence[Any] = (),
    fragments: Sequence[str] = (),
    policies: Sequence[tuple[str, ContextPolicy]] | Callable[..., Any] = FULL,
) -> TrialRecord:
    """Play one trial against a scripted model."""
    parts = Parts(
        loop=loop or React(),
        provider=provider or Scripted(script=script),
        policies=policies if callable(policies) else lambda _: tuple(policies),
        environment=environment or Bare(),
        tools=tuple(tools),
        checks=tuple(checks),
        graders=(grader or Says(),),
        detectors=tuple(detectors),
        guardrails=tuple(guardrails),
        fragments=tuple(fragments),
    )
    return play_trial(trial or a_trial(), parts, clock or ManualClock())


@pytest.fixture
def says() -> type[Says]:
    """The check that answers as told."""
    return Says


@pytest.fixture
def watched() -> type[Watched]:
    """The provider whose requests can be looked at."""
    return Watched


@pytest.fixture
def does() -> type[Does]:
    """The tool that does as told."""
    return Does


@pytest.fixture
def make_trial() -> Callable[..., Trial]:
    """A maker of trials."""
    return a_trial


@pytest.fixture
def play() -> Callable[..., TrialRecord]:
    """A player of scripts."""
    return play_script
