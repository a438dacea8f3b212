"""pass^n while a run goes on: of the tasks whose trials are all in, the share of which every one passed.

Invariant: a task counts once all of its planned trials have a result, never before: a mean over whatever is in would be one of the tasks that
end soon. It is no result yet, and is shown with how many tasks it is of: those that are in first may still be the short ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

Place = tuple[str, str, str]
"""Suite, task, variant."""


@dataclass(slots=True)
class Whole:
    """Of a variant's `planned` tasks, how many are all in, and how many of those every trial passed."""

    planned: int = 0
    tasks: int = 0
    passed: int = 0


@dataclass(slots=True)
class SoFar:
    """Counts the trials of each task under each variant that are still out or failed, and each variant's whole tasks."""

    sizes: frozenset[int]
    out: Counter[Place]
    unpassed: Counter[Place]
    whole: dict[str, Whole]

    @classmethod
    def of(cls, plan: Iterable[Place]) -> SoFar:
        """Begin with a plan, one entry a trial."""
        planned = Counter(plan)
        whole: dict[str, Whole] = {}
        for _, _, variant in planned:
            whole.setdefault(variant, Whole()).planned += 1
        return cls(frozenset(planned.values()), planned, planned.copy(), whole)

    def add(self, place: Place, outcome: str) -> None:
        """Count a trial of the plan; one in error has no result yet."""
        if outcome == "error":
            return
        self.out[place] -= 1
        self.unpassed[place] -= outcome == "passed"
        if self.out[place] == 0:
            mine = self.whole[place[2]]
            mine.tasks += 1
            mine.passed += self.unpassed[place] == 0

    def told(self) -> dict[str, str]:
        """Say it for each variant in the order of the plan: 0.67 of 3/12 tasks; a dash where no task is in yet."""
        return {
            variant: f"{f'{one.passed / one.tasks:.2f}' if one.tasks else '–'} of {one.tasks}/{one.planned} tasks"
            for variant, one in self.whole.items()
        }

    def name(self) -> str:
        """What it is called: pass^8, or pass^n where tasks have unlike numbers of trials."""
        return f"pass^{next(iter(self.sizes))}" if len(self.sizes) == 1 else "pass^n"
