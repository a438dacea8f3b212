"""`evalkit report`: write the HTML report of runs, from what their folders hold."""

from __future__ import annotations

from evalkit.cli.conclude import summary_of, write_report
from evalkit.cli.exits import Exit
from evalkit.cli.intervals import add_confidence, add_interval, asked
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say
from evalkit.cli.reading import open_run

COMMAND = Command("report", "Write report.html into the folder of each run.")
COMMAND.argument("runs", nargs="+", help="run folders, names under reports/, or `latest`, the newest there")
add_confidence(COMMAND, "intervals and comparisons; gates keep their own")
add_interval(COMMAND)


def run(values: Values) -> int:
    """Write one report a run."""
    ask = asked(values)
    for reference in values.runs:
        found = open_run(reference)
        with found.store:
            say(str(write_report(found, summary_of(found, ask), confidence=ask.confidence)))
    return Exit.OK
