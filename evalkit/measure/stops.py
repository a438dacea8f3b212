"""Why trials stopped, and whether they had passed all the same.

Invariant: every recorded trial is counted exactly once, errors among them; missing trials have no stop and are not here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.measure.arrays import Ints
from evalkit.measure.table import OUTCOMES, PASSED, VERDICTS, Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stops:
    """Counts of trials: `counts` of shape (variants, reasons, 3), the last axis the codes of `table.OUTCOMES`.

    `would_pass` (variants, reasons) counts the trials that did not pass although the graders, asked about the state in
    which the trial stopped, said pass. Reasons are sorted, the most frequent of the run first.
    """

    variants: tuple[str, ...]
    reasons: tuple[str, ...]
    counts: Ints
    would_pass: Ints

    def of(self, variant: str) -> dict[str, int]:
        """Count a variant's trials by reason, reasons that it never had left out."""
        return self._named(self.counts.sum(axis=2)[self.variants.index(variant)])

    def passed(self, variant: str) -> dict[str, int]:
        """Count a variant's passed trials by reason."""
        return self._named(self.counts[self.variants.index(variant), :, PASSED])

    def by_outcome(self, variant: str) -> dict[str, dict[str, int]]:
        """Count a variant's trials by reason, and for each reason by outcome."""
        rows = self.counts[self.variants.index(variant)]
        return {
            reason: dict(zip(OUTCOMES, map(int, row), strict=True))
            for reason, row in zip(self.reasons, rows, strict=True)
            if row.any()
        }

    def would_have_passed(self, variant: str) -> dict[str, int]:
        """Count by reason a variant's trials that did not pass, but whose graders said pass."""
        return self._named(self.would_pass[self.variants.index(variant)])

    def _named(self, counts: Ints) -> dict[str, int]:
        """Put the reasons' names to their counts, zeros left out."""
        return {reason: int(count) for reason, count in zip(self.reasons, counts, strict=True) if count}


def stops(table: Table) -> Stops:
    """Count the stops of a run by variant, reason and outcome."""
    shape = (len(table.variants), len(table.stops), len(OUTCOMES))
    cells = (table.variant * shape[1] + table.stop) * shape[2] + table.outcome
    counts = np.bincount(cells, minlength=int(np.prod(shape))).astype(np.int64).reshape(shape)
    spared = (table.outcome != PASSED) & (table.graded == VERDICTS.index("pass"))
    spared_counts = np.bincount(cells[spared], minlength=counts.size).astype(np.int64).reshape(shape).sum(axis=2)
    order = sorted(range(shape[1]), key=lambda place: (-int(counts[:, place].sum()), table.stops[place]))
    return Stops(
        variants=table.variants,
        reasons=tuple(table.stops[place] for place in order),
        counts=counts[:, order],
        would_pass=spared_counts[:, order],
    )
