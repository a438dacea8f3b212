"""Makes a run of what was surveyed: suites, tasks, variants and the plan, then one record a trial.

Invariant: the plan is what the files say was planned, else what they hold; trials are numbered from 1 without a guess of which are
missing, and different inputs under one name are never pooled.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalkit.cli.survey import Decision, Seal, Source, Survey, decide, names
from evalkit.core.errors import ConfigurationError, Problem, RunInvalid
from evalkit.core.message import JSON
from evalkit.core.plan import Retries, Spec, Suite, Task, TrialKey, Variant
from evalkit.core.record import Nature, Tally, TrialRecord
from evalkit.parts.importers._rows import Imported, plainly, shown

IMPORTED = "imported"
PROMPT = "(imported)"
MOST_NAMED = 5
"""Tasks that a message names."""

POOLED = (
    "pass^k asks whether k attempts at one task succeed; over different tasks it is something else. Import them as tasks of their own with"
    " --group-by-input"
)

Place = tuple[str, str, str]
"""Suite, task and variant."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """The trials of a task under a variant: `rows` in the order of the files, their own `labels`, and the `planned` number of them."""

    rows: list[int] = field(default_factory=list)
    labels: list[int | str | None] = field(default_factory=list)
    headers: set[int] = field(default_factory=set)
    planned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A run to be: `planned` trials of each place; of each row, in the order of the files, its place in `places` and its number."""

    suites: tuple[Suite, ...]
    variants: tuple[Variant, ...]
    planned: Mapping[Place, int]
    places: tuple[Place, ...]
    place: array[int]
    number: array[int]
    digests: Mapping[tuple[str, str], str]
    variant_digests: Mapping[str, str]
    notes: tuple[str, ...]


def adopt(survey: Survey) -> Adopted:
    """Plan the run; raises `ConfigurationError` for inputs that differ under one name, for doubled trials and for more than were planned."""
    if not survey.outcomes["passed"] + survey.outcomes["failed"]:
        first = plainly(next(iter(survey.broke), ""))
        mend = "--errors fail counts errors as failures"
        raise RunInvalid(f"all {survey.count:,} trials are errors, so nothing was measured: {first} ({mend})")
    split = _split(survey)
    cells = _cells(survey, split)
    _check_doubles(cells, survey)
    place, number = array("q", bytes(8 * survey.count)), array("q", bytes(8 * survey.count))
    notes = list(_number(cells, survey, place, number))
    notes += _plan_absent(cells, survey, split)
    suites, variants = tuple(_suites(cells, survey, split)), tuple(_variants(cells, survey))
    return Adopted(
        suites=suites,
        variants=variants,
        planned={where: cell.planned for where, cell in cells.items()},
        places=tuple(cells),
        place=place,
        number=number,
        digests={(task.suite, task.id): task.digest for suite in suites for task in suite.tasks},
        variant_digests={variant.name: variant.digest for variant in variants},
        notes=tuple(notes),
    )


def records(survey: Survey, sources: Sequence[Source], run: Adopted, nature: Nature) -> Iterator[TrialRecord]:
    """Read the files again and give a record a trial; raises `RunInvalid` where they are not what they were."""
    seal, row = Seal(), -1
    for source in sources:
        for item in source.items():
            if not isinstance(item, Imported):
                continue
            row += 1
            suite, variant = names(source, item, survey.choices)
            found = decide(item, survey.choices)
            if found is None or row >= survey.count:
                raise RunInvalid(f"{plainly(source.path.name)}: was changed while it was read")
            seal.add(suite, variant, item, found)
            yield _record(item, found, run, row, nature)
    if (row + 1, seal.mark) != (survey.count, survey.mark):
        raise RunInvalid("the files were changed while they were read: import them again")


def _record(item: Imported, found: Decision, run: Adopted, row: int, nature: Nature) -> TrialRecord:
    """One trial's record."""
    suite, task, variant = run.places[run.place[row]]
    return TrialRecord(
        key=TrialKey(
            suite=suite,
            task=task,
            variant=variant,
            index=run.number[row],
            task_digest=run.digests[suite, task],
            variant_digest=run.variant_digests[variant],
        ),
        seed=0,
        outcome=found.outcome,
        stop=found.stop,
        graded=found.graded,
        answer=item.answer,
        tally=Tally(
            turns=item.turns or 0,
            input_tokens=item.input_tokens or 0,
            output_tokens=item.output_tokens or 0,
            usd=item.usd,
            seconds=item.seconds or 0.0,
        ),
        nature=nature,
        started=item.started or 0.0,
        seconds=item.seconds or 0.0,
        error=found.error,
        models=(item.model,) if item.model else (),
    )


