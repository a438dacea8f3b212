"""`evalkit whatif`: what a run would have measured under tighter caps, from the traces that it left."""

from __future__ import annotations

import argparse

from evalkit.cli.converters import real
from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import colours, say, say_json, width
from evalkit.cli.reading import Run, open_run
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Caps
from evalkit.measure.counterfactual import METERS, warned, whatif
from evalkit.measure.courses import Courses
from evalkit.report.whatif import whatif_json, whatif_text

WHOLE = ("turns", "tokens")


def cap(text: str) -> tuple[str, float]:
    """Convert METER=LIMIT, or say what was expected."""
    meter, sign, number = (part.strip() for part in text.partition("="))
    if meter not in METERS or not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is no cap: write METER=LIMIT, METER one of {', '.join(METERS)}")
    limit = real(number)
    if not 0.0 < limit < float("inf") or (meter in WHOLE and limit != int(limit)):
        kind = "whole number" if meter in WHOLE else "number"
        raise argparse.ArgumentTypeError(f"{text!r}: a cap on {meter} is a {kind} above 0")
    return meter, limit


COMMAND = Command("whatif", "Show what a run would have measured under tighter caps, from its own traces.")
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`, the newest there")
COMMAND.option(
    "--cap", help="a tighter cap, such as turns=12", convert=cap, many=True, default=(), metavar="METER=LIMIT"
)
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Ask the traces; gives 0, or 2 where they cannot tell."""
    found = open_run(values.run)
    with found.store:
        caps = asked(values.cap)
        told = warned(found.about.variants)
        shown = whatif_json(whatif(found.table, courses(found), caps, told=told), caps, found.about)
    if values.json:
        say_json(shown)
    else:
        say(whatif_text(shown, width(), color=colours(no_color=values.no_color)))
    return Exit.OK


def asked(given: list[tuple[str, float]]) -> Caps:
    """Put the caps of the flags together; one meter twice, or none at all, is an error."""
    meters = [meter for meter, _ in given]
    twice = sorted({meter for meter in meters if meters.count(meter) > 1})
    if twice:
        raise ConfigurationError.of(f"--cap {twice[0]}", "is given twice", "give each meter one limit")
    if not given:
        raise ConfigurationError.of("--cap", "no cap is given", "write --cap turns=12")
    limits = dict(given)
    return Caps(
        turns=int(limits["turns"]) if "turns" in limits else None,
        tokens=int(limits["tokens"]) if "tokens" in limits else None,
        seconds=limits.get("seconds"),
        usd=limits.get("usd"),
    )


def courses(found: Run) -> Courses:
    """Read the traces of a run, one after the other."""
    gathered = Courses()
    for key in found.store.columns().key:
        gathered.add(found.store.record(key))
    return gathered
