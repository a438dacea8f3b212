"""What `run` is to play: all that its files hold, and what the flags choose of it.

Invariant: what was not chosen is kept beside, since a run's identity is that of its files and not of a choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit.cli.options import Values
from evalkit.cli.sofar import SoFar
from evalkit.core.plan import Config, Suite, Trial, Variant
from evalkit.core.sandbox import PLAIN, Sandbox
from evalkit.load import load
from evalkit.run.schedule import schedule
from evalkit.run.select import Choice, select
from evalkit.store.runstore import RunStore


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run: all that the files hold, and what was chosen of it."""

    all_suites: tuple[Suite, ...]
    all_variants: tuple[Variant, ...]
    suites: tuple[Suite, ...]
    config: Config
    seed: int
    abreast: int = 1
    sandbox: Sandbox = PLAIN
    level: str = ""

    def trials(self) -> Iterator[Trial]:
        """The trials that this makes, in their order."""
        return schedule(self.suites, self.config.variants, self.seed, self.sandbox, abreast=self.abreast)


def chosen(values: Values) -> Plan:
    """Load the files and choose from them."""
    suites, config = load([Path(one) for one in values.suites], [Path(one) for one in values.config])
    choice = Choice(
        variants=tuple(values.variant),
        tasks=tuple(values.task),
        tags=tuple(values.tag),
        limit=values.limit,
        trials=values.trials,
    )
    some, config_of_some = select(suites, config, choice)
    abreast = values.jobs if values.first_failure else 1
    return Plan(suites, config.variants, some, config_of_some, seed=values.seed, abreast=abreast)


def so_far(plan: Plan, store: RunStore) -> SoFar:
    """pass^n of what the run holds already of a plan."""
    found = SoFar.of((trial.key.suite, trial.key.task, trial.key.variant) for trial in plan.trials())
    chosen = {trial.key.digest for trial in plan.trials()}
    held = store.columns()
    for key, *place, outcome in zip(held.key, held.suite, held.task, held.variant, held.outcome, strict=True):
        if key in chosen:
            found.add((place[0], place[1], place[2]), outcome)
    return found
