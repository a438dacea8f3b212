"""Rules from text and from a config's gates, and what is no rule."""

from __future__ import annotations

import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Gate
from evalkit.measure.rule import MARGIN, Rule, all_rules, gate_rules, read_rule


@pytest.mark.parametrize(
    ("text", "metric", "variant", "task", "sense", "bound"),
    [
        ("pass^8>=0.60", "pass^8", None, None, ">=", 0.6),
        ("pass^8[react]>=0.6", "pass^8", "react", None, ">=", 0.6),
        ("pass^8[react][refund damaged] >= .6", "pass^8", "react", "refund damaged", ">=", 0.6),
        ("pass@1[*][t0]>=1", "pass@1", None, "t0", ">=", 1.0),
        ("cap_rate(turns)<=0.1", "cap_rate(turns)", None, None, "<=", 0.1),
        (" usd_per_reliable_success <= 12.50 ", "usd_per_reliable_success", None, None, "<=", 12.5),
        ("error_rate<=0", "error_rate", None, None, "<=", 0.0),
    ],
)
def test_a_rule_is_read(
    text: str, metric: str, variant: str | None, task: str | None, sense: str, bound: float
) -> None:
    found = read_rule(text)
    assert (found.metric.text, found.variant, found.task, found.sense, found.bound) == (
        metric,
        variant,
        task,
        sense,
        bound,
    )
    assert read_rule(found.text) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a metric, >= or <=, and a bound"),
        ("pass^8", "a metric, >= or <=, and a bound"),
        ("pass^8>0.6", "a metric, >= or <="),
        ("pass^8==0.6", "a metric, >= or <="),
        ("pass^8=>0.6", "a metric, >= or <="),
        ("pass^8>=0.6<=0.9", "a metric, >= or <="),
        ("pass^8[react>=0.6", "a metric, >= or <="),
        ("pass^8[a][b][c]>=0.6", "brackets hold"),
        ("pass^8[]>=0.6", "brackets hold"),
        ("pass^8>=", "'' is no number"),
        ("pass^8>=60%", "'60%' is no number .write 0.60"),
        ("pass^5>=1.5", "a share from 0 to 1 .1 is all, 0.9 nine in ten"),
        ("pass^8>=-1", "a share from 0 to 1 .1 is all"),
        ("pass^8>=60", "a share from 0 to 1 .write 0.6"),
        ("pass^8>=-0.1", "a share from 0 to 1"),
        ("pass^8>=nan", "a share from 0 to 1"),
        ("pass^8>=inf", "a share from 0 to 1"),
        ("usd_per_reliable_success<=-1", "a number of dollars"),
        ("pas^8>=0.6", "did you mean pass"),
        ("pass^8>=0.6" * 10_000, "a metric, >= or <="),
    ],
)
def test_what_is_no_rule_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_rule(text)


def test_each_bound_of_a_gate_is_a_rule() -> None:
    low, high = gate_rules(Gate(metric="pass@1", variant="react", task="t0", min=0.2, max=0.9), kind="point")
    assert (low.text, high.text, low.kind) == ("pass@1[react][t0]>=0.2", "pass@1[react][t0]<=0.9", "point")
    (drop,) = gate_rules(Gate(baseline="react", max_drop=0.05, variant="plan"))
    assert (drop.baseline, drop.bound, drop.variant) == ("react", 0.05, "plan")
    assert drop.text == "pass^8[plan] drops at most 0.05 from react"
    assert gate_rules(Gate(baseline="react"))[0].bound == MARGIN
    assert len(gate_rules(Gate(min=0.5, baseline="react", max_drop=0.1))) == 2


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (Gate(), "no bound"),
        (Gate(max_drop=0.1), "without a baseline"),
        (Gate(metric="usd_per_reliable_success", baseline="a", max_drop=0.1), "its drop has no bound"),
        (Gate(variant="a", baseline="a", max_drop=0.1), "compared with itself"),
        (Gate(min=60), "a share from 0 to 1"),
        (Gate(metric="pass", min=0.6), "no such metric"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(gate: Gate, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        gate_rules(gate)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        all_rules(["pass^8>0.6", "pass^8>=0.6", Gate()])
    assert len(caught.value.problems) == 2


def test_a_kind_of_rule_is_one_of_three() -> None:
    assert [rule.kind for rule in all_rules(["pass^8>=0.6"], kind="not-worse")] == ["not-worse"]
    with pytest.raises(ConfigurationError, match="did you mean lower"):
        all_rules(["pass^8>=0.6"], kind="lowr")  # type: ignore[arg-type]  # what a mistyped flag gives
    kept = Rule(metric=read_rule("pass^8>=0.6").metric, bound=0.6, kind="point")
    assert all_rules([kept], kind="lower") == (kept,)


@pytest.mark.parametrize("bound", ["0_5", "\u0660.\u0665", "0x1", "0,5", ""])
def test_a_bound_that_only_python_reads_is_no_number(bound: str) -> None:
    with pytest.raises(ConfigurationError, match="is no number"):
        read_rule(f"pass^8>={bound}")
