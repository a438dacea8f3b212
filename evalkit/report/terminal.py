"""A run in a terminal: the headline, the tasks, the gate and the comparison, as text.

Invariant: works on the JSON objects that `--json` prints, and shows no number that is not in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.report.clean import clean_line, clean_name
from evalkit.report.headline import (
    GATE_TONES,
    SENTENCE,
    caveats,
    deepest,
    depths,
    hat,
    how,
    metric_name,
    possible,
    reasons,
    size,
    verdict,
)
from evalkit.report.layout import GAPS, Cell, Column, Ink, columns, natural, spread, table, wrap
from evalkit.report.limits import limits, ways_out
from evalkit.report.natures import nature_caveats
from evalkit.report.numbers import MINUS, UNDEFINED, difference, dollars, interval, known, p_value, percent, rate

LEAST = 8
"""Columns that a name keeps however narrow the terminal is."""

WANTED = 16
"""Columns that a name gets where a table can be divided."""


def headline(summary: Mapping[str, Any], width: int = 80, *, color: bool = False) -> str:
    """Show a run (`show RUN --json`): one sentence, what limits it, the table of variants, and why trials ended."""
    ink = Ink(on=color)
    lines = [ink(line, "bold") for line in wrap(verdict(summary).sentence, width)]
    lines += wrap(f"{clean_name(summary['suite'])} · {size(summary)}", width)
    for caveat in caveats(summary):
        lines += [ink(line, "warn") for line in wrap(caveat, width)]
    if summary["variants"]:
        lines += ["", *_variants(summary, width, ink), "", *_stops(summary, width, ink)]
    return "\n".join(lines)


def task_table(tasks: Sequence[Mapping[str, Any]], width: int = 80, *, color: bool = False) -> str:
    """Show the trials that passed of each task under each variant (`summary.task_rows`); many variants make several tables."""
    ink = Ink(on=color)
    names = list(dict.fromkeys(name for task in tasks for name in task["variants"]))
    if not tasks:
        return "No task."
    several = len({task["suite"] for task in tasks}) > 1
    firsts = [Cell(text=_task_name(task, several=several)) for task in tasks]
    lines: list[str] = []
    for group in _groups(names, width):
        header = [Column(header="task", right=False, least=WANTED)]
        header += [Column(header=clean_name(name), least=LEAST) for name in group]
        rows = [
            [first, *(_counted(task["variants"].get(name)) for name in group)]
            for first, task in zip(firsts, tasks, strict=True)
        ]
        lines += [*([""] if lines else []), *table(header, rows, width, ink)]
    if any(cell["errors"] or cell["missing"] for task in tasks for cell in task["variants"].values()):
        lines += ["", ink("! trials in error, ? missing trials", "dim")]
    return "\n".join(lines)


def gate_text(gate: Mapping[str, Any], width: int = 80, *, color: bool = False) -> str:
    """Show a gate (`gate RUN --json`): its verdict, then each rule with what it found."""
    ink = Ink(on=color)
    symbol, word, tone = GATE_TONES[gate["verdict"]]
    lines = [ink(f"{symbol} gate: {word}", tone)]
    if gate.get("why"):
        lines += wrap(clean_line(gate["why"], SENTENCE), width, "  ")
    for note in gate.get("notes", ()):
        lines += [ink(line, "warn") for line in wrap(clean_line(note, SENTENCE), width, "  ")]
    for rule in gate["rules"]:
        symbol, word, tone = GATE_TONES[rule["verdict"]]
        parts = [clean_name(rule[part]) for part in ("variant", "task") if rule.get(part)]
        name = " · ".join([clean_line(rule["rule"], SENTENCE), *parts])
        head, *rest = wrap(f"{name}: {word}", width, "    ")
        lines += [ink(f"  {symbol} {head.strip()}", tone), *rest]
        lines += wrap(clean_line(rule["sentence"], SENTENCE), width, "    ")
    for hint in ways_out(gate):
        lines += wrap(hint, width, "  ")
    return "\n".join(lines)


def compare_text(compared: Mapping[str, Any], width: int = 80, *, color: bool = False) -> str:
    """Show a comparison (`compare A B --json`): each sentence, then the table of differences, and what the configs differ in."""
    ink = Ink(on=color)
    lines = [
        ink(line, "warn") for caveat in nature_caveats(compared.get("natures", ())) for line in wrap(caveat, width)
    ]
    lines += [] if compared["comparisons"] else ["Nothing to compare: there is no other variant."]
    if "runs" in compared:
        runs = compared["runs"]
        text = f"{clean_name(runs['candidate']['run'])} against {clean_name(runs['baseline']['run'])}, the baseline"
        lines[:0] = [ink(line, "bold") for line in wrap(text, width)]
    for note in compared.get("notes", ()):
        lines += [ink(line, "warn") for line in wrap(clean_line(note, SENTENCE), width)]
    for one in compared["comparisons"]:
        lines += wrap(f"{_mark(one)} {clean_line(one['sentence'], SENTENCE)}", width)
    if compared["comparisons"]:
        lines += ["", *_differences(compared, width, ink)]
    for one in compared.get("stops", ()):
        if isinstance(one, Mapping) and one.get("sentence"):
            lines += wrap(f"stops: {clean_line(one['sentence'], SENTENCE)}", width)
    for limit in limits(compared["comparisons"], compared.get("stops", ())):
        lines += ["", *(ink(line, "dim") for line in wrap(limit, width))]
    differs = [clean_name(pointer) for pointer in compared.get("configs", {}).get("differs", ())]
    lines += ["", *wrap(f"configs differ in: {', '.join(differs) or 'nothing'}", width)]
    return "\n".join(lines)


def _variants(summary: Mapping[str, Any], width: int, ink: Ink) -> list[str]:
    """The table of variants; where it is too wide each name stands above its numbers, and then fewer k are shown."""
    most = deepest(summary)
    ks = [1, *depths(most)] if most > 1 else [1]
    names = [clean_name(name) for name in summary["variants"]]
    header, rows = _numbers(summary, ks)
    named = [[Cell(text=name, style="bold"), *row] for name, row in zip(names, rows, strict=True)]
    whole = [Column(header="variant", right=False), *header]
    if spread(natural(whole, named), GAPS[-1]) <= width:
        lines = table(whole, named, width, ink)
    else:
        if spread(natural(header, rows), GAPS[-1]) > width:
            ks = sorted({1, ks[-1]})
            header, rows = _numbers(summary, ks)
        head, *drawn = table(header, rows, width, ink)
        lines = [head]
        for name, row in zip(names, drawn, strict=True):
            lines += [*(ink(part, "bold") for part in wrap(name, width)), row]
    made = how(summary)
    lines += [ink(line, "dim") for line in wrap(made, width)] if made else []
    why = list(reasons(summary, ks))
    lines += [""] * bool(why)
    for reason in why:
        lines += [ink(line, "dim") for line in wrap(reason, width)]
    return lines


def _numbers(summary: Mapping[str, Any], ks: Sequence[int]) -> tuple[list[Column], list[list[Cell]]]:
    """The table of variants but for their names."""
    header = [Column(header=metric_name(k)) for k in ks]
    header += [Column(header=name) for name in ("interval", "caps", "err", "$/trial", "$/reliable")]
    return header, [_row(variant, ks) for variant in summary["variants"].values()]


def _row(variant: Mapping[str, Any], ks: Sequence[int]) -> list[Cell]:
    """A variant's row but for its name; the interval is that of the deepest k."""
    cells = [Cell(text=rate(hat(variant, k)["value"])) for k in ks]
    last = hat(variant, ks[-1])
    usd = variant["usd"]
    return [
        *cells,
        Cell(
            text=interval(last["low"], last["high"]) if known(last["value"]) else possible(last) or UNDEFINED,
            style="dim",
        ),
        Cell(text=percent(variant["cap_rate"]["value"])),
        Cell(text=str(variant["errors"]), style="warn" if variant["errors"] else "plain"),
        Cell(text=dollars(usd["per_trial"])),
        Cell(text=dollars(usd["per_reliable_success"])),
    ]


