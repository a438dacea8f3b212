"""`evalkit plan`: what a run would cost and what it could show, before it is paid for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.cli.converters import share, whole
from evalkit.cli.exits import Exit
from evalkit.cli.forecast import Aim, Pilot, forecast
from evalkit.cli.options import Command, Values
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import open_run
from evalkit.core.errors import ConfigurationError
from evalkit.load import load
from evalkit.measure.paired import FEWEST_DIFFERING
from evalkit.report.clean import clean_name
from evalkit.report.layout import Cell, Column, Ink, table, wrap
from evalkit.report.numbers import UNDEFINED, count, dollars, percent, rate, times
from evalkit.run.select import Choice, select

KINDS = {"diffuse": "all a little worse", "broken": "some tasks break", "pilot": "as in the pilot"}
"""How each way to lose the drop is called."""

COMMAND = Command(
    "plan", "Say what a run of the suites would cost and what drop in pass^k it could show. Runs nothing."
)
COMMAND.argument("suites", nargs="+", help="suite files (suites/*.yaml)")
COMMAND.option(
    "-c",
    "--config",
    help="file of loop variants; else those that the suites name",
    many=True,
    default=(),
    once=os.path.realpath,
)
COMMAND.option("--variant", help="only this variant", many=True, default=())
COMMAND.option("--task", help="only this task", many=True, default=())
COMMAND.option("--tag", help="only tasks with this tag", many=True, default=())
COMMAND.option("--limit", help="only so many tasks, in the order of the suites", convert=whole(1))
COMMAND.option("-n", "--trials", help="trials of each task; else as the suites say", convert=whole(1, 10_000))
COMMAND.option("-k", "--k", help="the k of pass^k; else the smallest number of trials", convert=whole(1, 10_000))
COMMAND.option(
    "--pilot", help="a run to take tasks and costs from: a folder, a name under reports/, or `latest`, the newest there"
)
COMMAND.option("--drop", help="the drop in pass^k that is to be found", convert=share, default=0.1)
COMMAND.option("--power", help="the chance to find it that is wanted", convert=share, default=0.8)
COMMAND.option("--mean", help="without a pilot: the pass@1 that is expected", convert=share, default=0.9)
COMMAND.option("--spread", help="without a pilot: its standard deviation over tasks", convert=share, default=0.1)
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Plan."""
    if values.pilot and (values.origins["mean"], values.origins["spread"]) != ("default", "default"):
        raise ConfigurationError.of("--pilot", "stands beside --mean or --spread", "give the pilot or the assumptions")
    suites, config = load([Path(one) for one in values.suites], [Path(one) for one in values.config])
    chosen, chosen_config = select(suites, config, _choice(values))
    aim = Aim(k=values.k, drop=values.drop, power=values.power, mean=values.mean, spread=values.spread)
    shown = forecast(chosen, chosen_config, aim, _pilot(values.pilot))
    if values.json:
        say_json(shown)
    else:
        say(plan_text(shown, width(), color=colours(no_color=values.no_color)))
    return Exit.OK


def plan_text(shown: Mapping[str, Any], columns: int = 80, *, color: bool = False) -> str:
    """Show a plan (`plan --json`): its size and cost, what is taken for granted, and what each number of trials would buy."""
    ink = Ink(on=color)
    low, high = shown["trials_per_task"]
    span = f"{low}" if low == high else f"{low} to {high}"
    head = f"{times(shown['tasks'], 'task')} under {times(len(shown['variants']), 'variant')}, {span} trials each: {times(shown['trials'], 'trial')}"
    lines = [ink(line, "bold") for line in wrap(head, columns)]
    for name, one in shown["variants"].items():
        most = (
            "no dollar cap"
            if one["worst_usd"] is None
            else f"at most {dollars(one['worst_usd'])} and one reply a trial"
        )
        text = f"{clean_name(name)}: {times(one['trials'], 'trial')}, {most}{_expected(one, shown['law']['pilot'])}"
        lines += wrap(text, columns, "  ")
    if len(shown["variants"]) > 1:
        worst, expected = shown["worst_usd"], shown["expected_usd"]
        said = [f"at most {dollars(worst)}"] if worst is not None else []
        said += [f"{dollars(expected)} expected"] if expected is not None else []
        lines += wrap(f"in all {', '.join(said)}", columns, "  ") if said else []
    for note in shown["notes"]:
        lines += [ink(line, "warn") for line in wrap(note, columns)]
    return "\n".join([*lines, "", *_power(shown, columns, ink)])


def _choice(values: Values) -> Choice:
    """What to take of the files."""
    return Choice(
        variants=tuple(values.variant),
        tasks=tuple(values.task),
        tags=tuple(values.tag),
        limit=values.limit,
        trials=values.trials,
    )


def _pilot(reference: str | None) -> Pilot | None:
    """Read the pilot's numbers."""
    if not reference:
        return None
    found = open_run(reference)
    with found.store:
        if found.table.skipped.any():
            what = "was cut short by how its trials ended, so that its rates are not those of its tasks"
            raise ConfigurationError.of(f"--pilot {reference}", what, "take a run that was played to its end")
        return Pilot(run=found.about.run, table=found.table)


def _expected(one: Mapping[str, Any], pilot: str | None) -> str:
    """What a variant will probably cost, and how that is known."""
    if pilot is None:
        return ""
    if one["expected_usd"] is None:
        return ", the pilot's prices are not all known"
    return f", {dollars(one['expected_usd'])} expected" + ("" if one["in_pilot"] else " (as the pilot's mean trial)")


def _power(shown: Mapping[str, Any], columns: int, ink: Ink) -> list[str]:
    """What each number of trials would buy."""
    aim, law = shown["aim"], shown["law"]
    source = "assumed" if law["pilot"] is None else f"from {clean_name(law['variant'])} in {clean_name(law['pilot'])}"
    lines = wrap(f"tasks: pass@1 {rate(law['mean'])}, spread {rate(law['spread'])}, pass^{aim['k']} {rate(law['pass_hat'])} ({source})", columns)  # fmt: skip
    lines += wrap(
        f"a drop of {aim['drop']:g} in pass^{aim['k']} between two variants, two-sided test at 5%: how often "
        f"{times(shown['tasks'], 'task')} would find it, and how many find it {100 * aim['power']:g}% of the time",
        columns,
    )
    if shown["tasks"] < FEWEST_DIFFERING:
        lines += wrap(
            f"with fewer than {FEWEST_DIFFERING} tasks no paired test can reach 5%: take `found` for nothing", columns
        )
    for kind in shown["sizes"][0]["power"]:
        header = [Column(header="n"), Column(header="trials"), Column(header="found"), Column(header="tasks needed")]
        header.append(Column(header="±pass^k"))
        rows = [
            [
                Cell(text=f"{size['n']}"),
                Cell(text=f"{size['trials']:,}"),
                Cell(text=percent(size["power"][kind])),
                Cell(text=UNDEFINED if size["tasks_needed"][kind] is None else count(size["tasks_needed"][kind])),
                Cell(text=rate(size["half_width"])),
            ]
            for size in shown["sizes"]
        ]
        lines += ["", ink(KINDS[kind], "bold"), *table(header, rows, columns, ink)]
    return lines
