"""Two trials of a task as text: what they did alike told once, and from where they part one beside the other.

Invariant: a sentence says where the two part only where they do. The tool calls that they share are told as the first made them, and where
the other's results differ from them that is said; nothing else of either is left out. Where the terminal is too narrow for two columns, one
stands below the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from evalkit.core.plan import Caps
from evalkit.core.record import Acted, TrialRecord
from evalkit.measure.divergence import shared, steps
from evalkit.report.clean import clean_line
from evalkit.report.layout import Ink, columns, wrap
from evalkit.report.numbers import times
from evalkit.report.steps import Step
from evalkit.report.story import PIECE, story
from evalkit.report.trace import OUTCOMES, head_lines, step_lines

BESIDE = 100
"""Columns of a terminal from which on two trials stand beside each other."""

GAP = " │ "


def pair_text(
    one: TrialRecord,
    other: TrialRecord,
    width: int = 80,
    *,
    color: bool = False,
    piece: int | None = PIECE,
    caps: Mapping[str, Caps] | None = None,
) -> str:
    """Tell two trials in lines of at most `width` columns; `piece` bounds each text."""
    ways = steps(one), steps(other)
    common = shared(*ways)
    ink, limits = Ink(on=color), caps or {}
    told = [story(record, piece, limits.get(record.key.variant)) for record in (one, other)]
    lines = [line for found in told for line in (*head_lines(found["head"], width, ink), "")]
    parts = [_parted(found["steps"], common) for found in told]
    if common:
        what = f"Alike in the first {times(common, 'tool call')}, as the first of the two made them:"
        lines += [ink(line, "bold") for line in wrap(what, width)] + _lines(parts[0][0], width, ink)
    said = f"{_unlike(one, other, common)}{_where((one, other), (len(ways[0]), len(ways[1])), common)}"
    lines += ["", *(ink(line, "bold") for line in wrap(said, width)), ""]
    names = [_name(record) for record in (one, other)]
    if width >= BESIDE:
        room = (width - len(GAP)) // 2
        sides = [
            [*wrap(name, room), *_lines(rest, room, Ink(on=False))]
            for name, (_, rest) in zip(names, parts, strict=True)
        ]
        lines += [
            f"{left}{' ' * (room - columns(left))}{GAP}{right}" for left, right in zip_longest(*sides, fillvalue="")
        ]
    else:
        for name, (_, rest) in zip(names, parts, strict=True):
            lines += [ink(line, "bold") for line in wrap(name, width)] + _lines(rest, width, ink) + [""]
    return "\n".join(line.rstrip() for line in lines).rstrip()


def _where(pair: tuple[TrialRecord, TrialRecord], made: tuple[int, int], common: int) -> str:
    """Say where two trials part, of which each `made` so many tool calls and both the same `common` first ones."""
    blind = [_short(record) for record in pair if not record.events]
    if blind:
        return f"Where they part is not known: no trace was kept of {' and '.join(blind)}."
    if common == max(made):
        which = "Their tool calls are all alike" if common else "Neither of them called a tool"
        return f"{which}: what is left of each is only what it said and how it ended."
    if common == min(made):
        ended, went_on = pair if made[0] == common else pair[::-1]
        after = f"after tool call {common}" if common else "before its first tool call"
        return f"Here they part: {_short(ended)} ended {after}, {_short(went_on)} went on."
    return f"Here they part, at tool call {common + 1}." if common else "They part from the first tool call on."


def _unlike(one: TrialRecord, other: TrialRecord, common: int) -> str:
    """Say where the results of shared tool calls differ, or nothing."""
    results = [
        [(event.result.content, event.error) for event in record.events if isinstance(event, Acted) and not event.agent]
        for record in (one, other)
    ]
    unlike = [at for at in range(common) if results[0][at] != results[1][at]]
    if not unlike:
        return ""
    whose = f"{_short(other)} got {'another result' if len(unlike) == 1 else 'other results'}"
    return f"Of these, {whose} at tool call {', '.join(str(at + 1) for at in unlike[:5])}{' and on' if unlike[5:] else ''}. "


def _short(record: TrialRecord) -> str:
    """A trial within a sentence."""
    return clean_line(f"trial {record.key.index} of {record.key.variant}")


def _parted(steps: Sequence[Step], shared: int) -> tuple[Sequence[Step], Sequence[Step]]:
    """Cut a trial's steps behind the result of its last shared tool call; what the model said to come to the next one belongs to that."""
    if not shared:
        return (), steps
    last = next((at for at, step in enumerate(steps) if step["act"] == shared), len(steps) - 1)
    ends = (at for at, step in enumerate(steps) if at > last and step["kind"] == "result")
    cut = next(ends, last) + 1
    return steps[:cut], steps[cut:]


def _lines(steps: Sequence[Step], width: int, ink: Ink) -> list[str]:
    """Tell some steps."""
    lines: list[str] = []
    turn = None
    for step in steps:
        lines += step_lines(step, width, ink, numbered=step["turn"] != turn)
        turn = step["turn"]
    return lines or ["  (nothing more)"]


def _name(record: TrialRecord) -> str:
    """Which of the two it is."""
    symbol, _ = OUTCOMES[record.outcome]
    return clean_line(f"{symbol} {record.key.variant}, trial {record.key.index}: {record.outcome}")
