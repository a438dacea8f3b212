"""A trial as text, to be read like a story in a terminal.

Invariant: nothing that the trial wrote reaches the terminal but through `story`, which makes it harmless and bounded.
"""

from __future__ import annotations

from evalkit.core.plan import Caps
from evalkit.core.record import TrialRecord
from evalkit.report.layout import Ink, columns, fit, wrap
from evalkit.report.steps import Step
from evalkit.report.story import PIECE, Head, story

OUTCOMES = {"passed": ("✓", "good"), "failed": ("✗", "bad"), "error": ("!", "warn")}
"""Symbol and style of each outcome, the same wherever outcomes are shown."""

SYMBOLS = {
    "thought": "…",
    "model": "●",
    "call": "→",
    "result": "←",
    "retry": "↻",
    "note": "✎",
    "check": "?",
    "grader": "?",
    "stop": "■",
    "broken": "!",
    "cut": "⋮",
    "mechanism": "◆",
}
VERDICTS = {"good": "✓", "bad": "✗", "warn": "?"}

GUTTER = 5
INDENT = " " * (GUTTER + 2)


def trace_text(
    record: TrialRecord, width: int = 80, *, color: bool = False, piece: int | None = PIECE, caps: Caps | None = None
) -> str:
    """Tell a trial turn by turn in lines of at most `width` columns; `piece` bounds each text, None shows all of it."""
    ink = Ink(on=color)
    told = story(record, piece, caps)
    lines = head_lines(told["head"], width, ink)
    turn = None
    for step in told["steps"]:
        lines += step_lines(step, width, ink, numbered=step["turn"] != turn)
        turn = step["turn"]
    if not told["steps"]:
        lines.append("  (the record holds no events)")
    return "\n".join(line.rstrip() for line in lines)


def head_lines(head: Head, width: int, ink: Ink) -> list[str]:
    """Say which trial this is, how it ended and what it cost."""
    symbol, style = OUTCOMES[head["outcome"]]
    title = f"{head['suite']} / {head['task']} · {head['variant']} · trial {head['index']}"
    lines = [ink(line, "bold") for line in wrap(title, width)]
    lines += [ink(line, style) for line in wrap(f"{symbol} {head['ending']}", width)]
    lines += wrap(" · ".join([f"stop {head['stop']}", *head["facts"]]), width)
    if head["gauges"]:
        used = " · ".join(f"{one['meter']} {one['used']}" for one in head["gauges"])
        lines += [ink(line, "dim") for line in wrap(f"caps: {used}", width)]
    lines += [ink(line, "dim") for line in wrap(f"{head['nature']} · seed {head['seed']} · {head['tokens']}", width)]
    return lines


def step_lines(step: Step, width: int, ink: Ink, *, numbered: bool) -> list[str]:
    """Tell one step: its turn where that is new, what it was, what is to be known of it, its text."""
    kind, tone = step["kind"], step["tone"]
    symbol = VERDICTS.get(tone, "?") if kind in ("check", "grader") else SYMBOLS[kind]
    number = f"{step['turn']:>{GUTTER - 2}}  " if numbered else " " * GUTTER
    style = "bold" if kind == "model" else "accent" if kind == "call" and tone == "plain" else tone
    room = width - GUTTER - 2
    label, meta = fit(step["label"], room), step["meta"]
    line = f"{ink(number, 'dim')}{ink(f'{symbol} {label}', style)}"
    lines = [line]
    if meta and columns(label) + columns(meta) + 2 <= room:
        lines = [line + "  " + ink(meta, "dim")]
    elif meta:
        lines += [ink(part, "dim") for part in wrap(meta, width, INDENT)]
    if step["text"]:
        dim = kind in ("thought", "result") and tone == "plain"
        lines += [ink(part, "dim" if dim else "plain") for part in wrap(step["text"], width, INDENT)]
    return ["", *lines] if numbered else lines
