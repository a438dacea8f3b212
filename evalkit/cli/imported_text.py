"""What an import says of itself: which file was taken for what, and what of it is not known.

Invariant: every text of a file reaches the terminal through `clean_name` or `clean_line`; counts add up to the trials that were taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from evalkit.cli.adopt import Adopted
from evalkit.cli.survey import Source, Survey
from evalkit.report.clean import clean_line, clean_name
from evalkit.report.numbers import times

LONGEST = 2_000
"""Characters of a note that are shown."""

MOST = 8
"""Kinds of a thing that are listed."""

UNTOLD = {
    "turns": "turns (unknown)",
    "input_tokens": "tokens (unknown)",
    "usd": "dollars (unknown)",
    "seconds": "seconds (unknown)",
    "stop": "why it stopped (`unknown`)",
}
"""What a file may leave out, and what is then shown."""


def imported_text(sources: Sequence[Source], survey: Survey, found: Adopted, folder: Path) -> str:
    """Tell what was imported, in lines."""
    lines: list[str] = []
    for source, notes in zip(sources, survey.notes, strict=True):
        lines.append(f"{clean_name(source.path.name)}: {source.kind}, {source.why}")
        lines += [f"  {clean_line(note, LONGEST)}" for note in notes]
    lines += [*_taken(survey, found), *_stops(survey), *_errors(survey), *_untold(survey)]
    lines += [clean_line(note, LONGEST) for note in found.notes]
    return "\n".join([*lines, f"run folder: {clean_line(str(folder))}", ""])


def _taken(survey: Survey, found: Adopted) -> Iterator[str]:
    """How many trials of what were taken, and how many of each task."""
    suites = ", ".join(clean_name(suite.name) for suite in found.suites[:MOST])
    tasks = sum(len(suite.tasks) for suite in found.suites)
    outcomes = f"{survey.outcomes['passed']:,} passed, {survey.outcomes['failed']:,} failed, {survey.outcomes['error']:,} errors"
    yield f"taken: {times(survey.count, 'trial')} of {times(tasks, 'task')} of suite {suites}: {outcomes}"
    held = Counter(found.place)
    deepest = 0
    for variant in found.variants[:MOST]:
        sizes = Counter(held[place] for place, where in enumerate(found.places) if where[2] == variant.name)
        each = ", ".join(
            f"{times(size, 'trial')} a task ({times(count, 'task')})"
            for size, count in sorted(sizes.items(), reverse=True)[:MOST]
        )
        planned = sum(planned for where, planned in found.planned.items() if where[2] == variant.name)
        missing = planned - sum(size * count for size, count in sizes.items())
        lost = f"; {times(missing, 'planned trial')} missing" if missing else ""
        yield f"  {clean_name(variant.name)}: {each}{lost}"
        deepest = max(deepest, *sizes)
    if len(found.variants) > MOST:
        yield f"  and {len(found.variants) - MOST} more variants"
    if deepest == 1:
        yield "  one trial a task: pass^k and pass@k are defined for k = 1 only"


def _stops(survey: Survey) -> Iterator[str]:
    """Which of the harness's words was taken for which stop."""
    told = [
        f"{clean_name(word) + ' → ' if word and word != reason else ''}{clean_name(reason)} {count:,}"
        for (word, reason), count in survey.stops.most_common(MOST)
    ]
    more = f" · and {len(survey.stops) - MOST} more" if len(survey.stops) > MOST else ""
    yield f"stops: {' · '.join(told)}{more}"


def _errors(survey: Survey) -> Iterator[str]:
    """What broke, and what it counts as."""
    if not survey.broke:
        return
    broke = times(sum(survey.broke.values()), "trial")
    if survey.choices.errors == "error":
        yield f"{broke} broke, counted as error, neither passed nor failed (--errors fail makes them failures):"
    else:
        yield f"{broke} broke, counted as failed (--errors error, the default, leaves them undecided):"
    for text, number in survey.broke.most_common(MOST):
        yield f"  {number:,} × {clean_line(text, 100)}"


def _untold(survey: Survey) -> Iterator[str]:
    """What the files do not say."""
    told = []
    for name, text in UNTOLD.items():
        count = survey.untold[name]
        if count:
            told.append(text if count == survey.count else f"{text} of {times(count, 'trial')}")
    if told:
        yield f"not told by the files: {', '.join(told)}"
