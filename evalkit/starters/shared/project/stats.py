"""Small statistics."""

from __future__ import annotations


def median(values: list[float]) -> float:
    """The middle value; of an even number of values the mean of the two in the middle."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
