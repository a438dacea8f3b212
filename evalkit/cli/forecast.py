"""A planned run as one JSON object: its trials, what they may and will probably cost, and what they could show.

Invariant: what is not known (a price, a cap, a pilot) is null, with the reason where there is one, and makes every sum that needs it null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.core.errors import RunInvalid
from evalkit.core.plan import Config, Suite
from evalkit.measure.power import Law, Prospect, assumed, beta_law, half_width, pilot_law, piloted
from evalkit.measure.table import Table
from evalkit.report.numbers import times

SIZES = (8, 12, 16)
"""Trials a task that are looked at beside those that are planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """A run that was made before, and its name."""

    run: str
    table: Table

    @property
    def baseline(self) -> str:
        """The variant that stands for today's agent: the run's baseline, else its first."""
        return self.table.baseline or self.table.variants[0]

    def law(self) -> Law:
        """The tasks' chances under the baseline; raises `RunInvalid` where none of its trials has a verdict."""
        place = self.table.find_variant(self.baseline)
        passed, failed = self.table.passed[:, place], self.table.failed[:, place]
        if not (passed + failed).any():
            raise RunInvalid(f"the pilot {self.run} has no trial of {self.baseline} that passed or failed")
        return pilot_law(passed + failed, passed)

    def pairs(self, k: int, drop: float) -> list[Prospect]:
        """What the pilot's own comparisons forecast, each where both variants are whole, of equal trials and of at least k."""
        table, first = self.table, self.table.find_variant(self.baseline)
        planned = table.planned
        whole = [bool(table.defined[:, place].all()) for place in range(len(table.variants))]
        return [
            piloted(planned[:, first], table.passed[:, first], table.passed[:, place], k, drop)
            for place in range(len(table.variants))
            if place != first
            and whole[first]
            and whole[place]
            and (planned[:, first] == planned[:, place]).all()
            and planned[:, first].min() >= k
            and len(table.tasks) > 1
        ]

    def usd(self, variant: str) -> float | None:
        """Mean dollars of a trial of this variant, or of all where the pilot has no such; None where a price is unknown."""
        rows = np.ones(self.table.usd.shape, dtype=bool)
        if variant in self.table.variants:
            rows = self.table.variant == self.table.find_variant(variant)
        spent = self.table.usd[rows]
        return None if spent.size == 0 or np.isnan(spent).any() else float(spent.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is to be shown: a `drop` in pass^`k` with a chance of `power`, of tasks of this `mean` and `spread` where there is no pilot."""

    k: int | None
    drop: float
    power: float
    mean: float
    spread: float


def forecast(suites: Sequence[Suite], config: Config, aim: Aim, pilot: Pilot | None) -> dict[str, Any]:
    """Give what `plan --json` prints; raises `ConfigurationError` for an aim that cannot be."""
    planned = [task.trials for suite in suites for task in suite.tasks]
    k = aim.k or min(planned)
    law = pilot.law() if pilot else beta_law(aim.mean, aim.spread)
    prospects = {kind: assumed(law, k, aim.drop, kind) for kind in ("diffuse", "broken")}
    observed = pilot.pairs(k, aim.drop) if pilot else []
    if observed:
        prospects["pilot"] = max(observed, key=lambda one: one.variance(k))
    variants = {one.name: _cost(one.caps.usd, sum(planned), pilot, one.name) for one in config.variants}
    sizes = sorted({n for n in (min(planned), *SIZES) if n >= k} or {k})
    return {
        "tasks": len(planned),
        "trials": sum(planned) * len(variants),
        "trials_per_task": [min(planned), max(planned)],
        "variants": variants,
        **{name: _sum([one[name] for one in variants.values()]) for name in ("worst_usd", "expected_usd")},
        "aim": {"k": k, "drop": aim.drop, "power": aim.power, "confidence": 0.95},
        "law": {
            "source": "assumed" if pilot is None else "pilot",
            "pilot": None if pilot is None else pilot.run,
            "variant": None if pilot is None else pilot.baseline,
            "mean": law.mean(),
            "spread": max(0.0, law.mean(2) - law.mean() ** 2) ** 0.5,
            "pass_hat": law.mean(k),
        },
        "notes": list(_notes(min(planned), k, pilot)),
        "sizes": [_size(n, len(planned), len(variants), prospects, aim) for n in sizes],
    }


def _notes(planned: int, k: int, pilot: Pilot | None) -> Iterator[str]:
    """Say what the plan, or a pilot as bare as this one, cannot show."""
    if planned < k:
        yield f"{times(planned, 'trial')} a task, as planned, cannot show pass^{k}: give -n {k} or more, or a smaller -k."
    if pilot is None:
        return
    place = pilot.table.find_variant(pilot.baseline)
    passed, failed = pilot.table.passed[:, place], pilot.table.failed[:, place]
    tried = passed + failed
    if int((tried > 0).sum()) == 1:
        yield "The pilot has one task: how tasks differ cannot be told from it, and all are taken to be alike."
    if int(tried.max()) == 1:
        yield "The pilot has one trial a task: each is taken to pass one time in four or three in four, which says little. Give the pilot more trials."
    if not failed.any() or not passed.any():
        word = "passed" if passed.any() else "failed"
        yield f"Every trial of the pilot {word}: its tasks are taken to be (c + 1/2) / (n + 1), and not certain."
    lost = int((pilot.table.errors + pilot.table.missing)[:, place].sum())
    if lost:
        yield f"{lost} of the pilot's {int(pilot.table.planned[:, place].sum())} trials are missing or in error: the forecast is that of the others."


def _cost(cap: float | None, trials: int, pilot: Pilot | None, name: str) -> dict[str, Any]:
    """One variant: its trials, their dollars if every one met its cap, and as the pilot's trials cost."""
    each = pilot.usd(name) if pilot else None
    return {
        "trials": trials,
        "cap_usd": cap,
        "worst_usd": None if cap is None else cap * trials,
        "expected_usd": None if each is None else each * trials,
        "in_pilot": pilot is not None and name in pilot.table.variants,
    }


def _sum(parts: Sequence[float | None]) -> float | None:
    """Add up what is known whole."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _size(n: int, tasks: int, variants: int, prospects: dict[str, Prospect], aim: Aim) -> dict[str, Any]:
    """What n trials a task would buy."""
    first = prospects["diffuse"]
    return {
        "n": n,
        "trials": n * tasks * variants,
        "power": {kind: one.power(tasks, n) for kind, one in prospects.items()},
        "tasks_needed": {kind: one.tasks_needed(n, power=aim.power) for kind, one in prospects.items()},
        "half_width": half_width(first.first, tasks, n, first.k),
    }
