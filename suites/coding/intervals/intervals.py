"""Intervals on a line, as pairs (start, end) with start <= end."""


def merge(intervals):
    """Join intervals that overlap or touch; the result is sorted by start."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def length(intervals):
    """Return how much of the line the intervals cover together."""
    return sum(end - start for start, end in merge(intervals))
