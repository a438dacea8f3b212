"""`evalkit import`: results of other harnesses as a run folder, on which show, report, compare and gate work.

Invariant: the folder is there whole or not at all, and everything that was taken for something is told: format, columns, stops, numbers
of trials, what the files do not say.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Literal, get_args

from evalkit import parts
from evalkit.cli.adopt import Adopted, adopt, records
from evalkit.cli.conclude import conclude
from evalkit.cli.converters import whole
from evalkit.cli.exits import Exit
from evalkit.cli.imported_text import imported_text
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say, tell
from evalkit.cli.survey import Choices, Source, Survey
from evalkit.core.clock import SystemClock
from evalkit.core.errors import ConfigurationError
from evalkit.core.message import Nature
from evalkit.core.plan import Spec, digest
from evalkit.measure.table import meant
from evalkit.parts.importers._rows import plainly
from evalkit.store.folder import new_folder
from evalkit.store.manifest import Manifest, PlannedTask
from evalkit.store.origin import origin
from evalkit.store.runstore import RunStore

REPORTS = Path("reports")
FAMILY = "importers"
EVERY = 10.0
"""Seconds between lines of progress."""

COLUMNS = {
    "task_id": "the task's id",
    "trial": "the trial's number or name",
    "passed": "the verdict: true or false, 1 or 0, pass or fail",
    "reward": "the reward, judged by --threshold; 0 and 1 need none",
    "variant": "the variant (model, agent, prompt …)",
    "suite": "the suite",
    "stop": "why the trial ended",
    "error": "what broke, empty where nothing did",
    "turns": "turns",
    "tokens": "tokens in all",
    "usd": "dollars",
    "seconds": "seconds",
    "answer": "the answer",
    "input": "what the agent was given",
}
"""What a column of a csv or jsonl file may hold; each is a flag that names the column."""


def most_or_number(text: str) -> int | Literal["max"]:
    """Convert to a number of trials, or to the word `max`."""
    return "max" if text == "max" else whole(1)(text)


def finite(text: str) -> float:
    """Convert to a finite number, or say what was expected."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return number


COMMAND = Command(
    "import",
    "Make a run folder of results that another harness wrote, for show, report, compare and gate.\n"
    "Several files make one run: files of the same tasks under other variants, or further trials.",
)
COMMAND.argument("files", nargs="+", help="result files; folders for harbor and tau2_bench")
COMMAND.option(
    "--format",
    help=f"the files' format, else it is recognised: {', '.join(parts.kinds(FAMILY))}",
    choices=parts.kinds(FAMILY),
    metavar="FORMAT",
)
COMMAND.option("--name", help="name of a file's variant; as often as there are files", many=True, default=(), once=None)
COMMAND.option("--suite-name", help="name of the suite; else as the files say")
COMMAND.option("--scorer", help="which of several scores counts (inspect_log, harbor)")
for _name, _what in COLUMNS.items():
    COMMAND.option(f"--{_name.replace('_', '-')}", help=f"csv, jsonl: column of {_what}", metavar="COLUMN")
COMMAND.option("--threshold", help="reward from which on a trial passed", convert=finite)
COMMAND.option(
    "--errors", help="what a trial counts as under which the harness broke", choices=("error", "fail"), default="error"
)
COMMAND.option(
    "--duplicates", help="what to do with trials of one number", choices=("refuse", "renumber"), default="refuse"
)
COMMAND.option(
    "--planned", help="trials planned of each task, or max: as many as the largest has", convert=most_or_number
)
COMMAND.option("--nature", help="where the replies came from", choices=get_args(Nature), default="live")
COMMAND.option("--baseline", help="the variant that compare compares with; else the first")
COMMAND.option("-o", "--out", help="the run's own folder; else a new one under reports/")
COMMAND.switch("--group-by-input", help="make tasks of their own of different inputs under one task id")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="print the run's summary as one JSON object on stdout")


def run(values: Values) -> int:
    """Import; gives 0 where a run was made, 2 for files that cannot be read as asked, 4 where they hold nothing to measure."""
    sources = _sources(values)
    choices = Choices(
        suite=values.suite_name,
        threshold=values.threshold,
        errors=values.errors,
        duplicates=values.duplicates,
        by_input=values.group_by_input,
        planned=values.planned,
    )
    survey = Survey(choices=choices)
    survey.take(sources)
    found = adopt(survey)
    names = [variant.name for variant in found.variants]
    if values.baseline is not None and values.baseline not in names:
        raise ConfigurationError.of(
            f"--baseline {values.baseline}", "is no variant of these files", meant(values.baseline, names)
        )
    folder = _folder(values, survey, found)
    _write(folder, _manifest(folder, sources, survey, found, values), sources, survey, found, values.nature)
    (tell if values.json else say)(imported_text(sources, survey, found, folder))
    with RunStore.open(folder, write=False) as store:
        conclude(store, report=False, as_json=values.json, no_color=values.no_color, judge=False)
    return Exit.OK


