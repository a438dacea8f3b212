"""`evalkit export`: a run's trials as CSV, JSON Lines, Parquet or OpenTelemetry's spans, and its figures as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say
from evalkit.cli.reading import Run, open_run
from evalkit.cli.targets import target
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Spec
from evalkit.core.record import TrialRecord
from evalkit.report.exports import COLUMNS, FORMATS, export
from evalkit.report.replies import FILE, write_replies
from evalkit.report.span import FIRST, Span
from evalkit.report.spans import Sender
from evalkit.report.summary import summarise

OTEL = "otel"

COMMAND = Command("export", "Write a run's trials, one a row, and its figures as files for other programs.")
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`, the newest there")
COMMAND.option(
    "--format",
    help="what to write trials as; else by the ending of --out, else csv; `otel`: spans of OpenTelemetry",
    choices=(*FORMATS, OTEL),
)
COMMAND.option("-o", "--out", help="the file; else trials.FORMAT in the run's folder", metavar="FILE")
COMMAND.option("--to", help="send spans to this collector instead, such as http://localhost:4318 (otel)", metavar="URL")
COMMAND.switch("--content", help="with what models and tools wrote (otel)")
COMMAND.option(
    "--figures", help="write the run's figures into its folder figures/ instead", choices=("svg", "png", "pdf")
)
COMMAND.switch("--replies", help="write the replies into its folder instead, for the provider `replay`")
COMMAND.switch("--events", help="with each trial's events (jsonl, parquet)")


STARTS: dict[str, Callable[[bytes], bool]] = {
    "csv": lambda head: head.startswith(",".join(f'"{name}"' for name in list(COLUMNS)[:3]).encode()),
    "jsonl": lambda head: head.startswith(f'{{"{next(iter(COLUMNS))}":'.encode()),
    "parquet": lambda head: head.startswith(b"PAR1"),
    OTEL: lambda head: head.startswith(FIRST),
}
"""How a file begins that holds trials in each format."""


def run(values: Values) -> int:
    """Export; where figures or replies alone are asked for, no trials are written."""
    asked = any(one is not None for one in (values.format, values.out, values.to))
    trials = asked or not (values.figures or values.replies)
    if values.events and not trials:
        raise ConfigurationError.of("--events", "does nothing without trials", "add --format, or leave --events away")
    spans = values.format == OTEL or (values.to is not None and values.format is None)
    _check_spans(values, spans=spans)
    found = open_run(values.run)
    with found.store:
        if values.figures is not None:
            for path in write_figures(found, values.figures):
                say(str(path))
        if values.replies:
            say(str(replies(found)))
        if trials:
            say(str(export_spans(found, values) if spans else write_trials(found, values)))
    return Exit.OK


def _check_spans(values: Values, *, spans: bool) -> None:
    """Refuse flags that go with spans alone, or not with them."""
    if spans and values.events:
        raise ConfigurationError.of("--events", "does nothing here: spans tell every event", "leave --events away")
    if values.to is not None and values.out is not None:
        raise ConfigurationError.of("--to", "sends spans, and --out writes a file", "give one of them")
    for flag, given in (("--to", values.to is not None), ("--content", values.content)):
        if given and not spans:
            raise ConfigurationError.of(flag, "goes with spans alone", f"add --format {OTEL}, or leave {flag} away")


def export_spans(found: Run, values: Values) -> str:
    """Write or send the spans of all trials, and say where they went."""
    from evalkit.report.otel import send_spans, write_spans  # noqa: PLC0415  # an extra, loaded only where asked for

    providers = {variant.name: variant.provider for variant in found.about.variants}
    run, empty = found.about.run, Spec(kind="unknown")

    def trials() -> Iterator[list[Span]]:
        """The spans of each trial."""
        for record in _whole(found):
            provider = providers.get(record.key.variant, empty)
            yield list(Sender(run=run, provider=provider, content=values.content).spans(record))

    if values.to is not None:
        return f"{send_spans(trials(), values.to, run):,} spans of {len(found.store.columns()):,} trials: {values.to}"
    path = target("--out", values.out or found.store.folder / "trials.otel.jsonl", STARTS[OTEL])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_spans(trials(), path, run)
    except OSError as error:
        raise _unwritable(path, error) from error
    return str(path)


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
