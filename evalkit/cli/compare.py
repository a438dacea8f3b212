"""`evalkit compare`: the variants of a run with its baseline, or those of two runs with each other, task by task."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from evalkit.cli.against import facing
from evalkit.cli.conclude import compared, compared_runs
from evalkit.cli.exits import Exit
from evalkit.cli.intervals import add_confidence, confidence
from evalkit.cli.options import Command, Values
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import held_run, open_run
from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.report.terminal import compare_text

COMMAND = Command(
    "compare",
    "Compare each variant of a run with the baseline on the same tasks: `compare RUN`; "
    "or the variants of a run with those of an earlier one: `compare BASE CANDIDATE`.",
)
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`, the newest there; of two the baseline")
COMMAND.argument("candidate", nargs="?", help="the run that is compared with the first")
COMMAND.option(
    "--baseline",
    help="the variant to compare with; else the config's, else the first; of two runs one of the first, else that of the same name",
)
COMMAND.option("--variant", help="compare only this variant (of two runs: of the second)", many=True, default=())
add_confidence(COMMAND, "intervals; a difference is more than chance where its adjusted p is at most 1 less this")
COMMAND.switch("--shared", help="of two runs with unlike tasks compare those that both have")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Compare."""
    level = confidence(values)
    shown = _one(values, level) if values.candidate is None else _two(values, level)
    if values.json:
        say_json(shown)
    else:
        say(compare_text(shown, width(), color=colours(no_color=values.no_color)))
    return Exit.OK


def _one(values: Values, level: float) -> dict[str, Any]:
    """Compare the variants of one run."""
    if values.shared:
        raise ConfigurationError.of(
            "--shared", "is for two runs: one has the same tasks for all its variants", "leave it away"
        )
    found = open_run(values.run)
    with found.store:
        if len(found.table.variants) < 2:
            raise RunInvalid(
                f"{found.about.run} holds one variant only, so there is nothing to compare it with; "
                "name a second run to compare with that"
            )
        shown = compared(found, values.baseline, values.variant, confidence=level)
        if not shown["comparisons"]:
            what = f"{shown['baseline']} is compared with itself"
            raise ConfigurationError.of("--variant", what, "name another variant, or another --baseline")
    return shown


def _two(values: Values, level: float) -> dict[str, Any]:
    """Compare two runs."""
    with ExitStack() as stack:
        base, candidate = (held_run(stack, reference) for reference in (values.run, values.candidate))
        other = facing(candidate, base, variants=values.variant, baseline=values.baseline, shared=values.shared)
        return compared_runs(other, level)
