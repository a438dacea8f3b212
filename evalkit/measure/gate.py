"""The gate: rules in, one verdict out, in three ways and not two.

A bound on a bare estimate flips a coin when the truth is near it: two runs of the same agent disagree up to half of the time. So a rule
passes where it is shown to be met, fails where it is shown to be missed, and is inconclusive between.

Invariant: what was not measured never helps and never hurts unseen. A rule on a value that is undefined is inconclusive, unless the
worst and the best reading of the unknown trials have one and the same verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Gate
from evalkit.measure.drop import Family, judge_drop
from evalkit.measure.estimate import Ask, Estimate, Reading, conclude, read
from evalkit.measure.interval import Method, Scope
from evalkit.measure.metric import Amount
from evalkit.measure.odds import Bar, Odds, Word, odds
from evalkit.measure.rule import HELD, Kind, Rule, all_rules
from evalkit.measure.ruling import Ruling, invalid
from evalkit.measure.sequential import judge_anytime
from evalkit.measure.table import Table
from evalkit.measure.words import about, bracket, flip, number, percent, span

MAX_ERROR_RATE = 0.05
"""The share of planned trials that may lack a result before a run is invalid, where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of all rules together, the worst of theirs: invalid before fail before inconclusive before pass.

    `unmeasured` is the share of planned trials without a result, by variant.
    """

    verdict: Word
    rules: tuple[Ruling, ...]
    why: str = ""
    unmeasured: dict[str, float] = field(default_factory=dict)


def judge(
    table: Table,
    rules: Sequence[Rule | Gate | str],
    *,
    kind: Kind | None = None,
    per_task: bool = False,
    confidence: float = 0.95,
    scope: Scope = "population",
    method: Method = "gaffke",
    max_error_rate: float | None = MAX_ERROR_RATE,
    seed: int = 0,
) -> Judgement:
    """Judge a run by rules: texts, a config's gates, or rules; `kind` is that of texts and gates, None: a gate's own, and `lower` for texts.

    `confidence` is that of each bound by itself. `per_task` holds every rule for each task instead of the suite. A variant
    of whose planned trials more than `max_error_rate` are missing or in error makes its rules, and the run, invalid; None sets no
    such limit. A run without tasks or trials is invalid. Raises `ConfigurationError` for rules that make no sense, or none.

    Where trials are unknown, a rule on a value (not on a drop) is judged for the worst and for the best that they could have been.
    Value and both bounds move one way when a trial turns from miss to hit, so every other outcome is judged between the two: where
    both say pass, or both fail, what is unknown cannot matter, and the verdict stands. (The scope `suite` estimates its own noise, so
    that its bounds do not move so; there the rule stays inconclusive.)
    """
    asked = Ask(confidence=confidence, sides=1, scope=scope, method=method)
    wanted = all_rules(rules, kind=kind)
    lost, broken = _unmeasured(table), _unmeasured(table, missing=False)
    if table.planned.sum() == 0:
        return Judgement(verdict="invalid", rules=(), why="no trial is planned", unmeasured=lost)
    cases = [case for rule in wanted for case in _cases(table, rule, per_task=per_task)]
    family = Family.of(table, [case for case in cases if case[0].baseline is not None], confidence, seed)
    rulings = []
    for rule, variant, task in cases:
        over = _over_budget(rule, variant, broken if rule.kind == "anytime" else lost, max_error_rate)
        if over:
            rulings.append(invalid(table, rule, variant, task, confidence, over))
        elif rule.baseline is not None:
            rulings.append(judge_drop(table, rule, variant, task, family))
        else:
            rulings.append(_judge_value(table, rule, variant, task, asked))
    return Judgement(verdict=_worst(rulings), rules=tuple(rulings), unmeasured=lost)


def settled(table: Table, rules: Sequence[Rule | Gate | str]) -> Word | None:
    """Give the verdict of the whole run where no trial that is still to come can change it: pass or fail, else None.

    It is fail as soon as one bound on a value is missed whatever the unknown trials bring, and pass once all are met so (see `judge`): exact curtailment,
    which errs just as often as the full run. A drop never settles beforehand: its bounds do not move one way, and Holm's adjustment
    grows with the pairs that are known.
    """
    asked, words = Ask(sides=1), set[Word]()
    cases = [case for one in all_rules(rules) for case in _cases(table, one, per_task=False)]
    for rule, variant, task in cases:
        if rule.baseline is not None:
            words.add("inconclusive")
            continue
        if rule.kind == "anytime":
            words.add(judge_anytime(table, rule, variant, asked.confidence).verdict)
            continue
        reading = read(table, rule.metric, variant, task=task)
        bar = Bar(sense=rule.sense, bound=rule.bound, kind=rule.kind)
        words.add(_verdict(reading, conclude(reading, asked), bar, asked)[0])
    if "fail" in words:
        return "fail"
    return "pass" if words == {"pass"} else None


def together(judgements: Sequence[Judgement]) -> Judgement:
    """Take several judgements as one: all rules, the worst verdict, each variant's share of unmeasured trials. Raises `ValueError` for none."""
    if not judgements:
        raise ValueError("there is no judgement")
    return Judgement(
        verdict=_worst(judgements),
        rules=tuple(rule for one in judgements for rule in one.rules),
        why="; ".join(one.why for one in judgements if one.why),
        unmeasured={name: lost for one in judgements for name, lost in one.unmeasured.items()},
    )