def _stops(summary: Mapping[str, Any], width: int, ink: Ink) -> list[str]:
    """Why trials ended, a paragraph a variant, the most frequent reason first."""
    lines = [ink("stops (of which the graders passed)", "dim")]
    for name, variant in summary["variants"].items():
        ordered = sorted(variant["stops"].items(), key=lambda item: (-item[1], item[0]))
        shares = [_stop(reason, number, variant) for reason, number in ordered if number]
        lines += wrap(f"{clean_name(name)}: {' · '.join(shares) or 'no trial ended'}", width)
    for name, variant in summary["variants"].items():
        for kind, one in variant.get("detectors", {}).items():
            ended = f"passed {one['passed']:,}, failed {one['failed']:,} (graders content {one['spoiled']:,})"
            fired = f"fired in {one['flagged']:,} of {one['trials']:,} trials: {ended}"
            lines += wrap(f"detector {clean_name(kind)} of {clean_name(name)} {fired}", width)
    return lines


def _stop(reason: str, number: int, variant: Mapping[str, Any]) -> str:
    """One reason: how many trials it ended, and how many of those the graders passed."""
    return f"{clean_name(reason)} {number:,} ({variant['stops_passed'].get(reason, 0):,})"


def _task_name(task: Mapping[str, Any], *, several: bool) -> str:
    """A task's name, with its suite where there are several."""
    return f"{clean_name(task['suite'])} / {clean_name(task['task'])}" if several else clean_name(task["task"])


