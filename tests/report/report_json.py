"""JSON objects as `--json` prints them, made up for tests of what is drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from report_records import a_variant

from evalkit.report.about import About


def an_estimate(
    value: float | None, low: float | None = None, high: float | None = None, why: str = ""
) -> dict[str, Any]:
    """An estimate; without ends its interval is a tenth to each side."""
    if value is None:
        return {"value": None, "low": None, "high": None, "tasks": 24, "why": why}
    return {
        "value": value,
        "low": max(0.0, value - 0.1) if low is None else low,
        "high": min(1.0, value + 0.1) if high is None else high,
        "confidence": 0.95,
        "scope": "population",
        "method": "gaffke",
        "tasks": 24,
    }


def a_variant_summary(start: float = 0.9, n: int = 8, **changes: Any) -> dict[str, Any]:
    """A variant of 24 tasks whose pass^k falls evenly from `start`."""
    hats = {str(k): an_estimate(round(start - 0.05 * (k - 1), 3)) for k in range(1, n + 1)}
    made: dict[str, Any] = {
        "tasks": 24,
        "passed": 150,
        "failed": 24 * n - 150,
        "errors": 0,
        "missing": 0,
        "skipped": 0,
        "pass_hat": hats,
        "pass_at": {str(k): an_estimate(0.97) for k in range(1, n + 1)},
        "cap_rate": an_estimate(0.104),
        "stops": {"finished": 24 * n - 20, "cap:turns": 20},
        "stops_passed": {"finished": 150, "cap:turns": 4},
        "stops_errors": {},
        "usd": {"total": 2.4, "per_trial": 0.0125, "per_reliable_success": 0.19},
        "turns": {"p50": 4.0, "p95": 6.0},
        "tokens": {"p50": 2100.0, "p95": 5200.0},
        "seconds": {"p50": 3.5, "p95": 5.4},
        "spread": {
            meter: a_spread(scale) for meter, scale in (("turns", 1), ("tokens", 500), ("seconds", 1), ("usd", 0.002))
        },
        "front": True,
    } | changes
    return {"trials": made["passed"] + made["failed"] + made["errors"]} | made


def a_spread(scale: float) -> dict[str, Any]:
    """What passed and failed trials used of a meter; failed ones half as much again."""
    names = ("p5", "p25", "p50", "p75", "p95")
    sides = {"passed": (2, 3, 4, 5, 6), "failed": (3, 4.5, 6, 7.5, 9)}
    return {
        side: dict(zip(names, (scale * one for one in values), strict=True)) | {"trials": 75}
        for side, values in sides.items()
    }


def a_summary(variants: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A run of two variants."""
    shown = variants if variants is not None else {"react": a_variant_summary(0.9), "plan": a_variant_summary(0.8)}
    planned = sum(variant["trials"] + variant["missing"] for variant in shown.values())
    errors = sum(variant["errors"] for variant in shown.values())
    missing = sum(variant["missing"] for variant in shown.values())
    done = {
        "planned": planned,
        "measured": planned - errors - missing,
        "errors": errors,
        "missing": missing,
        "skipped": 0,
    }
    return {
        "run": "20260301-support-desk-1a2b3c",
        "suite": "support-desk",
        "natures": ["simulated"],
        "completeness": done,
        "variants": dict(shown),
    } | changes


def a_comparison(**changes: Any) -> dict[str, Any]:
    """A difference that is more than chance."""
    return {
        "variant": "plan",
        "metric": "pass^8",
        "tasks": 24,
        "difference": -0.25,
        "low": -0.42,
        "high": -0.06,
        "p": 0.004,
        "p_adjusted": 0.012,
        "better": 1,
        "worse": 7,
        "equal": 16,
        "sentence": "plan loses 0.250 of pass^8 against react.",
    } | changes


def a_gate(verdict: str = "fail") -> dict[str, Any]:
    """A gate of two rules."""
    rule = {
        "rule": "pass^8 >= 0.60",
        "metric": "pass^8",
        "baseline": None,
        "variant": "react",
        "task": None,
        "value": 0.55,
        "low": 0.31,
        "high": 0.77,
        "threshold": 0.6,
        "sentence": "react: pass^8 is 0.550, and 0.600 lies inside its bounds.",
        "flips": 0.31,
    }
    passing = {
        **rule,
        "rule": "cap_rate(turns) <= 0.2",
        "metric": "cap_rate(turns)",
        "value": 0.1,
        "low": None,
        "high": None,
        "threshold": 0.2,
    }
    return {"verdict": verdict, "exit_code": 1, "rules": [{**passing, "verdict": "pass"}, {**rule, "verdict": verdict}]}


def a_task_row(task: str, suite: str = "support-desk", **passed: int) -> dict[str, Any]:
    """A task with 8 trials under each variant named, so many of which passed."""
    cells = {
        name: {"passed": c, "failed": 8 - c, "errors": 0, "missing": 0, "skipped": 0} for name, c in passed.items()
    }
    return {"suite": suite, "task": task, "variants": cells}


def an_about(*names: str, **changes: Any) -> About:
    """The facts of a run of variants that differ in their loop."""
    facts: dict[str, Any] = {
        "run": "20260301-support-desk-1a2b3c",
        "suites": ("support-desk",),
        "variants": tuple(a_variant(name, loop=name) for name in names or ("react", "plan")),
        "natures": ("simulated",),
        "created": "2026-03-01 12:00 UTC",
        "baseline": (names or ("react",))[0],
        "seed": 7,
        "commit": "0123456789abcdef0123",
        "versions": {"evalkit": "0.1.0", "python": "3.11.7"},
        "machine": {"cores": "4"},
        "command": "evalkit run suites/support-desk.yaml -n 8 --seed 7",
    }
    return About(**(facts | changes))
