"""`evalkit show`: a run, a task of it, one trial's trace; or the variants that a config makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evalkit.cli.conclude import summary_of
from evalkit.cli.converters import whole
from evalkit.cli.exits import Exit
from evalkit.cli.intervals import add_confidence, add_interval, asked, idle
from evalkit.cli.options import Command, Values
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import Run, open_run
from evalkit.core.errors import ConfigurationError
from evalkit.core.record import TrialRecord
from evalkit.load.config import load_config
from evalkit.measure.divergence import Divergences
from evalkit.measure.estimate import Ask
from evalkit.measure.table import of_variant
from evalkit.report.clean import clean_name
from evalkit.report.grounds import ground
from evalkit.report.layout import wrap
from evalkit.report.numbers import times
from evalkit.report.pair import pair_text
from evalkit.report.summary import task_rows
from evalkit.report.terminal import headline, task_table
from evalkit.report.trace import trace_text
from evalkit.report.variants import variants_text

VARIANT = "variant"

COMMAND = Command(
    "show", "Show a run, a task, one trial's trace: `show RUN [TASK [TRIAL]]`; or variants: `show variant CONFIG`."
)
COMMAND.argument("what", help="a run folder, a name under reports/, or `latest`, the newest there; or the word variant")
COMMAND.argument("task", nargs="?", help="a task's id; after the word variant a config file")
COMMAND.argument("trial", nargs="?", help="which of the task's trials, from 1")
COMMAND.option("--variant", help="only this variant; a trial of several variants needs it")
add_confidence(COMMAND, "intervals")
add_interval(COMMAND)
COMMAND.option(
    "--against",
    help="hold a trial against another of its task: a trial's number, a variant's name, or `auto` (a failing one against the passing one "
    "that goes along longest, a passing one against a failing one)",
    metavar="WHICH",
)
COMMAND.switch("--full", help="cut nothing off a trace")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Show what was asked for."""
    ask = asked(values)
    if values.task is not None:
        idle(values, "only a whole run has intervals")
    if values.what == VARIANT and not Path(VARIANT).exists():
        return _show_variants(values)
    if values.full and values.trial is None:
        raise ConfigurationError.of("--full", "does nothing without a trial", "name a task and a trial")
    if values.against is not None and (values.trial is None or values.json):
        what = "does nothing with --json" if values.json else "does nothing without a trial"
        raise ConfigurationError.of("--against", what, "name a task and a trial, without --json")
    found = open_run(values.what)
    with found.store:
        if values.variant is not None:
            found = replace(found, table=of_variant(found.table, values.variant))
        if values.task is None:
            return _show_run(found, values, ask)
        place = found.table.find_task(values.task)
        if values.trial is None:
            return _show_task(found, place, values)
        return _show_trial(found, place, values)


def _show_run(found: Run, values: Values, ask: Ask) -> int:
    """The headline table, or the summary as JSON."""
    summary = summary_of(found, ask)
    if values.json:
        say_json(summary)
    else:
        colour = colours(no_color=values.no_color)
        say(headline(summary, width(), color=colour))
        say("\n" + task_table(task_rows(found.table), width(), color=colour))
        say(f"\nsandbox: {clean_name(summary['sandbox'])}")
        if _traced(found):
            say("\n".join(wrap(f"a trial's trace: evalkit show {values.what} TASK TRIAL --variant VARIANT", width())))
    return Exit.OK


def _show_task(found: Run, place: int, values: Values) -> int:
    """One line a trial."""
    suite, task = found.table.tasks[place]
    rows = [one for one in found.store.records() if (one.key.suite, one.key.task) == (suite, task)]
    rows = [one for one in rows if values.variant in (None, one.key.variant)]
    if values.json:
        say_json({"suite": suite, "task": task, "trials": [_facts(one) for one in rows]})
        return Exit.OK
    say(task_table([task_rows(found.table)[place]], width(), color=colours(no_color=values.no_color)))
    for one in sorted(rows, key=lambda row: (row.key.variant, row.key.index)):
        for line in _trial_lines(found, one):
            say(line)
    if _traced(found):
        say("\n".join(wrap(f"a trial's trace: evalkit show {values.what} {task} TRIAL --variant VARIANT", width())))
    return Exit.OK


def _trial_lines(found: Run, row: TrialRecord) -> Iterator[str]:
    """A trial in a line, and why it did not pass in those below."""
    usd = "–" if row.tally.usd is None else f"${row.tally.usd:.4f}"
    turns = "turns unknown" if "turns" in row.tally.uncounted else times(row.tally.turns, "turn")
    yield f"  {clean_name(row.key.variant)} #{row.key.index}: {row.outcome}, {clean_name(row.stop.reason)}, {turns}, {usd}"
    if row.outcome != "passed" and _traced(found):
        yield from wrap(ground(found.store.record(row.key.digest, row)), width(), "    ")