def _split(survey: Survey) -> frozenset[tuple[str, str]]:
    """The tasks whose trials have different inputs; raises `ConfigurationError` where these are not to be tasks of their own."""
    found = [place for place, inputs in survey.wheres.items() if sum(map(bool, inputs)) > 1]
    if found and not survey.choices.by_input:
        problems = []
        for suite, task in found[:MOST_NAMED]:
            inputs = [where for one, where in survey.wheres[suite, task].items() if one]
            what = f"its trials have {len(inputs)} different inputs, such as those of {inputs[0]} and {inputs[1]}"
            problems.append(Problem(where=f"task {shown(task)}", what=what))
        more = f"{len(found)} tasks" if len(found) > 1 else "a task"
        raise ConfigurationError(*problems, Problem(where="import", what=f"{more} with different inputs", mend=POOLED))
    return frozenset(found)


def _name(task: str, digest: str, *, split: bool) -> str:
    """The name of a task, with its input's digest where there are several."""
    return f"{task} [{digest[:8] or 'unknown input'}]" if split else task


def _cells(survey: Survey, split: frozenset[tuple[str, str]]) -> dict[Place, Cell]:
    """The trials by task and variant, each in the order of the files."""
    cells: dict[Place, Cell] = {}
    for (suite, task, variant, digest), group in survey.groups.items():
        name = _name(task, digest, split=(suite, task) in split)
        cell = cells.setdefault((suite, name, variant), Cell())
        pairs = sorted(
            zip([*cell.rows, *group.rows], [*cell.labels, *group.labels], strict=True), key=lambda one: one[0]
        )
        cell.rows, cell.labels = [row for row, _ in pairs], [label for _, label in pairs]
        cell.headers |= group.headers
    for place, (suite, variant, header) in enumerate(survey.headers):
        for task in header.tasks or ():
            if (suite, task, variant) in cells:
                cells[suite, task, variant].headers.add(place)
    return cells


def _check_doubles(cells: Mapping[Place, Cell], survey: Survey) -> None:
    """Refuse two trials of one number, naming them."""
    if survey.choices.duplicates == "renumber":
        return
    named, count = [], 0
    for (_, task, variant), cell in cells.items():
        for label, times in Counter(cell.labels).items():
            if label is not None and times > 1:
                count += 1
                named.append(f"trial {shown(label)} of task {shown(task)} under {plainly(variant)}, {times} times")
        named = named[:MOST_NAMED]
    if count:
        more = f"; and {count - len(named):,} more" if count > len(named) else ""
        mend = "--duplicates renumber where they are different trials, --name where they are of different variants"
        raise ConfigurationError.of("import", f"trials are there more than once: {'; '.join(named)}{more}", mend)


def _number(cells: Mapping[Place, Cell], survey: Survey, place: array[int], number: array[int]) -> Iterator[str]:
    """Number the trials of each cell from 1 and say how many were planned; tell of gaps that nobody says were planned."""
    most = Counter[str]()
    for (_, _, variant), cell in cells.items():
        most[variant] = max(most[variant], len(cell.rows))
    gaps: list[str] = []
    low = min((one for cell in cells.values() for one in cell.labels if isinstance(one, int)), default=1)
    for where, ((suite, task, variant), cell) in enumerate(cells.items()):
        planned = _planned(cell, survey, most[variant])
        base = next((survey.headers[one][2].first for one in sorted(cell.headers)), None)
        numbers = _numbers(cell, planned, base if base is not None else min(max(low, 0), 1))
        if numbers is None:
            what = f"has {len(cell.rows)} trials under {plainly(variant)}, but {planned} were planned"
            raise ConfigurationError.of(f"task {shown(task)}", what, f"--planned {len(cell.rows)} says otherwise")
        if planned is None and _gap(cell):
            gaps.append(f"{shown(task)} has {', '.join(map(str, sorted(cell.labels, key=str)[:8]))}")  # type: ignore[arg-type]  # numbers only
        cell.planned = len(cell.rows) if planned is None else planned
        for row, one in zip(cell.rows, numbers, strict=True):
            place[row], number[row] = where, one
    if gaps:
        yield (
            f"the trial numbers of {len(gaps)} tasks have gaps ({gaps[0]}): nothing says that the others were planned, so the trials"
            " that are there are numbered anew and none is missing; --planned says otherwise"
        )


