"""Judging a rule of the kind `anytime`: by evidence that may be looked at while the run goes on.

Invariant: tasks are weighed in the order of play, up to the first that has not been played to its end. Which tasks those are does not hang on how
they ended, as it would if whatever was done by now were weighed: trials that fail may take longer, or less long.
"""

from __future__ import annotations

import numpy as np

from evalkit.measure.arrays import Floats
from evalkit.measure.estimate import Ask, Reading, conclude, read
from evalkit.measure.evidence import Evidence, weigh
from evalkit.measure.metric import Amount, Shares
from evalkit.measure.odds import Word
from evalkit.measure.rule import Rule
from evalkit.measure.ruling import Ruling
from evalkit.measure.table import Table
from evalkit.measure.words import number, span

STANDS = "a verdict by evidence stays, whatever comes after it"


def judge_anytime(table: Table, rule: Rule, variant: str, confidence: float) -> Ruling:
    """Judge a bound on a metric's mean over tasks; each verdict is wrong with a chance of at most 1 - `confidence`, however often one looks.

    A trial in error is read against either verdict. Where a task has too few trials for the metric there is no evidence.
    """
    reading = read(table, rule.metric, variant)
    estimate = conclude(reading, Ask(confidence=confidence, sides=1))
    found = weighed(reading, rule, confidence)
    word: Word = found.word or "inconclusive"
    value = "" if estimate.value is None else f" = {number(estimate.value)}"
    lacking = estimate.why if isinstance(reading.found, Shares) and reading.found.short.any() else ""
    sentence = (
        f"{rule.metric.text} of {variant}{value}: after {found.done:,} of {estimate.tasks:,} tasks in the order of play, {span(estimate.trials)}, "
        f"the evidence that it is {rule.sense} {rule.bound:g} is {_times(found.met)}, that it is not {_times(found.missed)}; "
        f"{_times(found.wanted)} gives a verdict at any time: {word.upper()}" + (f"; {lacking}" if lacking else "")
    )
    return Ruling(
        rule=rule.text,
        variant=variant,
        task=None,
        metric=rule.metric.text,
        kind=rule.kind,
        value=estimate.value,
        confidence=confidence,
        scope="population",
        tasks=estimate.tasks,
        method="e-process",
        trials=estimate.trials,
        threshold=rule.bound,
        verdict=word,
        sentence=sentence,
        flips_why=STANDS,
        worst=estimate.worst,
        best=estimate.best,
        why=estimate.why,
    )


def weighed(reading: Reading, rule: Rule, confidence: float) -> Evidence:
    """Weigh the tasks of a reading that were played to their end, in the order of play; one with too few trials has no end."""
    found = reading.found
    if isinstance(found, Amount):
        raise TypeError("an amount has no evidence")
    table = reading.table
    lacking = table.missing[reading.places, table.find_variant(reading.variant)]
    order = np.arange(len(table.tasks)) if table.order is None else table.order
    turn = np.argsort(order[reading.places], kind="stable")
    waiting = (found.short | (found.open & (lacking > 0)))[turn]
    played = turn[: int(waiting.argmax()) if waiting.any() else turn.size]
    low, high = (_values(found, hit=hit)[played] for hit in (False, True))
    return weigh(low, high, rule.bound, rule.sense, confidence=confidence)


def _values(found: Shares, *, hit: bool) -> Floats:
    """The value of each task, its unknown trials read as hits or as none."""
    return found.filled(hit=hit).values


def _times(evidence: float) -> str:
    """Write evidence as odds are written."""
    return f"{evidence:.2g} to 1" if evidence < 10.0 else f"{evidence:,.0f} to 1"
