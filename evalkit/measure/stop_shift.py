"""How differently two variants end their trials: a test of the whole distribution of stops, its size, and the reasons one by one.

Trials of a task are alike, so a table of all trials taken as independent finds differences that are not there. Here the task is the
unit: were the variants alike, each task's trials could as well have been done under the other one's name.

Invariant: as with every comparison, all planned tasks are spoken of or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.core.record import UNKNOWN
from evalkit.measure.arrays import Bools, Floats
from evalkit.measure.interval import tail
from evalkit.measure.paired import DRAWS, SignFlip, bonett_price, holm, sign_flip
from evalkit.measure.table import Table, listed
from evalkit.measure.words import bracket, counted, number, p_value, span

ENUMERATED = 14
"""Up to so many tasks that differ, all ways to swap their labels are gone through."""

_TIE = 1e-9
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonShift:
    """How much more often a reason stops trials: mean over tasks of the shares of a task's trials under `variant` and `baseline`.

    `difference` is the first less the second with bounds `low` and `high`; `p` is the two-sided sign-flip p of the tasks'
    differences and `p_adjusted` Holm's over the reasons of this pair.
    """

    reason: str
    variant: float
    baseline: float
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StopShift:
    """The stops of `variant` against those of `baseline`; None where undefined, and then `why`.

    `variation` is the total variation between the two distributions, from 0 (alike) to 1 (nothing in common), and `expected` its mean when
    labels are swapped, so what it would be by chance alone. `chi_square` is the statistic, `p` its swap p, `p_adjusted` Holm's over all
    pairs compared together. `differing` counts the tasks whose shares differ at all. `undefined` names tasks without a value. The largest shift is first.
    """

    variant: str
    baseline: str
    tasks: int
    trials: tuple[int, int]
    confidence: float
    variation: float | None = None
    expected: float | None = None
    chi_square: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    differing: int = 0
    enumerated: bool = False
    reasons: tuple[ReasonShift, ...] = ()
    undefined: tuple[str, ...] = ()
    why: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A label-swap test: the statistic, its `p`, total variation and the mean of that over swaps, over `differing` tasks.

    `enumerated` says that all swaps were gone through and not random ones.
    """

    chi_square: float
    p: float
    variation: float
    expected: float
    differing: int
    enumerated: bool


