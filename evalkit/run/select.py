"""Choosing what to run of what was loaded: variants and tasks by name, tasks by tag, a number of tasks, a number of trials.

Invariant: a name that matches nothing is an error with the near ones named; what is chosen is never silently empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from evalkit.core.errors import ConfigurationError, Problem, RunInvalid
from evalkit.core.plan import Config, Suite, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to take; empty means all. `trials` replaces each task's own number of trials."""

    variants: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    limit: int | None = None
    trials: int | None = None


def select(suites: Sequence[Suite], config: Config, choice: Choice) -> tuple[tuple[Suite, ...], Config]:
    """Take what was chosen; raises `ConfigurationError` for unknown names and `RunInvalid` where nothing is left."""
    tasks = [task for suite in suites for task in suite.tasks]
    wrong = [
        *_unknown("--variant", choice.variants, [variant.name for variant in config.variants]),
        *_unknown("--task", choice.tasks, [task.id for task in tasks]),
        *_unknown("--tag", choice.tags, sorted({tag for task in tasks for tag in task.tags})),
    ]
    if wrong:
        raise ConfigurationError(*wrong)
    variants = tuple(one for one in config.variants if not choice.variants or one.name in choice.variants)
    kept = {id(task) for task in [task for task in tasks if _wanted(task, choice)][: choice.limit]}
    chosen = tuple(
        replace(
            suite,
            tasks=tuple(
                task if choice.trials is None else replace(task, trials=choice.trials)
                for task in suite.tasks
                if id(task) in kept
            ),
        )
        for suite in suites
    )
    chosen = tuple(suite for suite in chosen if suite.tasks)
    if not chosen or not variants:
        raise RunInvalid("nothing is selected: no task of the suites fits --task, --tag and --limit together")
    baseline = config.baseline if config.baseline in {one.name for one in variants} else None
    return chosen, replace(config, variants=variants, baseline=baseline)


def _wanted(task: Task, choice: Choice) -> bool:
    """True where a task fits the names and the tags."""
    return (not choice.tasks or task.id in choice.tasks) and (
        not choice.tags or bool(set(choice.tags) & set(task.tags))
    )


def _unknown(flag: str, given: Iterable[str], known: Sequence[str]) -> list[Problem]:
    """Name each given word that is not known, with the nearest that is."""
    problems = []
    for word in given:
        if word not in known:
            near = get_close_matches(word, known, 1)
            mend = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none'}"
            problems.append(Problem(where=f"{flag} {word}", what="matches nothing", mend=mend))
    return problems
