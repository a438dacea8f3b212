"""A run's numbers as the JSON objects that other programs rely on, and that every view of a run is drawn from.

Invariant: each number is made once, here, by `measure`; what is undefined is null with its reason and never `NaN`; keys
are only ever added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Literal, get_args

from evalkit.measure.alarms import Alarms
from evalkit.measure.amounts import PARTS, Meter, Metered, distribution, spend, spread
from evalkit.measure.compare import Comparison
from evalkit.measure.estimate import Ask, Estimate, conclude, estimate, read
from evalkit.measure.front import front
from evalkit.measure.gate import Judgement
from evalkit.measure.medians import MEDIAN, MOST, quantile
from evalkit.measure.ruling import Ruling
from evalkit.measure.stop_shift import ReasonShift, StopShift
from evalkit.measure.stops import Stops, stops
from evalkit.measure.table import Table
from evalkit.measure.winner import winner
from evalkit.report.about import About
from evalkit.report.early import SKIPPED, early

USUAL = Ask()
"""How intervals are made where nobody says."""

METERS: tuple[Meter, ...] = ("turns", "tokens", "seconds")
Outcome = Literal["passed", "failed"]
ENDED: tuple[Outcome, ...] = get_args(Outcome)
SPENT: tuple[Metered, ...] = (*METERS, "usd")


COUNTS = {"passed": "passed", "failed": "failed", "errors": "errors", "missing": "lost", "skipped": "skipped"}
"""The names under which trials are counted, with those of a table; together they are the planned ones."""


def summarise(table: Table, about: About, alarms: Alarms | None = None, *, asked: Ask = USUAL) -> dict[str, Any]:
    """Give what `show RUN --json` prints: completeness, and for each variant its counts, estimates, stops, costs and lengths.

    `pass_hat` and `pass_at` hold every k up to the most trials that a task has under the variant. `stops_passed` counts,
    of the trials that a reason ended, those whose final state the graders passed, `stops_errors` those in error. `front` says whether no other variant is both as cheap a
    trial and as reliable at the run's deepest k. `spread` has the quantiles of what passed and what failed trials used. With `alarms`, `detectors` has what each of a variant's detectors did.
    `asked` says how intervals are made.
    """
    found = stops(table)
    variants = {name: _variant(table, place, found, asked) for place, name in enumerate(table.variants)}
    return {
        "run": about.run,
        "suite": ", ".join(about.suites),
        "sandbox": about.machine.get("sandbox", ""),
        "natures": list(about.natures),
        "completeness": {
            "planned": int(table.planned.sum()),
            "measured": int(table.passed.sum() + table.failed.sum()),
            "errors": int(table.errors.sum()),
            "missing": int(table.lost.sum()),
            "skipped": int(table.skipped.sum()),
        },
        "early": list(early(table)),
        "variants": _alarmed(_fronted(variants, int(table.planned.max(initial=0))), about, alarms),
        "highest": _highest(table),
    }


def task_rows(table: Table) -> list[dict[str, Any]]:
    """Give for each task, in the order of the plan, how its trials ended under each variant that it was planned for."""
    return [
        {
            "suite": suite,
            "task": task,
            "variants": {
                name: _counts(table, row, place)
                for place, name in enumerate(table.variants)
                if table.planned[row, place]
            },
        }
        for row, (suite, task) in enumerate(table.tasks)
    ]


def estimate_json(found: Estimate) -> dict[str, Any]:
    """Give an estimate as a JSON object; where it is undefined with the reason, and what it could still turn out to be."""
    shown: dict[str, Any] = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "confidence": found.confidence,
        "scope": found.scope,
        "method": found.method,
        "tasks": found.tasks,
        "n": list(found.trials),
    }
    if found.value is None:
        shown |= {"why": found.why, "worst": found.worst, "best": found.best}
    return shown


def compare_json(
    found: Sequence[Comparison],
    differs: Sequence[str],
    baseline: str,
    shifts: Sequence[StopShift] = (),
    *,
    notes: Sequence[str] = (),
    runs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Give what `compare --json` prints: each difference to the baseline, how stops shifted, and where the configurations differ.

    `notes` limit what is said, `runs` tells of the two runs where there are two.
    """
    shown: dict[str, Any] = {
        "baseline": baseline,
        "comparisons": [_comparison(one) for one in found],
        "stops": [_shift(one) for one in shifts],
        "configs": {"differs": list(differs)},
        "notes": list(notes),
    }
    return shown if runs is None else shown | {"runs": dict(runs)}


