"""`evalkit compare`: the variants of a run with its baseline, task by task."""

from __future__ import annotations

from evalkit.cli.conclude import compared
from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import open_run
from evalkit.core.errors import RunInvalid
from evalkit.report.terminal import compare_text

COMMAND = Command("compare", "Compare each variant of a run with the baseline on the same tasks.")
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`")
COMMAND.option("--baseline", help="the variant to compare with; else the config's, else the first")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Compare."""
    found = open_run(values.run)
    with found.store:
        if len(found.table.variants) < 2:
            raise RunInvalid(f"{found.about.run} holds one variant only, so there is nothing to compare it with")
        shown = compared(found, values.baseline)
    if values.json:
        say_json(shown)
    else:
        say(compare_text(shown, width(), color=colours(no_color=values.no_color)))
    return Exit.OK
