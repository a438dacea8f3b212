"""The gate: three verdicts, what is unknown, and the sentences."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_tables import Cells, a_table, table_of

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Gate
from evalkit.measure.gate import judge, settled
from evalkit.measure.odds import Word
from evalkit.measure.rule import Kind
from evalkit.measure.ruling import Ruling


def only(cells: Cells, rule: str, **options: object) -> Ruling:
    """Judge one rule on one variant."""
    found = judge(a_table({"react": cells}, failed_stop="cap:turns"), [rule], **options)  # type: ignore[arg-type]  # options of judge by name
    assert len(found.rules) == 1
    assert found.verdict == found.rules[0].verdict
    return found.rules[0]


def of(hits: int, tasks: int) -> Cells:
    """A suite of which so many tasks pass every time."""
    return [8] * hits + [7] * (tasks - hits)


@pytest.mark.parametrize(
    ("hits", "tasks", "verdict"),
    [
        (26, 30, "pass"),
        (25, 30, "inconclusive"),
        (17, 30, "inconclusive"),
        (16, 30, "fail"),
        (10, 10, "pass"),
        (9, 10, "inconclusive"),
        (5, 10, "inconclusive"),
        (4, 10, "fail"),
        (41, 50, "pass"),
        (40, 50, "inconclusive"),
        (30, 50, "inconclusive"),
        (29, 50, "fail"),
        (78, 100, "pass"),
        (77, 100, "inconclusive"),
        (62, 100, "inconclusive"),
        (61, 100, "fail"),
        (3, 3, "inconclusive"),
        (0, 3, "fail"),
        (1, 1, "inconclusive"),
        (0, 1, "inconclusive"),
    ],
)
def test_verdicts_at_seven_in_ten(hits: int, tasks: int, verdict: Word) -> None:
    assert only(of(hits, tasks), "pass^8>=0.7").verdict == verdict


@pytest.mark.parametrize(
    ("hits", "kind", "verdict"),
    [
        (21, "point", "pass"),
        (20, "point", "fail"),
        (30, "point", "pass"),
        (17, "not-worse", "pass"),
        (16, "not-worse", "fail"),
    ],
)
def test_other_kinds_of_rule_have_two_verdicts(hits: int, kind: Kind, verdict: Word) -> None:
    assert only(of(hits, 30), "pass^8>=0.7", kind=kind).verdict == verdict


@pytest.mark.parametrize(("capped", "verdict"), [(0, "pass"), (8, "inconclusive"), (80, "fail")])
def test_a_rule_from_above_mirrors(capped: int, verdict: Word) -> None:
    cells: Cells = [7] * capped + [8] * (80 - capped)
    assert only(cells, "cap_rate(turns)<=0.03", confidence=0.9).verdict == verdict


def test_a_ruling_tells_everything() -> None:
    found = only(of(22, 30), "pass^8[react]>=0.7")
    assert (found.rule, found.variant, found.task, found.threshold) == ("pass^8[react]>=0.7", "react", None, 0.7)
    assert found.value == pytest.approx(22 / 30)
    assert (found.low, found.high) == pytest.approx((0.570066, 0.859815), abs=1e-6)
    assert (found.confidence, found.scope, found.tasks) == (0.95, "population", 30)
    assert (found.pass_at, found.fail_at) == (26, 16)
    assert found.needed == pytest.approx(1150, rel=0.1)
    assert found.sentence.startswith(
        "pass^8 of react = 0.733 (22/30 tasks, n=8), one-sided 95% bounds [0.570, 0.860] (population, gaffke); needs >= 0.7: INCONCLUSIVE; "
        "of 30 tasks, 26 or more pass and 16 or fewer fail; another run would say otherwise with chance 0.08; about 1,"
    )


def test_a_rule_without_variant_holds_for_each_and_the_worst_verdict_is_the_gates() -> None:
    table = a_table({"good": of(30, 30), "middling": of(22, 30), "bad": of(3, 30)})
    found = judge(table, ["pass^8>=0.7"])
    assert [(one.variant, one.verdict) for one in found.rules] == [
        ("good", "pass"),
        ("middling", "inconclusive"),
        ("bad", "fail"),
    ]
    assert found.verdict == "fail"
    assert judge(table, ["pass^8[good]>=0.7", "pass^8[middling]>=0.7"]).verdict == "inconclusive"
    assert judge(table, [Gate(min=0.7, variant="good")]).verdict == "pass"


def test_too_few_trials_for_k_are_inconclusive_and_say_so() -> None:
    found = only([8, (5, 0, 0, 0)], "pass^8>=0.7")
    assert (found.verdict, found.value, found.flips) == ("inconclusive", None, None)
    assert found.why == found.flips_why == "k=8 needs 8 trials a task, task t1 has 5"
    assert found.sentence == (
        "pass^8 of react is undefined: k=8 needs 8 trials a task, task t1 has 5; needs >= 0.7: INCONCLUSIVE"
    )


def test_unknown_trials_that_could_change_the_verdict_make_it_inconclusive() -> None:
    found = only([*of(28, 29), (6, 0, 1, 1)], "pass^8>=0.8")
    assert only([*of(28, 29), 8], "pass^8>=0.8").verdict == "pass"
    assert only([*of(28, 29), 7], "pass^8>=0.8").verdict == "pass"
    assert found.verdict == "pass"
    found = only([*of(26, 29), (6, 0, 1, 1)], "pass^8>=0.74")
    assert (found.worst, found.best, found.value) == (26 / 30, 27 / 30, None)
    assert found.verdict == "inconclusive"
    assert "read as bad they make it inconclusive, read as good pass" in found.sentence
    assert "it lies between 0.867 and 0.900" in found.sentence


def test_unknown_trials_that_cannot_change_the_verdict_let_it_stand() -> None:
    found = only([*of(2, 29), (6, 0, 1, 1)], "pass^8>=0.7")
    assert (found.verdict, found.value) == ("fail", None)
    assert "read as bad or as good, they leave the verdict at fail" in found.sentence
    assert only([*of(2, 29), (6, 0, 1, 1)], "pass^8>=0.7", scope="suite").verdict == "inconclusive"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 4), st.integers(0, 2)), min_size=4, max_size=14),
    st.sampled_from(["pass^2", "pass@1", "cap_rate(turns)"]),
    st.sampled_from([">=", "<="]),
    st.sampled_from([0.2, 0.5, 0.8]),
    st.integers(0, 9),
)
def test_a_verdict_that_stands_is_the_verdict_of_every_completion(
    tasks: list[tuple[int, int]], metric: str, sense: str, bound: float, seed: int
) -> None:
    """The law that lets a verdict stand: filling the missing trials in any way cannot change it."""
    cells: Cells = [(passed, 4 - passed, 0, missing) for passed, missing in tasks]
    rule = f"{metric}{sense}{bound}"
    open_verdict = only(cells, rule, max_error_rate=None).verdict
    if open_verdict == "inconclusive":
        return
    random, filled = np.random.default_rng(seed), []
    for passed, missing in tasks:
        good = int(random.integers(0, missing + 1))
        filled.append((passed + good, 4 - passed + missing - good, 0, 0))
    assert only(filled, rule).verdict == open_verdict


def test_past_the_budget_of_errors_a_run_is_invalid() -> None:
    cells: Cells = [*of(8, 8), (6, 0, 1, 1)]
    assert only(cells, "pass^8>=0.1").verdict == "pass"
    found = only(cells, "pass^8>=0.1", max_error_rate=0.02)
    assert (found.verdict, found.value, found.scope) == ("invalid", None, "none")
    assert found.sentence == (
        "pass^8>=0.1 cannot be judged for react: 2.8% of react's planned trials are missing or in error, over the 2% allowed: INVALID"
    )
    assert only(cells, "pass^8>=0.1", max_error_rate=2 / 72).verdict == "pass"
    broken = a_table({"a": [(0, 0, 8, 0)] * 4, "b": [8] * 4})
    judged = judge(broken, ["pass^8[b]>=0.3", "pass^8[a]>=0.3"])
    assert [one.verdict for one in judged.rules] == ["pass", "invalid"]
    assert judged.verdict == "invalid"
    assert judged.unmeasured == {"a": 1.0, "b": 0.0}
    assert judge(broken, [Gate(variant="b", baseline="a", max_drop=0.1)]).verdict == "invalid"
    assert judge(broken, ["pass^8[a]>=0.3"], max_error_rate=None).verdict == "inconclusive"


def test_a_run_of_nothing_is_invalid() -> None:
    for table in (
        table_of([], tasks=[], variants=["a"], planned=[]),
        table_of([], tasks=[("s", "a")], variants=["a"], planned=0),
    ):
        found = judge(table, ["pass^8>=0.3"])
        assert (found.verdict, found.rules, found.why) == ("invalid", (), "no trial is planned")


def test_per_task_holds_each_task_to_the_rule() -> None:
    table = a_table({"react": [8, 4, 0]})
    found = judge(table, ["pass@1>=0.6"], per_task=True)
    assert [(one.task, one.verdict, one.scope) for one in found.rules] == [
        ("t0", "pass", "task"),
        ("t1", "inconclusive", "task"),
        ("t2", "fail", "task"),
    ]
    assert "pass@1 of react on t0 = 1.000 (8/8 trials)" in found.rules[0].sentence
    named = judge(table, ["pass@1[react][t2]>=0.6"], per_task=True)
    assert [one.task for one in named.rules] == ["t2"]
    twice = judge(a_table({"x": [8, 8]}, suites=["one", "two"]), ["pass@1>=0.5"], per_task=True)
    assert [one.task for one in twice.rules] == ["one/t0", "two/t1"]


def test_a_price_is_judged_by_its_bare_value_alone() -> None:
    assert only([8] * 4, "usd_per_reliable_success<=0.08", kind="point").verdict == "pass"
    assert only([8] * 4, "usd_per_reliable_success<=0.07", kind="point").verdict == "fail"
    found = only([8] * 4, "usd_per_reliable_success<=1")
    assert found.verdict == "inconclusive"
    assert "has no interval, so only a rule of the kind point can judge it" in found.sentence
    undefined = only([7] * 4, "usd_per_reliable_success<=1", kind="point")
    assert (undefined.verdict, undefined.why) == ("inconclusive", "no task passed 8 of 8 times")


def test_the_scope_suite_sees_the_luck_of_trials_alone() -> None:
    cells: Cells = [*[(16, 0, 0, 0)] * 20, *[(15, 1, 0, 0)] * 6, *[(14, 2, 0, 0)] * 3, (0, 16, 0, 0)]
    assert only(cells, "pass^8>=0.665").verdict == "inconclusive"
    found = only(cells, "pass^8>=0.665", scope="suite")
    assert (found.verdict, found.scope) == ("pass", "suite")


def test_rules_and_names_that_there_are_not_are_refused() -> None:
    table = a_table({"react": [8]})
    for rules, words in (
        ([], "there is no rule"),
        (["pass^8[raect]>=0.5"], "did you mean react"),
        (["pass^8[react][t9]>=0.5"], "no such task"),
        ([Gate(baseline="plan", max_drop=0.1)], "no such variant"),
        ([Gate(baseline="react", max_drop=0.1)], "the run has nothing that it speaks of"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            judge(table, rules)
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        judge(table, ["pass^8>=0.5"], confidence=95)


def test_the_same_run_is_judged_in_the_same_words() -> None:
    table = a_table({"a": of(20, 30), "b": of(12, 30)})
    rules: list[str | Gate] = ["pass@1>=0.9", Gate(baseline="a", max_drop=0.1)]
    assert judge(table, rules) == judge(table, rules)


def test_judging_loads_no_heavy_library() -> None:
    code = (
        "import sys, evalkit.measure.gate, evalkit.measure.stops, evalkit.measure.amounts, evalkit.measure.metrics as m; m.kinds();"
        "print([n for n in ('scipy.stats', 'scipy.optimize', 'pandas', 'matplotlib', 'anthropic') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("tasks", "words"), [(3, "3 tasks cannot decide it, however many pass"), (1, "1 task cannot")])
def test_too_few_tasks_to_decide_are_told_as_such(tasks: int, words: str) -> None:
    (rule,) = judge(a_table({"a": [8] * tasks}), ["pass^8>=0.5"]).rules
    assert rule.verdict == "inconclusive"
    assert words in rule.sentence
    assert "no count" not in rule.sentence


def test_a_verdict_settles_once_no_unknown_trial_can_change_it() -> None:
    open_ = (0, 0, 0, 8)
    cells = [8] * 17 + [open_] * 3
    rules = ["pass^8[a]>=0.5"]
    assert settled(a_table({"a": cells}), rules) == "pass"
    assert settled(a_table({"a": [8] * 10 + [open_] * 10}), rules) is None
    assert settled(a_table({"a": [0] * 17 + [open_] * 3}), rules) == "fail"
    assert settled(a_table({"a": [8] * 3}), rules) is None, "an inconclusive verdict does not end a run"
    assert settled(a_table({"a": cells}), [*rules, "cap_rate(any)[a]<=0.5"]) == "pass"
    both = a_table({"a": cells, "b": [0] * 20})
    assert settled(both, [*rules, "pass@1[b]>=0.5"]) == "fail", "one that is missed is enough"
    assert settled(both, [Gate(metric="pass^8", variant="b", baseline="a", max_drop=0.1)]) is None
    whole = a_table({"a": [8] * 20, "b": [0] * 20})
    assert settled(whole, [Gate(metric="pass^8", variant="b", baseline="a", max_drop=0.1)]) is None


def test_skipped_trials_are_no_part_of_the_error_budget_and_lost_ones_are() -> None:
    table = a_table({"a": [8] * 17 + [(0, 0, 0, 8)] * 3})
    assert judge(table, ["pass^8>=0.5"]).verdict == "invalid"
    assert judge(replace(table, curtailed=True), ["pass^8>=0.5"]).verdict == "pass"
    stopped = a_table({"a": [8] * 12 + [(0, 1, 0, 7)] * 18})
    assert judge(replace(stopped, first_failure=True), ["pass^8>=0.9"]).verdict == "fail"
    broken = a_table({"a": [8] * 12 + [(0, 0, 8, 0)] * 18})
    assert judge(replace(broken, first_failure=True, curtailed=True), ["pass^8>=0.9"]).verdict == "invalid"


def test_what_these_very_tasks_want_is_more_trials_and_of_others_more_tasks() -> None:
    cells: Cells = [8, 8, 7]
    assert "tasks would tell" in only(cells, "pass^8>=0.5").sentence
    assert "trials a task would tell" in only(cells, "pass^8>=0.2", scope="suite").sentence


def test_a_count_that_alone_fails_is_said_so() -> None:
    assert "no count passes and only 0 fails" in only(of(1, 5), "pass^8>=0.6").sentence


def test_a_rule_that_is_only_not_missed_says_that_it_is_not_met_either() -> None:
    open_ = only(of(2, 3), "pass^8>=0.9", kind="not-worse")
    assert open_.verdict == "pass"
    assert "not shown to be met either" in open_.sentence
    assert "either" not in only(of(30, 30), "pass^8>=0.5", kind="not-worse").sentence
    assert "either" not in only(of(2, 30), "pass^8>=0.9", kind="not-worse").sentence