def gate_json(
    found: Judgement, exit_code: int, *, notes: Sequence[str] = (), runs: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Give what `gate RUN --json` prints: the verdict, its exit code, and each rule with what was found.

    `notes` limit what is said, `runs` tells of the two runs where one is held against another.
    """
    shown: dict[str, Any] = {
        "verdict": found.verdict,
        "exit_code": exit_code,
        "rules": [_ruling(rule) for rule in found.rules],
        "notes": list(notes),
    }
    shown |= {"why": found.why} if found.why else {}
    return shown if runs is None else shown | {"runs": dict(runs)}


def _ruling(found: Ruling) -> dict[str, Any]:
    """One rule; where its value is undefined with the reason, and what it could still turn out to be."""
    names = (
        "rule",
        "kind",
        "metric",
        "variant",
        "baseline",
        "task",
        "value",
        "low",
        "high",
        "threshold",
        "verdict",
        "sentence",
    )
    shown: dict[str, Any] = {name: getattr(found, name) for name in (*names, "flips")}
    shown |= {"confidence": found.confidence, "scope": found.scope, "method": found.method, "tasks": found.tasks}
    shown |= {"n": list(found.trials)}
    if found.value is None:
        shown |= {"why": found.why, "worst": found.worst, "best": found.best}
    return shown


def _comparison(found: Comparison) -> dict[str, Any]:
    """One difference; where it is undefined with the reason."""
    names = ("variant", "baseline", "metric", "tasks", "difference", "low", "high", "p", "p_adjusted", "p_within")
    shown: dict[str, Any] = {name: getattr(found, name) for name in (*names, "better", "worse", "equal", "sentence")}
    shown |= {"confidence": found.confidence, "scope": "population", "method": "bonett-price", "n": list(found.trials)}
    if found.difference is None:
        shown |= {"why": found.why, "worst": found.worst, "best": found.best}
    return shown


def _shift(found: StopShift) -> dict[str, Any]:
    """How the stops of one variant differ from the baseline's; where that is undefined with the reason."""
    names = (
        "variant",
        "baseline",
        "tasks",
        "variation",
        "expected",
        "chi_square",
        "p",
        "p_adjusted",
        "differing",
        "sentence",
    )
    shown: dict[str, Any] = {name: getattr(found, name) for name in names}
    shown["reasons"] = [
        {field.name: getattr(one, field.name) for field in fields(ReasonShift)} for one in found.reasons
    ]
    return shown if found.variation is not None else shown | {"why": found.why}


def _counts(table: Table, row: int, place: int) -> dict[str, int]:
    """How the trials of a task under a variant ended."""
    return {name: int(getattr(table, held)[row, place]) for name, held in COUNTS.items()}


def _variant(table: Table, place: int, found: Stops, asked: Ask) -> dict[str, Any]:
    """Everything about one variant."""
    name = table.variants[place]
    deepest = int(table.planned[:, place].max(initial=0))
    passed, would = found.passed(name), found.would_have_passed(name)
    content = {reason: passed.get(reason, 0) + would.get(reason, 0) for reason in found.of(name)}
    return {
        "tasks": int((table.planned[:, place] > 0).sum()),
        "trials": int((table.variant == place).sum()),
        **{name: int(getattr(table, held)[:, place].sum()) for name, held in COUNTS.items()},
        "pass_hat": _by_k(table, name, "pass^", deepest, asked),
        "pass_at": _by_k(table, name, "pass@", deepest, asked),
        "cap_rate": estimate_json(conclude(read(table, "cap_rate(any)", name), asked)),
        "stops": found.of(name),
        "stops_passed": {reason: number for reason, number in content.items() if number},
        "stops_errors": {reason: by["error"] for reason, by in found.by_outcome(name).items() if by["error"]},
        "usd": _usd(table, name, asked.confidence),
        **{meter: _spread(table, name, meter) | _bounds(table, name, meter, asked.confidence) for meter in METERS},
        "spread": {meter: {one: _range(table, name, meter, one) for one in ENDED} for meter in SPENT},
    }


def _fronted(variants: dict[str, Any], deepest: int) -> dict[str, Any]:
    """Say of each variant whether it is on the front of cost and reliability."""
    hats = [one["pass_hat"].get(str(deepest), {}).get("value") for one in variants.values()]
    costs = [one["usd"]["per_trial"] for one in variants.values()]
    found = front(list(zip(costs, hats, strict=True)))
    return {name: one | {"front": on} for (name, one), on in zip(variants.items(), found, strict=True)}


def _alarmed(variants: dict[str, Any], about: About, alarms: Alarms | None) -> dict[str, Any]:
    """Say of each variant what its detectors did, those too that never fired; nothing where no trace was read."""
    if alarms is None:
        return variants
    made = {one.name: [spec.kind for spec in one.detectors] for one in about.variants}
    return {
        name: one
        | {
            "detectors": {
                kind: asdict(alarms.of(name, kind))
                for kind in dict.fromkeys([*made.get(name, ()), *alarms.detectors(name)])
            }
        }
        for name, one in variants.items()
    }


def _range(table: Table, name: str, meter: Metered, outcome: Outcome) -> dict[str, Any]:
    """The distribution of a meter over the trials of one outcome."""
    found = distribution(table, name, meter, outcome)
    known = not table.skipped[:, table.find_variant(name)].any()
    values = (found.values if known else None) or (None,) * len(PARTS)
    return {f"p{100 * part:g}": one for part, one in zip(PARTS, values, strict=True)} | {"trials": found.trials}


def _highest(table: Table) -> dict[str, Any] | None:
    """The variant of the highest pass^k at the deepest k, and how far that choice flatters it; null where there is no choice."""
    deepest = int(table.planned.max(initial=0))
    best = winner(table, deepest) if deepest else None
    return (
        None if best is None else {name: getattr(best, name) for name in ("variant", "k", "value", "of", "overstates")}
    )


def _by_k(table: Table, name: str, written: str, deepest: int, asked: Ask) -> dict[str, Any]:
    """A metric for every k up to the deepest."""
    return {str(k): estimate_json(conclude(read(table, f"{written}{k}", name), asked)) for k in range(1, deepest + 1)}


def _usd(table: Table, name: str, confidence: float) -> dict[str, Any]:
    """What a variant cost, all its trials, those in error too; null with the reason where it cannot be said."""
    spent = spend(table, name)
    reliable = estimate(table, "usd_per_reliable_success", name)
    if table.skipped[:, table.find_variant(name)].any():
        ends = ("p50", "p95", "p50_low", "p50_high", "p95_low", "p95_high")
        whole = {"total": spent.total, "per_trial": None, "per_reliable_success": None, **dict.fromkeys(ends)}
        return {**whole, "why": SKIPPED}
    shown: dict[str, Any] = {"total": spent.total, "per_trial": spent.per_trial}
    shown |= {"per_reliable_success": reliable.value, "p50": quantile(table, name, "usd").value}
    shown |= {"p95": quantile(table, name, "usd", MOST).value, **_bounds(table, name, "usd", confidence)}
    return shown if reliable.value is not None else shown | {"why": reliable.why}


def _spread(table: Table, name: str, meter: Meter) -> dict[str, float | None]:
    """Median and 95th percentile over judged trials."""
    if table.skipped[:, table.find_variant(name)].any():
        return {"p50": None, "p95": None}
    found = spread(table, name, meter)
    return {"p50": found.p50, "p95": found.p95}


def _bounds(table: Table, name: str, meter: Metered, confidence: float) -> dict[str, float | None]:
    """The bounds of a meter's median and 95th percentile; null where there are too few tasks for one."""
    if table.skipped[:, table.find_variant(name)].any():
        return dict.fromkeys(("p50_low", "p50_high", "p95_low", "p95_high"))
    found = {"p50": quantile(table, name, meter, MEDIAN, confidence=confidence)}
    found["p95"] = quantile(table, name, meter, MOST, confidence=confidence)
    return {f"{key}_{end}": getattr(one, end) for key, one in found.items() for end in ("low", "high")}