def _sources(values: Values) -> tuple[Source, ...]:
    """The files with their importers; raises `ConfigurationError` for all that cannot be imported as asked."""
    paths = [Path(one) if Path(one).name else Path(one).resolve() for one in values.files]
    if values.name and len(values.name) != len(paths):
        what = f"{len(values.name)} names for {len(paths)} files"
        raise ConfigurationError.of("--name", what, "give one for each file, in their order")
    kinds = [(values.format, "as told") if values.format else recognised(path) for path in paths]
    given = {name: values.values[name] for name in (*COLUMNS, "scorer") if values.values[name] is not None}
    for name in given:
        if not any(name in options(kind) for kind, _ in kinds):
            able = " and ".join(kind for kind in parts.kinds(FAMILY) if name in options(kind))
            what = f"is for {able}, not for {', '.join(dict.fromkeys(kind for kind, _ in kinds))}"
            raise ConfigurationError.of(f"--{name.replace('_', '-')}", what, "leave it out, or say --format")
    return tuple(
        Source(
            path=path,
            kind=kind,
            why=why,
            importer=parts.build(
                FAMILY, Spec(kind=kind, options={k: v for k, v in given.items() if k in options(kind)})
            ),
            name=values.name[place] if values.name else None,
        )
        for place, (path, (kind, why)) in enumerate(zip(paths, kinds, strict=True))
    )


def options(kind: str) -> frozenset[str]:
    """The options of a format."""
    return frozenset(field.name for field in fields(parts.part(FAMILY, kind)))


def recognised(path: Path) -> tuple[str, str]:
    """The format of a file and by what it is known; raises `ConfigurationError` where it is none that is known, or could be several."""
    if not path.exists():
        raise ConfigurationError.of(plainly(str(path)), "no such file")
    found = [(kind, why) for kind in parts.kinds(FAMILY) if (why := parts.part(FAMILY, kind).recognise(path))]
    if len(found) == 1:
        return found[0]
    names = ", ".join(kind for kind, _ in found) or ", ".join(parts.kinds(FAMILY))
    what = (
        f"could be several formats: {names}" if found else "is of no format that is known by its name or its first keys"
    )
    mend = (
        "say which with --format"
        if found
        else f"say with --format which it is: {names}; a JSON list of plain rows is jsonl"
    )
    raise ConfigurationError.of(plainly(str(path)), what, mend)


def _folder(values: Values, survey: Survey, found: Adopted) -> Path:
    """The run's folder, which does not exist yet or is empty."""
    if not values.out:
        return new_folder(REPORTS, [suite.name for suite in found.suites], survey.mark, SystemClock().time())
    folder = Path(values.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError.of(
            plainly(str(folder)), "is not empty", "choose a folder that does not exist with --out"
        )
    return folder


def _manifest(folder: Path, sources: Sequence[Source], survey: Survey, found: Adopted, values: Values) -> Manifest:
    """The run before its records."""
    told = {
        "files": [source.path.name for source in sources],
        "formats": [source.kind for source in sources],
        "choices": asdict(survey.choices),
        "untold": sorted(name for name, count in survey.untold.items() if count == survey.count),
    }
    trials: dict[tuple[str, str], dict[str, int]] = {}
    for (suite, task, variant), planned in found.planned.items():
        trials.setdefault((suite, task), {})[variant] = planned
    command = shlex.join(["evalkit", "import", *(sys.argv[2:] if sys.argv[1:2] == ["import"] else values.files)])
    return Manifest(
        run=folder.name,
        created=SystemClock().time(),
        fingerprint=digest({"imported": survey.mark, "choices": asdict(survey.choices)}),
        suites=found.suites,
        variants=found.variants,
        plan=tuple(
            PlannedTask(suite=suite, task=task, digest=found.digests[suite, task], trials=counts)
            for (suite, task), counts in trials.items()
        ),
        digests=dict(found.variant_digests),
        seed=0,
        origin=origin(command),
        baseline=values.baseline,
        natures={variant.name: values.nature for variant in found.variants},
        settings={"imported": told},
    )


def _write(
    folder: Path, manifest: Manifest, sources: Sequence[Source], survey: Survey, found: Adopted, nature: Nature
) -> None:
    """Write the run beside its place, and move it there when it is whole."""
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    clock = SystemClock()
    told = clock.monotonic()
    try:
        with RunStore.create(draft, manifest) as store:
            for number, record in enumerate(records(survey, sources, found, nature), 1):
                store.keep(record)
                if clock.monotonic() - told > EVERY:
                    told = clock.monotonic()
                    tell(f"{number:,} of {survey.count:,} trials written")
        draft.replace(folder)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise ConfigurationError.of(plainly(str(folder)), what, "choose another folder with --out") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
