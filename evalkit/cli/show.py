"""`evalkit show`: a run, a task of it, one trial's trace; or the variants that a config makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evalkit.cli.conclude import summary_of
from evalkit.cli.exits import Exit
from evalkit.cli.intervals import add_confidence, add_interval, asked, idle
from evalkit.cli.options import Command, Values, whole
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import Run, open_run
from evalkit.core.errors import ConfigurationError
from evalkit.core.record import TrialRecord
from evalkit.load.config import load_config
from evalkit.measure.estimate import Ask
from evalkit.measure.table import of_variant
from evalkit.report.clean import clean_name
from evalkit.report.layout import wrap
from evalkit.report.summary import task_rows
from evalkit.report.terminal import headline, task_table
from evalkit.report.trace import trace_text
from evalkit.report.variants import variants_text

VARIANT = "variant"

COMMAND = Command(
    "show", "Show a run, a task, one trial's trace: `show RUN [TASK [TRIAL]]`; or variants: `show variant CONFIG`."
)
COMMAND.argument("what", help="a run folder, a name under reports/, `latest`; or the word variant")
COMMAND.argument("task", nargs="?", help="a task's id; after the word variant a config file")
COMMAND.argument("trial", nargs="?", help="which of the task's trials, from 1")
COMMAND.option("--variant", help="only this variant; a trial of several variants needs it")
add_confidence(COMMAND, "intervals")
add_interval(COMMAND)
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
    found = open_run(values.what)
    with found.store:
        if values.variant is not None:
            found = replace(found, table=of_variant(found.table, values.variant))
        if values.full and values.trial is None:
            raise ConfigurationError.of("--full", "does nothing without a trial", "name a task and a trial")
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
        usd = "–" if one.tally.usd is None else f"${one.tally.usd:.4f}"
        variant, stop = clean_name(one.key.variant), clean_name(one.stop.reason)
        turns = "turns unknown" if "turns" in one.tally.uncounted else f"{one.tally.turns} turns"
        say(f"  {variant} #{one.key.index}: {one.outcome}, {stop}, {turns}, {usd}")
    return Exit.OK


def _show_trial(found: Run, place: int, values: Values) -> int:
    """The trace of one trial."""
    suite, task = found.table.tasks[place]
    index = whole(1)(values.trial) if values.trial.isdecimal() and int(values.trial) > 0 else None
    if index is None:
        raise ConfigurationError.of(f"trial {values.trial}", "is no number of a trial", "trials are counted from 1")
    rows = [
        one
        for one in found.store.records()
        if (one.key.suite, one.key.task, one.key.index) == (suite, task, index)
        and values.variant in (None, one.key.variant)
    ]
    if not rows:
        what = f"trial {index} of {task}" + (f" under {values.variant}" if values.variant else "")
        raise ConfigurationError.of(what, "the run has no such record", "see `evalkit show RUN TASK`")
    if len(rows) > 1:
        names = ", ".join(one.key.variant for one in rows)
        raise ConfigurationError.of(
            f"trial {index} of {task}", "several variants have it", f"add --variant, one of {names}"
        )
    record = found.store.record(rows[0].key.digest)
    if values.json:
        say_json(_facts(record))
        return Exit.OK
    colour = colours(no_color=values.no_color)
    caps = next((one.caps for one in found.about.variants if one.name == record.key.variant), None)
    say(trace_text(record, width(), color=colour, caps=caps, **({"piece": None} if values.full else {})))
    return Exit.OK


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
        "seconds": record.tally.seconds,
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