def _traced(found: Run) -> bool:
    """Whether traces were kept: an import has none."""
    return "imported" not in found.store.manifest.settings


def _show_trial(found: Run, place: int, values: Values) -> int:
    """The trace of one trial."""
    index = whole(1)(values.trial) if values.trial.isdecimal() and int(values.trial) > 0 else None
    if index is None:
        raise ConfigurationError.of(f"trial {values.trial}", "is no number of a trial", "trials are counted from 1")
    record = _whole(found, place, index, values.variant)
    if values.json:
        say_json(_facts(record))
        return Exit.OK
    colour, piece = colours(no_color=values.no_color), {"piece": None} if values.full else {}
    caps = {one.name: one.caps for one in found.about.variants}
    if values.against is None:
        say(trace_text(record, width(), color=colour, caps=caps.get(record.key.variant), **piece))
        return Exit.OK
    other = _other(found, place, record, values.against)
    say(pair_text(record, other, width(), color=colour, caps=caps, **piece))
    return Exit.OK


def _whole(found: Run, place: int, index: int, variant: str | None) -> TrialRecord:
    """A trial with its events."""
    suite, task = found.table.tasks[place]
    rows = [
        one
        for one in found.store.records()
        if (one.key.suite, one.key.task, one.key.index) == (suite, task, index) and variant in (None, one.key.variant)
    ]
    if not rows:
        what = f"trial {index} of {task}" + (f" under {variant}" if variant else "")
        raise ConfigurationError.of(what, "the run has no such record", "see `evalkit show RUN TASK`")
    if len(rows) > 1:
        names = ", ".join(one.key.variant for one in rows)
        raise ConfigurationError.of(
            f"trial {index} of {task}", "several variants have it", f"add --variant, one of {names}"
        )
    return found.store.record(rows[0].key.digest)


def _other(found: Run, place: int, record: TrialRecord, which: str) -> TrialRecord:
    """The trial that another is held against: by its number, the one of the same number under another variant, or the one that tells most."""
    index, variant = record.key.index, record.key.variant
    if which != variant and which in {one.name for one in found.about.variants}:
        return _whole(found, place, index, which)
    if which.isdecimal() and int(which) not in (0, index):
        return _whole(found, place, int(which), variant)
    if which != "auto":
        mend = "write another trial's number, another variant, or auto"
        raise ConfigurationError.of(f"--against {which}", f"is nothing that trial {index} can be held against", mend)
    ways = Divergences()
    for one in found.store.records():
        if (one.key.suite, one.key.task, one.key.variant) == (record.key.suite, record.key.task, variant):
            ways.add(found.store.record(one.key.digest))
    pairs = {one.index: one.beside for one in ways.found()}
    back = sorted(pairs, key=lambda failing: (pairs[failing] != index, failing))
    if index in pairs or (back and record.outcome == "passed"):
        return _whole(found, place, pairs.get(index) or back[0], variant)
    what = f"no trial of {record.key.task} under {variant} ended otherwise and has a trace"
    raise ConfigurationError.of("--against auto", what, "name a trial's number, or another variant")


def _facts(record: TrialRecord) -> dict[str, object]:
    """A record as JSON, without its events."""
    return {
        "variant": record.key.variant,
        "trial": record.key.index,
        "outcome": record.outcome,
        "graded": record.graded,
        "stop": record.stop.reason,
        "answer": record.answer,
        "turns": record.tally.known("turns"),
        "tokens": record.tally.known("tokens"),
        "usd": record.tally.usd,
        "seconds": record.tally.known("seconds"),
        "error": record.error,
        "nature": record.nature,
        "seed": record.seed,
    }


def _show_variants(values: Values) -> int:
    """What a config makes."""
    if values.task is None:
        raise ConfigurationError.of(
            "show variant", "wants a config file", "write evalkit show variant configs/react.yaml"
        )
    config = load_config(Path(values.task))
    chosen = [one for one in config.variants if values.variant in (None, one.name)]
    if not chosen:
        names = ", ".join(one.name for one in config.variants)
        raise ConfigurationError.of(f"--variant {values.variant}", "matches nothing", f"there are: {names}")
    if values.json:
        say_json({one.name: one.content() for one in chosen})
    else:
        say(variants_text(chosen, config.baseline, width()))
    return Exit.OK
