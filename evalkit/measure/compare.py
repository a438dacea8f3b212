"""Variant against baseline on the same tasks: how much, how sure, and in one sentence.

Invariant: a comparison speaks of all planned tasks or of none. Where a task has no value under either variant the difference is
undefined, and says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.measure.arrays import Floats
from evalkit.measure.estimate import Reading, read
from evalkit.measure.interval import tail
from evalkit.measure.metric import Metric, Shares
from evalkit.measure.metrics import metric as read_metric
from evalkit.measure.paired import FEWEST_DIFFERING, SignFlip, bonett_price, holm, sign_flip, within_tasks
from evalkit.measure.table import Table, listed
from evalkit.measure.words import bracket, counted, number, p_value, span


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The difference `variant` - `baseline` of a metric, in its unit (a share); None where undefined, and then `why`.

    `low` and `high` bound the mean difference over tasks of this kind at `confidence`. `p` is the two-sided p that decides (exact or
    mid-p), `p_exact` and `p_mid` are both, `p_adjusted` is Holm's over all comparisons made together. `p_within` answers another
    question, whether the two are identical on these very tasks; it is given only where fewer than six tasks differ. `better`,
    `worse` and `equal` count tasks, as the metric understands better. `undefined` names tasks without a value; where only trials are
    unknown, the difference will lie between `worst` and `best`, whatever these trials bring.
    """

    variant: str
    baseline: str
    metric: str
    tasks: int
    trials: tuple[int, int]
    confidence: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_exact: float | None = None
    p_mid: float | None = None
    p_adjusted: float | None = None
    p_within: float | None = None
    better: int = 0
    worse: int = 0
    equal: int = 0
    worst: float | None = None
    best: float | None = None
    undefined: tuple[str, ...] = ()
    why: str = ""
    sentence: str = ""

    @property
    def differing(self) -> int:
        """How many tasks differ."""
        return self.better + self.worse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """A metric of two variants on the same tasks: `differences` of shape (tasks,), or None, and then `why`.

    Where only trials are unknown, `worst` and `best` are the mean difference with all of them read for the baseline and for the variant.
    `skipped` says that passes are not all known, since trials were skipped after a first failure.
    """

    variant: str
    baseline: str
    metric: Metric
    tasks: int
    trials: tuple[int, int]
    first: Shares | None = None
    second: Shares | None = None
    differences: Floats | None = None
    worst: float | None = None
    best: float | None = None
    skipped: bool = False
    undefined: tuple[str, ...] = ()
    why: str = ""