def _groups(names: Sequence[str], width: int) -> list[list[str]]:
    """Divide variants so that a table of each group fits beside its tasks with no name squeezed below `WANTED`."""
    groups: list[list[str]] = []
    left = 0
    for name in names:
        need = min(WANTED, max(LEAST, columns(clean_name(name)))) + GAPS[-1]
        if not groups or left < need:
            groups.append([])
            left = width - WANTED
        groups[-1].append(name)
        left -= need
    return groups


def _counted(cell: Mapping[str, Any] | None) -> Cell:
    """The trials that passed of those judged, with errors and missing ones marked."""
    if cell is None:
        return Cell(text=UNDEFINED, style="dim")
    text = f"{cell['passed']}/{cell['passed'] + cell['failed']}"
    lacks = [f"{mark}{cell[name]}" for name, mark in (("errors", "!"), ("missing", "?")) if cell[name]]
    style = (
        "warn" if lacks else "good" if not cell["failed"] and cell["passed"] else "plain" if cell["passed"] else "bad"
    )
    return Cell(text=" ".join([text, *lacks]), style=style)


def _mark(one: Mapping[str, Any]) -> str:
    """A symbol for the direction of a difference that is more than chance."""
    if not known(one["difference"]):
        return "?"
    if not known(one["p_adjusted"]) or one["p_adjusted"] > 1 - one.get("confidence", 0.95) or not one["difference"]:
        return "="
    return "▲" if one["difference"] > 0 else "▼"


def _differences(compared: Mapping[str, Any], width: int, ink: Ink) -> list[str]:
    """The table of paired differences to the baseline."""
    header = [Column(header="variant", right=False, least=LEAST), Column(header="metric", right=False)]
    header += [Column(header=name) for name in ("difference", "interval", "p adj.", "tasks")]
    rows = [
        [
            Cell(text=clean_name(one["variant"]), style="bold"),
            Cell(text=clean_name(one["metric"])),
            Cell(text=difference(one["difference"])),
            Cell(text=interval(one["low"], one["high"]), style="dim"),
            Cell(text=p_value(one["p_adjusted"])),
            Cell(text=_tasks(one)),
        ]
        for one in compared["comparisons"]
    ]
    baselines = {one.get("baseline", compared["baseline"]) for one in compared["comparisons"]}
    whose = clean_name(compared["baseline"]) if len(baselines) == 1 else "the baseline that each sentence names"
    caption = f"difference to {whose}, paired by task; tasks that got better +, worse {MINUS}, equal ="
    return [*(ink(line, "dim") for line in wrap(caption, width)), *table(header, rows, width, ink)]


def _tasks(one: Mapping[str, Any]) -> str:
    """How many tasks got better, worse, and neither."""
    if not known(one["difference"]):
        return UNDEFINED
    return f"+{one['better']} {MINUS}{one['worse']} ={one['equal']}"
