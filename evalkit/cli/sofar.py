"""pass^n while a run goes on: of the tasks whose trials are all in, the share of which every one passed.

Invariant: a task counts once all of its planned trials have a result, never before: a mean over whatever is in would be one of the tasks that
end soon. It is no result yet, and is shown with how many tasks it is of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

Place = tuple[str, str, str]
"""Suite, task, variant."""


@dataclass(slots=True)
class SoFar:
    """Counts the planned, measured and passed trials of each task under each variant."""

    planned: Counter[Place]
    measured: Counter[Place] = field(default_factory=Counter)
    passed: Counter[Place] = field(default_factory=Counter)

    @classmethod
    def of(cls, plan: Iterable[Place]) -> SoFar:
        """Begin with a plan, one entry a trial."""
        return cls(Counter(plan))

    def add(self, place: Place, outcome: str) -> None:
        """Count a trial; one in error has no result yet."""
        self.measured[place] += outcome != "error"
        self.passed[place] += outcome == "passed"

    def told(self) -> dict[str, str]:
        """Say it for each variant in the order of the plan: 0.67 of 3/12 tasks; a dash where no task is in yet."""
        said = {}
        for variant in dict.fromkeys(place[2] for place in self.planned):
            mine = [place for place in self.planned if place[2] == variant]
            whole = [place for place in mine if self.measured[place] >= self.planned[place]]
            hits = sum(self.passed[place] >= self.planned[place] for place in whole)
            share = f"{hits / len(whole):.2f}" if whole else "–"
            said[variant] = f"{share} of {len(whole)}/{len(mine)} tasks"
        return said

    def name(self) -> str:
        """What it is called: pass^8, or pass^n where tasks have unlike numbers of trials."""
        sizes = set(self.planned.values())
        return f"pass^{sizes.pop()}" if len(sizes) == 1 else "pass^n"
