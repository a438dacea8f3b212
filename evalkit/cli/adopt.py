"""Makes a run of what was surveyed: suites, tasks, variants and the plan, then one record a trial.

Invariant: what is made up (a prompt, a loop, graders) says that it was imported; the records are those of the survey, or there are none.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from evalkit.cli.numbering import (
    Cell,
    Place,
    cells_of,
    check_doubles,
    number_trials,
    plan_absent,
    split_tasks,
    task_name,
)
from evalkit.cli.survey import IMPORTED, Decision, Seal, Source, Survey, decide, names
from evalkit.core.errors import RunInvalid
from evalkit.core.message import JSON, Nature
from evalkit.core.plan import Retries, Spec, Suite, Task, TrialKey, Variant
from evalkit.core.record import Counter, Tally, TrialRecord
from evalkit.parts.importers._rows import Imported, plainly
from evalkit.report.numbers import times

PROMPT = "(imported)"


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
        raise RunInvalid(f"no trial passed or failed, {times(survey.count, 'trial')} broke: {first} ({mend})")
    split = split_tasks(survey)
    cells = cells_of(survey, split)
    check_doubles(cells, survey)
    place, number = array("q", bytes(8 * survey.count)), array("q", bytes(8 * survey.count))
    notes = list(number_trials(cells, survey, place, number))
    notes += plan_absent(cells, survey, split)
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
            uncounted=_untold(item),
        ),
        nature=nature,
        started=item.started or 0.0,
        seconds=item.seconds or 0.0,
        error=found.error,
        models=(item.model,) if item.model else (),
    )


def _untold(item: Imported) -> tuple[Counter, ...]:
    """The counters that the file does not tell: tool calls never, tokens where what went in is not known."""
    told = {"turns": item.turns, "tokens": item.input_tokens, "tool_calls": None, "seconds": item.seconds}
    return tuple(counter for counter in get_args(Counter) if told[counter] is None)


def _suites(cells: Mapping[Place, Cell], survey: Survey, split: frozenset[tuple[str, str]]) -> Iterator[Suite]:
    """The suites with their tasks, made up from what is known of them."""
    told: dict[tuple[str, str], tuple[str, str]] = {}
    for (suite, task), inputs in survey.wheres.items():
        for digest in inputs:
            name = task_name(task, digest, split=(suite, task) in split)
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
