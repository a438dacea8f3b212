"""What a report must know of a run besides its trials: where it came from, and how to make it again.

Invariant: plain facts as the run's folder holds them; nothing here is counted from trials, so that no number has two sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalkit.core.message import Nature
from evalkit.core.plan import Gate, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The facts of a run.

    `run` is its name, `created` a stamp for people, `command` what makes it again. `commit` is empty where there is
    none, and `dirty` says that the tree had changes. `baseline` names the variant that the others are compared with.
    """

    run: str
    suites: tuple[str, ...]
    variants: tuple[Variant, ...]
    natures: tuple[Nature, ...] = ()
    created: str = ""
    baseline: str | None = None
    gates: tuple[Gate, ...] = ()
    seed: int = 0
    commit: str = ""
    dirty: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
