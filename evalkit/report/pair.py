"""Two trials of a task as text: what they did alike told once, and from where they part one beside the other.

Invariant: nothing of either trial is left out; where the terminal is too narrow for two columns, one stands below the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from evalkit.core.plan import Caps
from evalkit.core.record import TrialRecord
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
    shared: int,
    width: int = 80,
    *,
    color: bool = False,
    piece: int | None = PIECE,
    caps: Mapping[str, Caps] | None = None,
) -> str:
    """Tell two trials, of which the first `shared` tool calls are alike, in lines of at most `width` columns; `piece` bounds each text."""
    ink, limits = Ink(on=color), caps or {}
    told = [story(record, piece, limits.get(record.key.variant)) for record in (one, other)]
    lines = [line for found in told for line in (*head_lines(found["head"], width, ink), "")]
    parts = [_parted(found["steps"], shared) for found in told]
    if shared:
        what = f"Alike in the first {times(shared, 'tool call')}, as the first of the two made them:"
        lines += [ink(line, "bold") for line in wrap(what, width)] + _lines(parts[0][0], width, ink)
    where = f"Here they part, at tool call {shared + 1}." if shared else "They part from the first tool call on."
    lines += ["", *(ink(line, "bold") for line in wrap(where, width)), ""]
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
