"""Rules on the drop from a baseline, which may be no larger than a margin.

Invariant: a fail is a finding. The tests of all drop rules of a gate are one family, so that many rules do not make false alarms likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.measure.arrays import Floats
from evalkit.measure.compare import Pair, default_metrics, pair
from evalkit.measure.metric import Metric
from evalkit.measure.metrics import metric as read_metric
from evalkit.measure.metrics.pass_at import PassAt
from evalkit.measure.metrics.pass_hat import PassHat
from evalkit.measure.odds import Word
from evalkit.measure.paired import NEGLIGIBLE, bonett_price, holm, sign_flip
from evalkit.measure.redraw import Drop
from evalkit.measure.rule import HELD, Rule
from evalkit.measure.ruling import Ruling
from evalkit.measure.table import Table
from evalkit.measure.words import about, bracket, counted, flip, number, p_value, percent, span

Key = tuple[str, str, str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The one-sided tests of all drop rules of a gate: Holm's adjusted p by metric, variant, baseline and task."""

    adjusted: dict[Key, float]
    confidence: float

    @classmethod
    def of(cls, table: Table, cases: Sequence[tuple[Rule, str, int | None]], confidence: float, seed: int) -> Family:
        """Make each test once that any of the rules wants; undefined pairs have none.

        A rule on pass^k or pass@k is also missed by a significant drop of pass@1 (one on pass@1, of pass^k): what makes
        every task a little worse shows in one, what breaks a few tasks in the other.
        """
        tests: dict[Key, float] = {}
        wanted = {
            (metric.text, variant, rule.baseline or "", task): metric
            for rule, variant, task in cases
            for metric in _companions(table, rule.metric)
        }
        for key, metric in wanted.items():
            found = pair(table, metric, key[1], key[2], task=key[3])
            if found.differences is not None:
                gains = found.differences if metric.more_is_better else -found.differences
                tests[key] = sign_flip(gains, side="less", seed=seed).p
        return cls(adjusted=dict(zip(tests, holm(list(tests.values())), strict=True)), confidence=confidence)

    def findings(self, table: Table, rule: Rule, variant: str, task: int | None) -> list[tuple[str, float]]:
        """List the metrics of a rule in which the variant is significantly worse, with their p."""
        keys = [(metric.text, variant, rule.baseline or "", task) for metric in _companions(table, rule.metric)]
        found = [(key[0], self.adjusted[key]) for key in keys if key in self.adjusted]
        return [(text, p) for text, p in found if p <= 1.0 - self.confidence]


