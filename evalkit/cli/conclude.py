"""What is made of a run's records, the same for every command: summary, comparisons, verdict, report.

Invariant: `summary.json` and what `--json` prints are made from the same objects; a run folder that was moved elsewhere gives the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.cli.against import Facing
from evalkit.cli.exits import Exit
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import Run, numbers
from evalkit.core.plan import Gate
from evalkit.core.record import TrialRecord
from evalkit.measure.compare import compare
from evalkit.measure.estimate import Ask
from evalkit.measure.gate import Judgement, judge
from evalkit.measure.stop_shift import stop_shifts
from evalkit.report.configs import pointers
from evalkit.report.summary import USUAL, compare_json, gate_json, summarise, task_rows
from evalkit.report.terminal import gate_text, headline
from evalkit.store.runstore import RunStore

CODES = {
    "pass": Exit.OK,
    "fail": Exit.GATE_FAILED,
    "inconclusive": Exit.INCONCLUSIVE,
    "invalid": Exit.INVALID,
}


def conclude(store: RunStore, *, report: bool, as_json: bool, no_color: bool, judge: bool) -> int:
    """Show a run that has ended, write its summary and report, and judge it by its own gates; `judge` makes that the exit code."""
    found = numbers(store)
    summary = summarise(found.table, found.about)
    _write(store.folder / "summary.json", summary)
    verdict = own_gate(found)
    if as_json:
        say_json({**summary, "gate": None if verdict is None else judged(verdict)})
    else:
        colour = colours(no_color=no_color)
        say(headline(summary, width(), color=colour))
        if verdict is not None:
            say("\n" + gate_text(judged(verdict), width(), color=colour))
    if report:
        path = write_report(found)
        if not as_json:
            say(f"\nreport: {path}")
    if judge and verdict is not None:
        return CODES[verdict.verdict]
    if judge:
        say("no gate: the config has no `gates:`")
    done = summary["completeness"]
    lacking = done["errors"] + done["missing"] - done["skipped"]
    return Exit.INVALID if lacking else Exit.OK


def own_gate(found: Run) -> Judgement | None:
    """Judge a run by the gates that its config named; None where it named none."""
    rules = applicable(found.about.gates, found.table.variants)
    return judge(found.table, rules) if rules else None


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
    return compare_json(ours, differs, chosen, stop_shifts(table, pairs=pairs, confidence=confidence))


def compared_runs(found: Facing, confidence: float) -> dict[str, Any]:
    """The object that `compare --json` prints for two runs."""
    baselines = dict.fromkeys(base for _, base in found.pairs)
    return compare_json(
        compare(found.table, pairs=found.pairs, confidence=confidence),
        found.differs,
        next(iter(baselines)) if len(baselines) == 1 else found.runs["baseline"]["run"],
        stop_shifts(found.table, pairs=found.pairs, confidence=confidence),
        notes=found.notes,
        runs=found.runs,
    )


def write_report(found: Run, asked: Ask = USUAL) -> Path:
    """Write `report.html` into the run's folder, traces drawn from the store while there is room."""
    from evalkit.report.page import write_page  # noqa: PLC0415  # loads matplotlib and jinja2, which only a report needs

    path = found.store.folder / "report.html"
    verdict = own_gate(found)

    def trace(row: TrialRecord) -> TrialRecord:
        """The same record with its events."""
        return found.store.record(row.key.digest)

    write_page(
        path,
        summary=summarise(found.table, found.about, asked=asked),
        tasks=task_rows(found.table),
        comparisons=compared(found, confidence=asked.confidence)["comparisons"],
        gate=None if verdict is None else judged(verdict),
        about=replace(found.about, command=found.about.command or "evalkit run"),
        rows=tuple(found.store.records()),
        table=found.table,
        trace=trace,
    )
    return path


def _write(path: Path, value: Any) -> None:
    """Write a JSON file whole, the same bytes for the same run."""
    draft = path.with_suffix(".json.part")
    draft.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    draft.replace(path)