def compare(
    table: Table,
    *,
    baseline: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    metrics: Sequence[Metric | str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare every other variant with the baseline, or just the `pairs` (variant, baseline); for each pair all the metrics, in order.

    Without `baseline` it is the table's own, else the first variant. Without `metrics` they are pass^k, k being the smallest number of
    trials planned for any task, and pass@1: a change of every task shows in the first, of a few in the second.
    The test is `paired.sign_flip`, the interval `paired.bonett_price`. p-values are adjusted over all comparisons that have one.
    Empty where there is no other variant. Raises `ConfigurationError` for names that there are not.
    """
    tail(confidence, 2)
    if not table.variants:
        return ()
    chosen = table.variants[table.find_variant(baseline or table.baseline or table.variants[0])]
    couples = [(name, chosen) for name in table.variants if name != chosen] if pairs is None else pairs
    asked = default_metrics(table) if metrics is None else metrics
    kinds = [read_metric(one) if isinstance(one, str) else one for one in asked]
    found = [_compared(pair(table, kind, *couple), confidence, seed) for couple in couples for kind in kinds]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return tuple(
        _worded(one if one.p is None else replace(one, p_adjusted=next(adjusted)), kinds[place % len(kinds)])
        for place, one in enumerate(found)
    )


def default_metrics(table: Table) -> tuple[str, ...]:
    """Name the metrics that are compared where nobody says: pass^k at the smallest planned number of trials, and pass@1."""
    planned = table.planned[table.planned > 0]
    k = int(planned.min()) if planned.size else 1
    return ("pass@1",) if k == 1 else (f"pass^{k}", "pass@1")


def pair(table: Table, metric: Metric, variant: str, baseline: str, *, task: str | int | None = None) -> Pair:
    """Take a metric's difference variant - baseline on each task; undefined as a whole where any task is."""
    first, second = (read(table, metric, name, task=task) for name in (baseline, variant))
    trials = (min(first.trials[0], second.trials[0]), max(first.trials[1], second.trials[1]))
    tasks = int(np.union1d(first.places, second.places).size)
    a, b = first.found, second.found
    if not isinstance(a, Shares) or not isinstance(b, Shares):
        why = f"{metric.text} is no mean over tasks, so it has no paired difference"
        return Pair(variant=variant, baseline=baseline, metric=metric, tasks=tasks, trials=trials, why=why)
    undefined, why = _obstacle(first, second, a, b)
    blank = Pair(
        variant=variant,
        baseline=baseline,
        metric=metric,
        tasks=tasks,
        trials=trials,
        skipped=table.first_failure,
        undefined=undefined,
        why=why,
    )
    if not why:
        return replace(blank, first=a, second=b, differences=b.values - a.values)
    if not np.array_equal(first.places, second.places) or not undefined or (a.short | b.short).any():
        return blank
    worst, best = (_gap(a.filled(hit=not hit), b.filled(hit=hit)) for hit in _readings(metric))
    return replace(blank, worst=worst, best=best)


def _readings(metric: Metric) -> tuple[bool, bool]:
    """Give how the variant's unknown trials are read at worst and at best: as hits or not."""
    return not metric.more_is_better, metric.more_is_better


def _gap(first: Shares, second: Shares) -> float:
    """Give the mean difference of two variants of whose trials all are known."""
    return float((second.values - first.values).mean())


def _obstacle(first: Reading, second: Reading, a: Shares, b: Shares) -> tuple[tuple[str, ...], str]:
    """Name the tasks without a difference, and say why; nothing where all have one."""
    if not np.array_equal(first.places, second.places):
        alone = np.setxor1d(first.places, second.places)
        names = tuple(first.table.task_name(int(place)) for place in alone)
        return names, f"{counted(len(names), 'task')} planned for one of the two only: {listed(names)}"
    if first.places.size == 0:
        return (), "no task is planned"
    for what, bad in (
        (f"fewer than k={a.k} trials", a.short | b.short),
        (f"trials {max(a.doubt, b.doubt, key=len)}", a.open | b.open),
    ):
        if bad.any():
            names = first.named(bad)
            return names, f"{len(names)} of {counted(bad.size, 'task')} with {what}: {listed(names)}"
    return (), ""


def _compared(pair: Pair, confidence: float, seed: int) -> Comparison:
    """Test a pair and bound its difference."""
    blank = Comparison(
        variant=pair.variant,
        baseline=pair.baseline,
        metric=pair.metric.text,
        tasks=pair.tasks,
        trials=pair.trials,
        confidence=confidence,
        worst=pair.worst,
        best=pair.best,
        undefined=pair.undefined,
        why=pair.why,
    )
    if pair.differences is None or pair.first is None or pair.second is None:
        return blank
    differences = pair.differences
    test = sign_flip(differences, seed=seed)
    low, high = bonett_price(differences, confidence=confidence)
    up, down = int((differences > 0.0).sum()), int((differences < 0.0).sum())
    better, worse = (up, down) if pair.metric.more_is_better else (down, up)
    return replace(
        blank,
        difference=float(differences.mean()),
        low=low,
        high=high,
        p=test.p,
        p_exact=test.exact,
        p_mid=test.mid,
        p_within=None if pair.skipped else _within(pair.first, pair.second, test),
        better=better,
        worse=worse,
        equal=differences.size - up - down,
    )


def _within(first: Shares, second: Shares, test: SignFlip) -> float | None:
    """Answer the other question, where the first has no answer to hope for."""
    return within_tasks(first, second) if test.differing < FEWEST_DIFFERING else None


def _worded(found: Comparison, metric: Metric) -> Comparison:
    """Say the comparison in a sentence."""
    if found.difference is None or found.low is None or found.high is None or found.p_adjusted is None:
        text = f"{found.variant} against {found.baseline}: {found.metric} cannot be compared, {found.why}"
        if found.worst is not None and found.best is not None:
            low, high = sorted((found.worst, found.best))
            text += f"; whatever they bring, the difference lies in {bracket(low, high, digits=2)}"
        return replace(found, sentence=text)
    basis = f"{bracket(found.low, found.high, digits=2)}, {counted(found.tasks, 'task')}, {span(found.trials)}, {p_value(found.p_adjusted)} (Holm)"
    size = number(abs(found.difference), digits=2)
    if math.isclose(found.difference, 0.0, abs_tol=1e-12):
        change = f"has the same {found.metric}"
    elif round(found.difference, 2) == 0.0:
        change = f"moves {found.metric} by less than 0.01"
    elif found.p_adjusted > 1.0 - found.confidence:
        sign = "+" if found.difference > 0 else ""
        shown = f"{sign}{number(found.difference, digits=2)} {basis}"
        return replace(
            found, sentence=f"{found.variant} is not shown to differ from {found.baseline} in {found.metric}: {shown}"
        )
    elif metric.more_is_better:
        change = f"{'gains' if found.difference > 0 else 'loses'} {size} of {found.metric}"
    else:
        change = f"{'raises' if found.difference > 0 else 'lowers'} {found.metric} by {size}"
    text = f"{found.variant} {change} {'as' if change.startswith('has') else 'against'} {found.baseline} {basis}"
    return replace(found, sentence=text)
