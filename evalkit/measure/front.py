"""Which variants nobody beats in both cost and reliability: the Pareto front.

Invariant: a variant whose cost or value is unknown is neither on the front nor behind it, and none is pushed off by it.
"""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float | None, float | None]]) -> list[bool | None]:
    """Say of each (cost, value) whether it is on the front; None where either is unknown.

    A point is on the front unless another one costs no more and is worth no less, and differs from it. Estimates are taken as they
    are: two variants whose intervals overlap may well change places in another run.
    """
    known = [(cost, value) for cost, value in points if cost is not None and value is not None]
    found: list[bool | None] = []
    for cost, value in points:
        if cost is None or value is None:
            found.append(None)
        else:
            found.append(not any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in known))
    return found
