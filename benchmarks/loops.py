"""What each loop mechanism changes: every variant of a suite against the suite's baseline, from real runs with the simulated model.

    python -m benchmarks.loops [--trials 32] [--seed 0] [SUITE …]

Writes its table into docs/loops.md, between the two marks there. The same command writes the same table.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evalkit.core.plan import Suite, Variant
from evalkit.core.record import TrialRecord
from evalkit.load.together import load
from evalkit.measure.compare import Comparison, compare
from evalkit.measure.estimate import estimate
from evalkit.measure.table import Table
from evalkit.run.play import play
from evalkit.run.schedule import schedule

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "loops.md"
SUITES = ("longhaul", "spinning", "self-check", "branching", "flaky-tools", "structured-output", "support-desk")
SHORT = "structured-output"
"""A suite whose tasks are two calls and an answer: here a mechanism has little to mend, and its price is seen."""

ON_SHORT_WORK = (
    ("react", "react-reflect", "plan-act-reflect", "planner-executor", "checklist-short", "detect-repeats-warn",
     "detect-repeats-stop", "detect-cycles", "detect-errors", "detect-state", "react-guardrails", "react-wrap-up",
     "react-tight-caps", "react-window", "react-fragments", "react-subagent", "tools-prefixed"),
    ("react-long", "context-window", "context-scratchpad", "context-hybrid", "context-compact", "context-reinitialise",
     "context-clear-results", "tools-cut"),
)  # fmt: skip
"""Configs that are compared on it, the first of each group the baseline."""

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
METRIC = "pass^8"
MOVED = 0.03
"""Stops whose share changed by less are not listed."""

HEAD = f"""\
| suite | variant | {METRIC} | difference [95 %] | p, adjusted | stops moved (% of trials) | USD a trial |
|---|---|---|---|---|---|---|"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the suites and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", default=SUITES)
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    lines = [f"{given.trials} trials of each task and variant, seed {given.seed}.", "", *HEAD.split("\n")]
    for name in given.suites:
        lines += rows_of(name, (), given.trials, given.seed)
        print(name, "is done", file=sys.stderr)
    lines += ["", f"The price on short work, `{SHORT}`: two calls and an answer.", "", *HEAD.split("\n")]
    for names in ON_SHORT_WORK:
        lines += rows_of(SHORT, names, given.trials, given.seed)
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text("\n".join((before + BEGIN, "", *lines, "", END + after)), encoding="utf-8")


def rows_of(name: str, configs: Sequence[str], trials: int, seed: int) -> list[str]:
    """Play a suite under configs, of which the first is the baseline, or under its own; give its lines, the baseline's first."""
    paths = [ROOT / "configs" / f"{one}.yaml" for one in configs]
    suites, config = load([ROOT / "suites" / f"{name}.yaml"], paths)
    suite = replace(suites[0], tasks=tuple(replace(task, trials=trials) for task in suites[0].tasks))
    records = [play(trial) for trial in schedule([suite], config.variants, seed)]
    if broken := [record for record in records if record.outcome == "error"]:
        raise SystemExit(f"{len(broken)} trials of {suite.name} are errors, the first: {broken[0].error}")
    table = table_of(suite, config.variants, records, config.baseline)
    compared = {one.variant: one for one in compare(table, metrics=[METRIC])}
    by_variant = {
        variant.name: [one for one in records if one.key.variant == variant.name] for variant in config.variants
    }
    base = by_variant[str(config.baseline)]
    order = sorted(by_variant, key=lambda name: name != config.baseline)
    return [row(table, name, by_variant[name], base, compared.get(name)) for name in order]


def table_of(suite: Suite, variants: Sequence[Variant], records: Sequence[TrialRecord], baseline: str | None) -> Table:
    """Put the numbers of records into a table."""
    return Table.of(
        tasks=[(task.suite, task.id) for task in suite.tasks],
        variants=[variant.name for variant in variants],
        planned=suite.tasks[0].trials,
        baseline=baseline,
        suite=[one.key.suite for one in records],
        task=[one.key.task for one in records],
        variant=[one.key.variant for one in records],
        index=[one.key.index for one in records],
        outcome=[one.outcome for one in records],
        graded=[one.graded for one in records],
        stop=[one.stop.reason for one in records],
        turns=[one.tally.turns for one in records],
        tokens=[one.tally.tokens for one in records],
        usd=[one.tally.usd for one in records],
        seconds=[one.seconds for one in records],
    )


def row(
    table: Table, name: str, records: Sequence[TrialRecord], base: Sequence[TrialRecord], found: Comparison | None
) -> str:
    """Write the line of one variant; the baseline has no `found`."""
    value = estimate(table, METRIC, name).value
    shown = "undefined" if value is None else f"{value:.2f}"
    usd, usual = (sum(one.tally.usd or 0.0 for one in some) / len(some) for some in (records, base))
    cells = [table.tasks[0][0], name, shown, "baseline", "", stops(base), f"{usd:.4f}"]
    if found is not None:
        cells[3:5] = [difference(found), "" if found.p_adjusted is None else f"{found.p_adjusted:.3f}"]
        cells[5:] = [moved(records, base), f"{usd:.4f} (×{usd / usual:.2f})"]
    return f"| {' | '.join(cells)} |"


def difference(found: Comparison) -> str:
    """Write a difference with its interval, or why there is none."""
    if found.difference is None:
        return f"undefined: {found.why}"
    limits = "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    return f"{found.difference:+.2f}{limits}"


def shares(records: Sequence[TrialRecord]) -> dict[str, float]:
    """The share of trials that ended by each stop."""
    return {stop: count / len(records) for stop, count in Counter(one.stop.reason for one in records).items()}


def stops(records: Sequence[TrialRecord]) -> str:
    """Write how trials ended, the most frequent first."""
    return ", ".join(
        f"{stop} {share:.0%}" for stop, share in sorted(shares(records).items(), key=lambda one: (-one[1], one[0]))
    )


def moved(records: Sequence[TrialRecord], base: Sequence[TrialRecord]) -> str:
    """Write which stops became more or less frequent."""
    new, old = shares(records), shares(base)
    changes = [
        f"{stop} {100 * old.get(stop, 0.0):.0f} → {100 * new.get(stop, 0.0):.0f}"
        for stop in sorted({*new, *old})
        if abs(new.get(stop, 0.0) - old.get(stop, 0.0)) >= MOVED
    ]
    return ", ".join(changes) or "none"


if __name__ == "__main__":
    main()