def _worst(rulings: Sequence[Ruling | Judgement]) -> Word:
    """Give the worst of the verdicts; there is at least one."""
    said = {ruling.verdict for ruling in rulings}
    order: tuple[Word, ...] = ("invalid", "fail", "inconclusive", "pass")
    return next(word for word in order if word in said)


def _cases(table: Table, rule: Rule, *, per_task: bool) -> list[tuple[Rule, str, int | None]]:
    """Spread a rule over the variants and tasks that it speaks of; raises `ConfigurationError` where there is none such."""
    if per_task and rule.kind == "anytime":
        raise ConfigurationError.of(
            f"rule {rule.text}", "a single task cannot be judged at any time", "use the kind lower, or no --per-task"
        )
    if rule.baseline is not None:
        table.find_variant(rule.baseline)
    names = table.variants if rule.variant is None else (table.variants[table.find_variant(rule.variant)],)
    names = tuple(name for name in names if name != rule.baseline)
    tasks: Sequence[int | None] = (None,) if rule.task is None else (table.find_task(rule.task),)
    if per_task and rule.task is None:
        tasks = range(len(table.tasks))
    planned = table.planned > 0
    cases = [
        (rule, name, task)
        for name in names
        for task in tasks
        if not per_task or task is None or planned[task, table.find_variant(name)]
    ]
    if not cases:
        raise ConfigurationError.of(f"rule {rule.text}", "the run has nothing that it speaks of", "run more variants")
    return cases


def _unmeasured(table: Table, *, missing: bool = True) -> dict[str, float]:
    """Give the share of each variant's planned trials that are in error or missing, but for skipped ones; 0 where none is planned.

    Without `missing`, of those in error: evidence that may be looked at at any time does not mind what is still to come.
    """
    open_ = table.errors + table.lost if missing else table.errors
    lost, planned = open_.sum(axis=0), table.planned.sum(axis=0)
    return {
        name: float(lost[place] / planned[place]) if planned[place] else 0.0
        for place, name in enumerate(table.variants)
    }


def _over_budget(rule: Rule, variant: str, lost: dict[str, float], most: float | None) -> str:
    """Name the variant of a rule, or its baseline, that is over the budget of errors; empty where neither is."""
    for name in (variant, rule.baseline):
        if most is not None and name is not None and lost[name] > most:
            return f"{percent(lost[name])} of {name}'s planned trials are missing or in error, over the {percent(most)} allowed"
    return ""


def _judge_value(table: Table, rule: Rule, variant: str, task: int | None, asked: Ask) -> Ruling:
    """Judge a bound on a metric's value."""
    if rule.kind == "anytime":
        return judge_anytime(table, rule, variant, asked.confidence)
    reading = read(table, rule.metric, variant, task=task)
    estimate = conclude(reading, asked)
    bar = Bar(sense=rule.sense, bound=rule.bound, kind=rule.kind)
    verdict, reason = _verdict(reading, estimate, bar, asked)
    chances = odds(reading, estimate, bar, asked)
    return Ruling(
        rule=rule.text,
        variant=variant,
        task=estimate.task,
        metric=rule.metric.text,
        kind=rule.kind,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        confidence=asked.confidence,
        scope=estimate.scope,
        tasks=estimate.tasks,
        method=estimate.method,
        trials=estimate.trials,
        threshold=rule.bound,
        verdict=verdict,
        sentence=_sentence(rule, estimate, verdict, chances, reason),
        flips=chances.flips,
        flips_why=chances.why,
        pass_at=chances.pass_at,
        fail_at=chances.fail_at,
        needed=chances.needed,
        worst=estimate.worst,
        best=estimate.best,
        why=estimate.why,
    )