def _planned(cell: Cell, survey: Survey, most: int) -> int | None:
    """How many trials of a cell were planned; None where nobody says."""
    if survey.choices.planned is not None:
        return most if survey.choices.planned == "max" else survey.choices.planned
    told = [survey.headers[one][2].trials for one in cell.headers]
    known = [one for one in told if one is not None]
    return sum(known) if known and len(known) == len(told) else None


def _numbers(cell: Cell, planned: int | None, first: int) -> list[int] | None:
    """The numbers of a cell's trials from 1: their own where they fit the plan, else by rank; None where there are more than planned."""
    labels = [one for one in cell.labels if isinstance(one, int)]
    whole = len(labels) == len(cell.labels) == len(set(labels))
    if planned is not None and whole and all(0 <= one - first < planned for one in labels):
        return [one - first + 1 for one in labels]
    if planned is not None and len(cell.rows) > planned:
        return None
    if not whole:
        return list(range(1, len(cell.rows) + 1))
    ranks = {label: rank for rank, label in enumerate(sorted(labels), 1)}
    return [ranks[label] for label in labels]


def _gap(cell: Cell) -> bool:
    """Tell whether a cell's own numbers leave one out."""
    labels = {one for one in cell.labels if isinstance(one, int)}
    return len(labels) == len(cell.labels) and max(labels) - min(labels) >= len(labels)


def _plan_absent(cells: dict[Place, Cell], survey: Survey, split: frozenset[tuple[str, str]]) -> Iterator[str]:
    """Plan the tasks that a file says were planned and of which it holds no trial."""
    most = Counter[str]()
    for (_, _, variant), cell in cells.items():
        most[variant] = max(most[variant], cell.planned)
    unclear = 0
    for place, (suite, variant, header) in enumerate(survey.headers):
        for task in header.tasks or ():
            if (suite, task) in split:
                unclear += not any(
                    key[0] == suite and key[1].startswith(f"{task} [") and key[2] == variant for key in cells
                )
                continue
            cell = cells.setdefault((suite, task, variant), Cell())
            cell.headers.add(place)
            if not cell.rows:
                cell.planned = _planned(cell, survey, most[variant]) or most[variant]
    if unclear:
        yield f"{unclear} planned tasks without any trial have several inputs elsewhere, so nobody can say which is missing: left out"


def _suites(cells: Mapping[Place, Cell], survey: Survey, split: frozenset[tuple[str, str]]) -> Iterator[Suite]:
    """The suites with their tasks, made up from what is known of them."""
    told: dict[tuple[str, str], tuple[str, str]] = {}
    for (suite, task), inputs in survey.wheres.items():
        for digest in inputs:
            name = _name(task, digest, split=(suite, task) in split)
            before = told.get((suite, name), ("", ""))
            told[suite, name] = (before[0] or digest, before[1] or survey.prompts.get((suite, task, digest), ""))
    tasks: dict[str, dict[str, int]] = {}
    for (suite, task, _), cell in cells.items():
        held = tasks.setdefault(suite, {})
        held[task] = max(held.get(task, 1), cell.planned)
    for suite, held in tasks.items():
        yield Suite(
            name=suite,
            tasks=tuple(
                _task(suite, task, trials, *told.get((suite, task), ("", ""))) for task, trials in held.items()
            ),
        )


def _task(suite: str, task: str, trials: int, digest: str, prompt: str) -> Task:
    """A task that another harness ran: its world and its graders were that harness's."""
    given: dict[str, JSON] = {"input": digest} if digest else {}
    return Task(
        suite=suite,
        id=task,
        prompt=prompt or PROMPT,
        graders=(Spec(kind=IMPORTED),),
        environment=Spec(kind=IMPORTED, options=given),
        trials=trials,
    )


def _variants(cells: Mapping[Place, Cell], survey: Survey) -> Iterator[Variant]:
    """The variants, with what the files say of each."""
    for name in dict.fromkeys(variant for _, _, variant in cells):
        options: dict[str, Any] = {}
        for _, variant, header in survey.headers:
            if variant == name:
                options = {**header.settings, **options}
        models = survey.models.get(name, {})
        if "model" not in options and len(models) == 1:
            options["model"] = next(iter(models))
        yield Variant(
            name=name,
            provider=Spec(kind=IMPORTED, options=options),
            loop=Spec(kind=IMPORTED),
            context=Spec(kind=IMPORTED),
            retries=Retries(model=1, tool=1),
        )
