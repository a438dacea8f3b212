"""Trials of the user's own agents, made and played as a run does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.core.plan import Caps, Spec, Task, Trial, Variant, trial_key
from evalkit.core.record import Reported, TrialRecord
from evalkit.core.sandbox import PLAIN, Sandbox
from evalkit.run.play import play

ANSWERED = Spec(kind="state", options={"files": {"answer.txt": "42\n"}})


def play_agent(
    kind: str,
    options: Mapping[str, Any],
    *,
    base: Path,
    caps: Caps | None = None,
    environment: str = "workspace",
    grader: Spec = ANSWERED,
    sandbox: Sandbox = PLAIN,
    **other: Any,
) -> TrialRecord:
    """Play one trial of a task under an agent of the user's own; `other` are fields of the variant, `task` those of the task, `world` options of its environment."""
    fields = other.pop("task", {})
    task = Task(
        suite="own",
        id="write",
        prompt="Write 42 into answer.txt",
        graders=(grader,),
        environment=Spec(kind=environment, options=other.pop("world", {})),
        base=str(base),
        **fields,
    )
    variant = Variant(
        name="mine",
        loop=Spec(kind=kind, options=options),
        caps=caps or Caps(seconds=30.0),
        base=str(base),
        **other,
    )
    key = trial_key(task, task.digest, variant, variant.digest, 1)
    return play(Trial(key=key, task=task, variant=variant, seed=1, sandbox=sandbox))


def reported(record: TrialRecord, origin: str) -> list[str]:
    """What a trace tells that the agent let out."""
    return [one.text for one in record.events if isinstance(one, Reported) and one.origin == origin]