def stop_shifts(
    table: Table,
    *,
    baseline: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[StopShift, ...]:
    """Compare the stops of every other variant with those of the baseline (else the table's own, else the first variant), or just the `pairs`.

    A trial that is missing or in error leaves its pair undefined. Raises `ConfigurationError` for a name that there is not and a
    confidence outside (0, 1). Empty where there is no other variant.
    """
    tail(confidence, 2)
    if not table.variants:
        return ()
    chosen = table.variants[table.find_variant(baseline or table.baseline or table.variants[0])]
    couples = [(name, chosen) for name in table.variants if name != chosen] if pairs is None else pairs
    places = [tuple(map(table.find_variant, couple)) for couple in couples]
    found = [_shift(table, place, base, confidence, seed) for place, base in places]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return tuple(_worded(one if one.p is None else replace(one, p_adjusted=next(adjusted))) for one in found)


def swap_test(first: Floats, second: Floats, *, trials: float = 1.0, seed: int = 0) -> Swap:
    """Test whether two variants end trials alike, by swapping the labels of whole tasks.

    `first` and `second`, shape (tasks, reasons), are each task's shares of trials by reason, each row adding up to 1; `trials` is the mean
    number of trials that stand behind a row. With P and Q their means over tasks and N tasks the statistic is

        N trials sum over reasons of (P - Q)^2 / (P + Q),

    the chi-square of the pooled two-row table where every task has the same number of trials. p is the share of swaps with a
    statistic as large: of all 2^m for up to 14 differing tasks, else of 9,999 drawn from `seed` with the observed one counted in.
    Total variation is half the sum of |P - Q|. Without tasks all is 0 and p is 1. Raises `ValueError` for unlike shapes.
    Sources: Fisher 1935 for the swap of labels; Phipson & Smyth 2010 for counting the observed one.
    """
    if first.shape != second.shape:
        raise ValueError(f"shares of shape {first.shape} cannot be compared with {second.shape}")
    differences = np.round(second - first, _DIGITS)
    moved = differences[np.abs(differences).max(axis=1, initial=0.0) > _TIE]
    if moved.shape[0] == 0:
        return Swap(chi_square=0.0, p=1.0, variation=0.0, expected=0.0, differing=0, enumerated=True)
    enumerated = moved.shape[0] <= ENUMERATED
    sums = np.vstack((moved.sum(axis=0), _all_swaps(moved) if enumerated else _drawn_swaps(moved, seed)))
    both = (first + second).sum(axis=0)
    weights = np.divide(1.0, both, out=np.zeros_like(both), where=both > 0.0)
    chi = trials * (sums**2 @ weights)
    variation = 0.5 * np.abs(sums).sum(axis=1) / first.shape[0]
    as_large = chi[1:] >= chi[0] * (1.0 - _TIE)
    p = float(as_large.mean()) if enumerated else (1.0 + float(as_large.sum())) / (DRAWS + 1.0)
    return Swap(
        chi_square=float(chi[0]),
        p=p,
        variation=float(variation[0]),
        expected=float(variation[1:].mean()),
        differing=int(moved.shape[0]),
        enumerated=enumerated,
    )


def _all_swaps(moved: Floats) -> Floats:
    """Give the sums of the tasks' differences under all swaps but for their mirror images, shape (2^(tasks - 1), reasons)."""
    sums = moved[:1]
    for row in moved[1:]:
        sums = np.concatenate((sums - row, sums + row))
    return sums


def _drawn_swaps(moved: Floats, seed: int) -> Floats:
    """Draw sums under random swaps, shape (DRAWS, reasons): m tasks of one difference add up to 2 Binomial(m, 1/2) - m times it."""
    generator = np.random.default_rng(seed)
    leading = np.take_along_axis(moved, (moved != 0.0).argmax(axis=1)[:, None], axis=1)
    rows, counts = np.unique(moved * np.sign(leading), axis=0, return_counts=True)
    sums: Floats = np.zeros((DRAWS, moved.shape[1]))
    for row, count in zip(rows, counts, strict=True):
        sums += np.multiply.outer(2.0 * generator.binomial(int(count), 0.5, size=DRAWS) - int(count), row)
    return sums


def _shift(table: Table, place: int, chosen: int, confidence: float, seed: int) -> StopShift:
    """Compare the stops of two variants, given by their places."""
    here = (table.planned[:, place] > 0) | (table.planned[:, chosen] > 0)
    planned = table.planned[here][:, (chosen, place)]
    undefined, why = _obstacle(table, here, place, chosen)
    blank = StopShift(
        variant=table.variants[place],
        baseline=table.variants[chosen],
        tasks=int(here.sum()),
        trials=(int(planned.min()), int(planned.max())) if planned.size else (0, 0),
        confidence=confidence,
        undefined=undefined,
        why=why,
    )
    if why:
        return blank
    first, second = (_shares(table, one, here) for one in (chosen, place))
    used = (first + second).sum(axis=0) > 0.0
    first, second = first[:, used], second[:, used]
    test = swap_test(first, second, trials=float(planned.mean()), seed=seed)
    reasons = [reason for reason, kept in zip(table.stops, used, strict=True) if kept]
    return replace(
        blank,
        variation=test.variation,
        expected=test.expected,
        chi_square=test.chi_square,
        p=test.p,
        differing=test.differing,
        enumerated=test.enumerated,
        reasons=_reasons(reasons, first, second, confidence, seed),
    )


def _obstacle(table: Table, here: Bools, place: int, chosen: int) -> tuple[tuple[str, ...], str]:
    """Name the tasks whose stops cannot be compared, and say why; nothing where all can."""
    if not here.any():
        return (), "no task is planned"
    alone = here & ((table.planned[:, place] == 0) | (table.planned[:, chosen] == 0))
    whole = table.defined[:, place] & table.defined[:, chosen]
    for what, bad in (
        ("planned for one of the two only", alone),
        ("with trials missing or in error", here & ~whole),
        ("with trials not told why they stopped", here & _untold(table, place, chosen)),
    ):
        if bad.any():
            names = tuple(table.task_name(int(task)) for task in np.flatnonzero(bad))
            return names, f"{len(names)} of {counted(int(here.sum()), 'task')} {what}: {listed(names)}"
    return (), ""


def _untold(table: Table, place: int, chosen: int) -> Bools:
    """Find the tasks with a trial of either variant of whose end nobody told, shape (tasks,)."""
    if UNKNOWN not in table.stops:
        return np.zeros(len(table.tasks), dtype=np.bool_)
    counts = table.count(table.stop == table.stops.index(UNKNOWN))
    untold: Bools = (counts[:, place] + counts[:, chosen]) > 0
    return untold


def _shares(table: Table, variant: int, here: Bools) -> Floats:
    """Give the share of each task's trials by reason, shape (tasks here, reasons)."""
    shape = (len(table.tasks), len(table.stops))
    rows = table.variant == variant
    cells = (table.task * shape[1] + table.stop)[rows]
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)[here]
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _reasons(
    names: Sequence[str], first: Floats, second: Floats, confidence: float, seed: int
) -> tuple[ReasonShift, ...]:
    """Compare the reasons one by one, the largest shift first."""
    differences = second - first
    tests: list[SignFlip] = [sign_flip(differences[:, column], seed=seed) for column in range(len(names))]
    adjusted = holm([test.p for test in tests])
    found = []
    for column, name in enumerate(names):
        low, high = bonett_price(differences[:, column], confidence=confidence)
        found.append(
            ReasonShift(
                reason=name,
                variant=float(second[:, column].mean()),
                baseline=float(first[:, column].mean()),
                difference=float(differences[:, column].mean()),
                low=low,
                high=high,
                p=tests[column].p,
                p_adjusted=adjusted[column],
            )
        )
    return tuple(sorted(found, key=lambda one: (-abs(one.difference), one.reason)))


def _worded(found: StopShift) -> StopShift:
    """Say the comparison in a sentence."""
    pair = f"{found.variant} against {found.baseline}"
    if found.variation is None or found.expected is None or found.p_adjusted is None:
        return replace(found, sentence=f"{pair} cannot be compared, {found.why}")
    if found.differing == 0:
        text = f"{pair}: every task's trials end by the same reasons equally often"
        return replace(found, sentence=f"{text}, {counted(found.tasks, 'task')}, {span(found.trials)}")
    word = "end trials by other reasons" if found.p_adjusted <= 1.0 - found.confidence else "not shown to differ"
    first = found.reasons[0]
    text = (
        f"{pair}: {word}, total variation {number(found.variation, digits=2)} "
        f"({number(found.expected, digits=2)} by chance alone), {counted(found.tasks, 'task')}, {span(found.trials)}, "
        f"{p_value(found.p_adjusted)} (Holm); largest shift {first.reason}, "
        f"{number(first.baseline, digits=2)} to {number(first.variant, digits=2)}, "
        f"difference {bracket(first.low, first.high, digits=2)}"
    )
    return replace(found, sentence=text)
