"""What is said of one rule.

Invariant: every ruling says in a sentence what was measured, what was asked, and the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.measure.odds import Word
from evalkit.measure.rule import Rule
from evalkit.measure.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A rule judged for one variant, and one task where it speaks of one.

    `value` is the metric's (the difference variant - baseline where there is a `baseline`), None where undefined, and then `why`. `low`
    and `high` are one-sided bounds, each at `confidence` by itself, made by `method` for the `scope`; `trials` are the least and the most of a task. `threshold` is what the value is held to. `flips` is the chance
    that the same run, made again, is judged otherwise, None, and then `flips_why`. `pass_at` and `fail_at` are the counts of tasks (of
    trials, for one task) at which the rule passes and fails, `needed` how many would give a clear verdict. `worst` and `best` are the
    value with every unknown trial read as bad and as good.
    """

    rule: str
    variant: str
    task: str | None
    metric: str
    kind: str
    confidence: float
    scope: str
    tasks: int
    method: str = "none"
    trials: tuple[int, int] = (0, 0)
    threshold: float
    verdict: Word
    sentence: str
    baseline: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    flips: float | None = None
    flips_why: str = ""
    pass_at: int | None = None
    fail_at: int | None = None
    needed: int | None = None
    worst: float | None = None
    best: float | None = None
    why: str = ""


def invalid(table: Table, rule: Rule, variant: str, task: int | None, confidence: float, why: str) -> Ruling:
    """Rule that there is nothing to judge."""
    place = table.find_variant(variant)
    return Ruling(
        rule=rule.text,
        variant=variant,
        task=None if task is None else table.task_name(task),
        metric=rule.metric.text,
        kind=rule.kind,
        confidence=confidence,
        scope="none",
        trials=(int(table.planned[:, place].min(initial=0)), int(table.planned[:, place].max(initial=0))),
        tasks=1 if task is not None else int((table.planned[:, place] > 0).sum()),
        threshold=rule.bound,
        verdict="invalid",
        sentence=f"{rule.text} cannot be judged for {variant}: {why}: INVALID",
        baseline=rule.baseline,
        flips_why=why,
        why=why,
    )