def _verdict(reading: Reading, estimate: Estimate, bar: Bar, asked: Ask) -> tuple[Word, str]:
    """Give the verdict, and what there is to say about how it came."""
    if isinstance(reading.found, Amount):
        return _priced(estimate, bar)
    verdict = _word(estimate, bar)
    if estimate.worst is None or estimate.value is not None or asked.scope == "suite":
        return verdict, ""
    worst, best = (_word(conclude(reading.filled(good=good), asked), bar) for good in (False, True))
    if worst == best != "inconclusive":
        return worst, f"read as bad or as good, they leave the verdict at {worst}"
    return "inconclusive", f"read as bad they make it {worst}, read as good {best}"


def _priced(estimate: Estimate, bar: Bar) -> tuple[Word, str]:
    """Judge an amount, which has no interval."""
    if estimate.value is None:
        return "inconclusive", ""
    if bar.kind == "point":
        return bar.verdict(estimate.value, estimate.value, estimate.value), ""
    return "inconclusive", f"{estimate.metric} has no interval, so only a rule of the kind point can judge it"


def _word(estimate: Estimate, bar: Bar) -> Word:
    """Judge an estimate by its interval; inconclusive where it has none."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "inconclusive"
    return bar.verdict(estimate.value, estimate.low, estimate.high)


def _sentence(rule: Rule, estimate: Estimate, verdict: Word, chances: Odds, reason: str) -> str:
    """Say a ruling in one sentence."""
    whose = estimate.variant if estimate.task is None else f"{estimate.variant} on {estimate.task}"
    rest = [f"needs {rule.sense} {rule.bound:g}{HELD[rule.kind]}: {verdict.upper()}"]
    if reason:
        rest.append(reason)
    if estimate.value is None:
        between = ""
        if estimate.worst is not None and estimate.best is not None:
            low, high = sorted((estimate.worst, estimate.best))
            between = f"; it lies between {number(low)} and {number(high)}"
        return f"{estimate.metric} of {whose} is undefined: {estimate.why}{between}; " + "; ".join(rest)
    if estimate.low is None or estimate.high is None:
        rest += [estimate.why] if estimate.why else []
        return f"{estimate.metric} of {whose} = {number(estimate.value)}; " + "; ".join(rest)
    if rule.kind == "not-worse" and estimate.low < rule.bound < estimate.high:
        rest.append("not shown to be met either")
    rest.extend(_outlook(estimate, chances, rule.sense))
    return (
        f"{estimate.metric} of {whose} = {number(estimate.value)} ({_basis(estimate, chances)}), one-sided "
        f"{percent(estimate.confidence)} bounds {bracket(estimate.low, estimate.high)} ({estimate.scope}, {estimate.method}); "
        + "; ".join(rest)
    )


def _basis(estimate: Estimate, chances: Odds) -> str:
    """Say what a value was made from: 22/30 tasks, n=8."""
    if estimate.task is not None:
        return f"{estimate.hits}/{estimate.trials[0]} trials"
    tasks = f"{estimate.tasks:,} tasks" if estimate.tasks != 1 else "1 task"
    if chances.exact and estimate.hits is not None:
        tasks = f"{estimate.hits:,}/{tasks}"
    return f"{tasks}, {span(estimate.trials)}"


def _outlook(estimate: Estimate, chances: Odds, sense: Literal[">=", "<="]) -> list[str]:
    """Say what would change the verdict."""
    told = []
    if chances.exact:
        of = estimate.trials[0] if estimate.task is not None else estimate.tasks
        more, fewer = ("more", "fewer") if sense == ">=" else ("fewer", "more")
        passes = "no count" if chances.pass_at is None else f"{chances.pass_at} or {more}"
        fails = (
            "no count" if chances.fail_at is None else f"{chances.fail_at} or {fewer}" if chances.fail_at else "only 0"
        )
        if chances.pass_at is None and chances.fail_at is None:
            few = chances.unit if of != 1 else chances.unit.removesuffix("s")
            told.append(f"{of} {few} cannot decide it, however many pass")
        else:
            told.append(
                f"of {of} {chances.unit}, {passes} pass{'es' if chances.pass_at is None else ''} and {fails} fail{'' if chances.fail_at else 's'}"
            )
    if chances.flips is not None:
        told.append(flip(chances.flips, exact=chances.exact))
    if chances.needed is not None:
        unit = "trials a task" if chances.unit == "trials" and estimate.task is None else chances.unit
        told.append(f"about {about(chances.needed)} {unit} would tell")
    return told