def judge_drop(table: Table, rule: Rule, variant: str, task: int | None, family: Family) -> Ruling:
    """Judge a drop of `variant` from the rule's baseline.

    `lower`: pass where the one-sided lower bound of the gain is above minus the margin; else fail where the variant is significantly
    worse; else inconclusive. `point`: the bare difference. `not-worse`: fail where the difference is not shown to be within the margin
    and the variant is significantly worse, else pass. Where a task is undefined the rule is inconclusive: the bounds of a difference
    do not move one way with the trials, so that two readings would not speak for all between.
    """
    found = pair(table, rule.metric, variant, rule.baseline or "", task=task)
    worse = family.findings(table, rule, variant, task)
    change = None if found.differences is None else _change(rule, found.differences, family, bool(worse))
    verdict: Word = "inconclusive" if change is None else change.verdict
    ruling = Ruling(
        rule=rule.text,
        variant=variant,
        task=None if task is None else table.task_name(task),
        metric=rule.metric.text,
        kind=rule.kind,
        confidence=family.confidence,
        scope="population",
        tasks=found.tasks,
        method="none" if change is None else "bonett-price",
        trials=found.trials,
        threshold=-rule.bound if rule.metric.more_is_better else rule.bound,
        verdict=verdict,
        sentence=_sentence(rule, found, change, worse, family.confidence),
        baseline=rule.baseline,
        flips_why=found.why,
        why=found.why,
    )
    if change is None:
        return ruling
    return replace(
        ruling, value=change.value, low=change.low, high=change.high, flips=change.flips, needed=change.needed
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A difference with its one-sided bounds, its verdict, and what would change that; fields are as in `Ruling`."""

    value: float
    low: float
    high: float
    verdict: Word
    flips: float
    needed: int | None


def _change(rule: Rule, differences: Floats, family: Family, worse: bool) -> Change:
    """Bound and judge the mean of the differences."""
    value = float(differences.mean())
    low, high = bonett_price(differences, confidence=family.confidence, sides=1)
    gain, floor = (value, low) if rule.metric.more_is_better else (-value, -high)
    verdict = _verdict(rule, gain, floor, worse=worse)
    gains = differences if rule.metric.more_is_better else -differences
    again = Drop(bound=rule.bound, kind=rule.kind, confidence=family.confidence, tests=max(1, len(family.adjusted)))
    return Change(
        value=value,
        low=low,
        high=high,
        verdict=verdict,
        flips=again.flips(gains, verdict),
        needed=again.needed(gains) if verdict == "inconclusive" else None,
    )


def _companions(table: Table, metric: Metric) -> tuple[Metric, ...]:
    """List the metrics whose significant drop breaks a rule on this one, itself first."""
    if not isinstance(metric, PassHat | PassAt):
        return (metric,)
    others = default_metrics(table) if metric.text == "pass@1" else ("pass@1",)
    return (metric, *(read_metric(text) for text in others if text != metric.text))


def _verdict(rule: Rule, gain: float, floor: float, *, worse: bool) -> Word:
    """Judge a gain whose one-sided lower bound is `floor`."""
    if rule.kind == "point":
        return "pass" if gain >= -rule.bound - 1e-12 else "fail"
    if floor > -rule.bound:
        return "pass"
    if worse:
        return "fail"
    return "pass" if rule.kind == "not-worse" else "inconclusive"


def _sentence(
    rule: Rule, found: Pair, change: Change | None, worse: Sequence[tuple[str, float]], confidence: float
) -> str:
    """Say a ruling in one sentence."""
    head = f"{rule.metric.text} of {found.variant} against {found.baseline}"
    verdict = "inconclusive" if change is None else change.verdict
    asked = f"may {'drop' if rule.metric.more_is_better else 'rise'} {rule.bound:g}{HELD[rule.kind]}: {verdict.upper()}"
    if change is None:
        return f"{head} is undefined: {found.why}; {asked}"
    told = [asked]
    if worse:
        told.append(
            "significantly worse in " + ", ".join(f"{text} ({p_value(p)} one-sided, Holm)" for text, p in worse)
        )
    if not worse and change.verdict != "fail" and rule.kind != "point" and _toothless(found, confidence):
        many = _differing(found)
        which = f"only {counted(many, 'task')}" if many else "no task"
        told.append(
            f"{which} differ{'' if many > 1 else 's'}, so that no change of {rule.metric.text} could be significant"
        )
    told.append(flip(change.flips, exact=False))
    if change.needed is not None:
        told.append(f"about {about(change.needed)} tasks would tell")
    return (
        f"{head}: {number(change.value)} ({counted(found.tasks, 'task')}, {span(found.trials)}), one-sided "
        f"{percent(confidence)} bounds {bracket(change.low, change.high)} (population, bonett-price); "
        + "; ".join(told)
    )


def _differing(found: Pair) -> int:
    """Count the tasks that differ."""
    return 0 if found.differences is None else int(np.count_nonzero(np.abs(found.differences) > NEGLIGIBLE))


def _toothless(found: Pair, confidence: float) -> bool:
    """Tell whether too few tasks differ for a one-sided sign-flip test: the least exact p of m differing tasks is 1/2^m."""
    return 0.5 ** _differing(found) > 1.0 - confidence
