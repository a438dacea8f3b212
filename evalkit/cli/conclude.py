"""What is made of a run's records, the same for every command: summary, comparisons, verdict, report.

Invariant: `summary.json` and what `--json` prints are made from the same objects; a run folder that was moved elsewhere gives the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.cli.against import Facing
from evalkit.cli.exits import Exit
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import Run, numbers
from evalkit.core.errors import RunInvalid
from evalkit.core.message import Nature
from evalkit.core.plan import Gate
from evalkit.measure.alarms import Alarms
from evalkit.measure.compare import compare
from evalkit.measure.estimate import Ask
from evalkit.measure.gate import Judgement, judge
from evalkit.measure.stop_shift import stop_shifts
from evalkit.report.configs import pointers
from evalkit.report.grounds import Ground, Grounds
from evalkit.report.summary import USUAL, compare_json, gate_json, summarise, task_rows
from evalkit.report.terminal import gate_text, headline
from evalkit.store.disk import told, write_whole
from evalkit.store.runstore import RunStore

REPLAYED: Nature = "replayed"

CODES = {
    "pass": Exit.OK,
    "fail": Exit.GATE_FAILED,
    "inconclusive": Exit.INCONCLUSIVE,
    "invalid": Exit.INVALID,
}


def conclude(store: RunStore, *, report: bool, as_json: bool, no_color: bool, judge: bool) -> int:
    """Show a run that has ended, write its summary and report, and judge it by its own gates; `judge` makes that the exit code."""
    found = numbers(store)
    summary = summary_of(found)
    verdict = own_gate(found)
    if as_json:
        say_json({**summary, "gate": None if verdict is None else judged(verdict)})
    else:
        colour = colours(no_color=no_color)
        say(headline(summary, width(), color=colour))
        if verdict is not None:
            say("\n" + gate_text(judged(verdict), width(), color=colour))
    _write(store.folder / "summary.json", summary)
    if report:
        path = write_report(found, summary)
        if not as_json:
            say(f"\nreport: {path}")
    if judge:
        refuse_replayed(found)
    if judge and verdict is not None:
        return CODES[verdict.verdict]
    if judge:
        say("no gate: the config has no `gates:`")
    done = summary["completeness"]
    lacking = done["errors"] + done["missing"]
    return Exit.INVALID if lacking else Exit.OK


def own_gate(found: Run) -> Judgement | None:
    """Judge a run by the gates that its config named; None where it named none, and for replayed trials."""
    rules = applicable(found.about.gates, found.table.variants)
    return judge(found.table, rules) if rules and REPLAYED not in found.about.natures else None


def refuse_replayed(found: Run) -> None:
    """Raise `RunInvalid` where trials were replayed: a verdict on them would count old evidence as new."""
    if REPLAYED in found.about.natures:
        raise RunInvalid(
            f"{found.about.run} holds replayed trials, which are no new evidence: gate the run that was recorded"
        )


def applicable(gates: Sequence[Gate], variants: Sequence[str]) -> tuple[Gate, ...]:
    """The gates whose variants were run: a run of some variants is not judged by rules on others."""
    return tuple(gate for gate in gates if gate.variant in (None, *variants) and gate.baseline in (None, *variants))


def judged(verdict: Judgement) -> dict[str, Any]:
    """The object that `gate --json` prints."""
    return gate_json(verdict, int(CODES[verdict.verdict]))


def compared(
    found: Run, baseline: str | None = None, variants: Sequence[str] = (), *, confidence: float = 0.95
) -> dict[str, Any]:
    """The object that `compare --json` prints for one run: its variants (all, where none is named) against one of them."""
    table = found.table
    chosen = table.variants[table.find_variant(baseline or table.baseline or table.variants[0])]
    named = [table.variants[table.find_variant(name)] for name in variants]
    pairs = [(name, chosen) for name in dict.fromkeys(named or table.variants) if name != chosen]
    kept = {chosen, *(name for name, _ in pairs)}
    differs = pointers([one for one in found.about.variants if one.name in kept])
    ours = compare(table, pairs=pairs, confidence=confidence)
    shown = compare_json(ours, differs, chosen, stop_shifts(table, pairs=pairs, confidence=confidence))
    return {**shown, "natures": list(found.about.natures)}


def compared_runs(found: Facing, confidence: float) -> dict[str, Any]:
    """The object that `compare --json` prints for two runs."""
    baselines = dict.fromkeys(base for _, base in found.pairs)
    shown = compare_json(
        compare(found.table, pairs=found.pairs, confidence=confidence),
        found.differs,
        next(iter(baselines)) if len(baselines) == 1 else found.runs["baseline"]["run"],
        stop_shifts(found.table, pairs=found.pairs, confidence=confidence),
        notes=found.notes,
        runs=found.runs,
    )
    return {**shown, "natures": sorted({*found.runs["candidate"]["natures"], *found.runs["baseline"]["natures"]})}


def summary_of(found: Run, asked: Ask = USUAL) -> dict[str, Any]:
    """The object that `show RUN --json` prints; traces are read only where a variant has detectors, which nothing else tells of."""
    if not any(variant.detectors for variant in found.about.variants):
        return summarise(found.table, found.about, asked=asked)
    alarms = Alarms()
    for key in found.store.columns().key:
        alarms.add(found.store.record(key))
    return summarise(found.table, found.about, alarms, asked=asked)


def grounds_of(found: Run) -> list[Ground]:
    """Say why trials did not pass, by task and variant; only the traces of those are read."""
    lost = (row for row in found.store.records() if row.outcome != "passed")
    return Grounds.of(found.store.record(row.key.digest, row) for row in lost).told()


def write_report(found: Run, summary: Mapping[str, Any], *, confidence: float = 0.95) -> Path:
    """Write `report.html` into the run's folder, traces drawn from the store while there is room."""
    from evalkit.report.page import write_page  # noqa: PLC0415  # loads matplotlib and jinja2, which only a report needs

    path = found.store.folder / "report.html"
    verdict, differences = own_gate(found), compared(found, confidence=confidence)

    with told(path, "cannot be written", "see that there is room and that the folder can be written to"):
        write_page(
            path,
            summary=summary,
            tasks=task_rows(found.table),
            comparisons=differences["comparisons"],
            shifts=differences["stops"],
            gate=None if verdict is None else judged(verdict),
            about=replace(found.about, command=found.about.command or "evalkit run"),
            rows=tuple(found.store.records()),
            table=found.table,
            trace=lambda row: found.store.record(row.key.digest, row),
        )
    return path


def _write(path: Path, value: Any) -> None:
    """Write a JSON file whole, the same bytes for the same run."""
    write_whole(path, f"{json.dumps(value, indent=1, sort_keys=True, allow_nan=False)}\n".encode())
