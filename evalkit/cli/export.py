"""`evalkit export`: a run's trials as CSV, JSON Lines or Parquet, and its figures as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say
from evalkit.cli.reading import Run, open_run
from evalkit.cli.targets import target
from evalkit.core.errors import ConfigurationError
from evalkit.core.record import TrialRecord
from evalkit.report.exports import COLUMNS, FORMATS, export
from evalkit.report.replies import FILE, write_replies
from evalkit.report.summary import summarise

COMMAND = Command("export", "Write a run's trials, one a row, and its figures as files for other programs.")
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`")
COMMAND.option("--format", help="what to write trials as; else by the ending of --out, else csv", choices=FORMATS)
COMMAND.option("-o", "--out", help="the file; else trials.FORMAT in the run's folder", metavar="FILE")
COMMAND.option(
    "--figures", help="write the run's figures into its folder figures/ instead", choices=("svg", "png", "pdf")
)
COMMAND.switch("--replies", help="write the replies into its folder instead, for the provider `replay`")
COMMAND.switch("--events", help="with each trial's events (jsonl, parquet)")


STARTS: dict[str, Callable[[bytes], bool]] = {
    "csv": lambda head: head.startswith(",".join(f'"{name}"' for name in list(COLUMNS)[:3]).encode()),
    "jsonl": lambda head: head.startswith(f'{{"{next(iter(COLUMNS))}":'.encode()),
    "parquet": lambda head: head.startswith(b"PAR1"),
}
"""How a file begins that holds trials in each format."""


def run(values: Values) -> int:
    """Export; where figures or replies alone are asked for, no trials are written."""
    trials = not (values.figures or values.replies) or values.format is not None or values.out is not None
    if values.events and not trials:
        raise ConfigurationError.of("--events", "does nothing without trials", "add --format, or leave --events away")
    found = open_run(values.run)
    with found.store:
        if values.figures is not None:
            for path in write_figures(found, values.figures):
                say(str(path))
        if values.replies:
            say(str(replies(found)))
        if trials:
            say(str(write_trials(found, values)))
    return Exit.OK


def write_trials(found: Run, values: Values) -> Path:
    """Write the trials, in the order of the plan, read one after the other."""
    ending = Path(values.out).suffix.removeprefix(".").lower() if values.out else ""
    form = next((one for one in FORMATS if one == (values.format or ending)), FORMATS[0])
    path = target("--out", values.out or found.store.folder / f"trials.{form}", STARTS[form])
    records = _whole(found) if values.events else found.store.records()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        export(records, path, form, events=values.events)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def replies(found: Run) -> Path:
    """Write the replies of all trials beside them."""
    path = found.store.folder / FILE
    try:
        write_replies(_whole(found), path)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def write_figures(found: Run, form: str) -> list[Path]:
    """Draw each figure of the run into its own file."""
    from evalkit.report.figures import FORMATS as FORMS  # noqa: PLC0415  # figures are drawn only where asked for
    from evalkit.report.figures import saved  # noqa: PLC0415  # the same
    from evalkit.report.gallery import gallery  # noqa: PLC0415  # the same

    kind = next(one for one in FORMS if one == form)
    folder = found.store.folder / "figures"
    summary = summarise(found.table, found.about)
    paths = []
    try:
        folder.mkdir(exist_ok=True)
        for sketch in gallery(summary, found.table, found.about, _whole(found)):
            path = folder / f"{sketch.name}.{form}"
            path.write_bytes(saved(sketch, kind))
            paths.append(path)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return paths


def _whole(found: Run) -> Iterator[TrialRecord]:
    """All records with their events, in the order of the plan."""
    for key in found.store.columns().key:
        yield found.store.record(key)


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    """Say that a file cannot be written."""
    return ConfigurationError.of(
        str(path), f"cannot be written: {error.strerror or error}", "choose another with --out"
    )
