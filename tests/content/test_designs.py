"""The shipped loop designs: a model without flaws passes under each, and each mechanism leaves its mark on one with flaws."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.core.plan import Spec, Variant
from evalkit.core.record import TrialRecord
from evalkit.load.together import load
from evalkit.run.play import play
from evalkit.run.schedule import schedule

ROOT = Path(__file__).parents[2]
SUITES = ("longhaul", "spinning", "self-check", "branching", "flaky-tools", "structured-output")
LOADED = {name: load([ROOT / "suites" / f"{name}.yaml"], []) for name in SUITES}
DESIGNS = [(name, variant) for name, (_, config) in LOADED.items() for variant in config.variants]


def played(name: str, variant: Variant, trials: int, tasks: int) -> list[TrialRecord]:
    """Play the first tasks of a suite; our own world must hold."""
    suite = LOADED[name][0][0]
    short = replace(suite, tasks=tuple(replace(task, trials=trials) for task in suite.tasks[:tasks]))
    records = [play(trial) for trial in schedule([short], [variant], 0)]
    assert "error" not in {record.outcome for record in records}, [record.error for record in records]
    return records


def rated(variant: Variant, **rates: float) -> Variant:
    """The same design on a model of these rates alone."""
    options = {**variant.provider.options, "profile": rates}
    quick = replace(variant.retries, base=0.001, longest=0.01)
    return replace(variant, provider=Spec(kind="simulated", options=options), retries=quick)


def design(suite: str, name: str) -> Variant:
    """A design that a suite names."""
    return next(variant for where, variant in DESIGNS if where == suite and variant.name == name)


def passes(suite: str, name: str, **rates: float) -> float:
    """The share of trials that pass."""
    records = played(suite, rated(design(suite, name), **rates), 12, 3)
    return sum(record.outcome == "passed" for record in records) / len(records)


@pytest.mark.parametrize(("suite", "variant"), DESIGNS, ids=[f"{suite}-{variant.name}" for suite, variant in DESIGNS])
def test_a_model_without_flaws_passes_under_every_design(suite: str, variant: Variant) -> None:
    for record in played(suite, rated(variant), 1, 6):
        assert (record.outcome, record.stop.reason) == ("passed", "finished"), (record.key.task, record.answer)


@pytest.mark.parametrize(
    ("suite", "better", "worse", "rates"),
    [
        ("branching", "react-reflect", "react", {"slip": 0.05}),
        ("branching", "plan-act-reflect", "react", {"slip": 0.05}),
        ("branching", "planner-executor", "react", {"premature": 0.05}),
        ("branching", "checklist-short", "react", {"premature": 0.05}),
        ("spinning", "detect-repeats-warn", "react", {"spin": 0.1}),
        ("spinning", "react-reflect", "react", {"spin": 0.1}),
        ("self-check", "self-correct", "react", {"slip": 0.2}),
        ("structured-output", "self-correct", "react", {"slip": 0.2}),
        ("longhaul", "context-scratchpad", "context-window", {"forget": 1.0}),
        ("longhaul", "tools-concise", "react-long", {"slip": 0.01, "rot": 5.0}),
        ("flaky-tools", "flaky-react", "flaky-generic-errors", {"malformed": 0.15}),
    ],
)
def test_a_mechanism_helps_against_what_it_is_made_for(
    suite: str, better: str, worse: str, rates: dict[str, float]
) -> None:
    assert passes(suite, better, **rates) >= passes(suite, worse, **rates) + 0.1


@pytest.mark.parametrize(
    ("suite", "name", "stop", "rates"),
    [
        ("spinning", "detect-repeats-stop", "detector:repeat_calls", {"spin": 0.2}),
        ("spinning", "react-guardrails", "guardrail:repeats-itself", {"spin": 0.2}),
        ("spinning", "react", "cap:turns", {"spin": 0.2}),
    ],
)
def test_a_mechanism_leaves_its_stop(suite: str, name: str, stop: str, rates: dict[str, float]) -> None:
    stops = Counter(record.stop.reason for record in played(suite, rated(design(suite, name), **rates), 6, 3))
    assert stops[stop]


def test_what_does_not_fit_into_the_window_needs_a_summary() -> None:
    def narrow(name: str) -> Counter[str]:
        variant = rated(design("longhaul", name))
        options = {**variant.provider.options, "context_window": 4500}
        return Counter(
            record.stop.reason
            for record in played("longhaul", replace(variant, provider=Spec(kind="simulated", options=options)), 1, 6)
        )

    assert narrow("react-long") == {"context_overflow": 6}
    assert narrow("context-compact") == narrow("context-reinitialise") == {"finished": 6}


def test_a_warning_before_the_end_moves_trials_from_the_cap_to_an_end_of_their_own() -> None:
    stops = [
        Counter(record.stop.reason for record in played("spinning", rated(design("spinning", name), spin=0.2), 6, 3))
        for name in ("react", "react-wrap-up")
    ]
    assert stops[1]["cap:turns"] < stops[0]["cap:turns"] // 2


@pytest.mark.parametrize("name", ["context-scratchpad", "context-hybrid"])
def test_notes_that_lose_facts_cost_passes(name: str) -> None:
    assert passes("longhaul", name, forget=1.0) >= passes("longhaul", name, forget=1.0, recall=0.8) + 0.1
