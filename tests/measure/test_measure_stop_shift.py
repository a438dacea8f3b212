"""Stops compared: whole tasks swap their labels, so that neither clustering nor luck passes for a difference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from measure_tables import a_row, a_table, table_of
from scipy.stats import chi2_contingency

from evalkit.core.errors import ConfigurationError
from evalkit.measure.arrays import Floats
from evalkit.measure.stop_shift import ENUMERATED, stop_shifts, swap_test
from evalkit.measure.table import Table


def a_run(*, capped: dict[str, list[int]], n: int = 8) -> Table:
    """A run in which of each task so many trials end by the turn cap, the others finish."""
    rows = [
        a_row(
            ("s", f"t{place}"),
            variant,
            index,
            "failed" if index <= many else "passed",
            stop="cap:turns" if index <= many else "finished",
        )
        for variant, tasks in capped.items()
        for place, many in enumerate(tasks)
        for index in range(1, n + 1)
    ]
    tasks = [("s", f"t{place}") for place in range(len(next(iter(capped.values()))))]
    return table_of(rows, tasks=tasks, variants=list(capped), planned=n)


def shares_of(counts: list[tuple[int, ...]]) -> Floats:
    """Counts of trials by reason as shares."""
    array = np.array(counts, dtype=float)
    shares: Floats = array / array.sum(axis=1, keepdims=True)
    return shares


def test_the_statistic_is_the_pooled_chi_square_and_p_the_share_of_all_swaps() -> None:
    first: list[tuple[int, ...]] = [(7, 1, 0), (5, 3, 0), (8, 0, 0), (2, 2, 4)]
    second: list[tuple[int, ...]] = [(4, 4, 0), (5, 3, 0), (6, 1, 1), (1, 6, 1)]
    found = swap_test(shares_of(first), shares_of(second), trials=8)

    def statistic(swapped: tuple[bool, ...]) -> float:
        """The chi-square once the tasks that are marked have swapped."""
        pairs = [(b, a) if one else (a, b) for one, a, b in zip(swapped, first, second, strict=True)]
        pooled = np.array([np.sum([pair[side] for pair in pairs], axis=0) for side in (0, 1)])
        return float(chi2_contingency(pooled, correction=False).statistic)

    observed = statistic((False,) * 4)
    every = [statistic(swapped) for swapped in product((False, True), repeat=4)]
    assert found.chi_square == pytest.approx(observed)
    assert found.p == pytest.approx(np.mean([one >= observed - 1e-9 for one in every]))
    assert (found.differing, found.enumerated) == (3, True)


def test_the_total_variation_is_that_of_the_pooled_distributions() -> None:
    found = swap_test(shares_of([(70, 10, 6, 3, 5, 4, 2)]), shares_of([(60, 20, 6, 3, 5, 4, 2)]))
    assert found.variation == found.expected == pytest.approx(0.10)
    assert found.p == 1.0


def test_drawn_swaps_agree_with_all_of_them_and_come_from_the_seed() -> None:
    random = np.random.default_rng(5)
    first, second = (random.dirichlet((4.0, 2.0, 1.0), ENUMERATED + shift) for shift in (0, 0))
    second[:, 0] += 0.04
    second /= second.sum(axis=1, keepdims=True)
    whole = swap_test(first, second)
    same = np.full((1, 3), 1.0 / 3.0)
    nudged = same + np.array([[1e-6, -1e-6, 0.0]])
    more = swap_test(np.vstack((first, same)), np.vstack((second, nudged)))
    assert whole.enumerated
    assert not more.enumerated
    assert more.p == pytest.approx(whole.p, abs=0.02)
    assert more == swap_test(np.vstack((first, same)), np.vstack((second, nudged)))


def test_a_shift_is_found_with_its_reason_and_said() -> None:
    table = a_run(capped={"react": [0, 1] * 6, "plan": [3, 4] * 6})
    (found,) = stop_shifts(table, baseline="react")
    assert found.variation == pytest.approx(3 / 8)
    assert found.p == pytest.approx(2 / 2**12)
    assert [one.reason for one in found.reasons] == ["cap:turns", "finished"]
    first = found.reasons[0]
    assert [first.baseline, first.variant] == pytest.approx([0.5 / 8, 3.5 / 8])
    assert first.low < first.difference < first.high
    assert first.p_adjusted == pytest.approx(2 * first.p)
    assert found.sentence.startswith(
        "plan against react: end trials by other reasons, total variation 0.38 (0.08 by chance alone), 12 tasks, n=8, p=.0005 (Holm); "
        "largest shift cap:turns, 0.06 to 0.44, difference ["
    )


def test_few_tasks_cannot_reach_five_percent() -> None:
    (found,) = stop_shifts(a_run(capped={"a": [0, 0, 0], "b": [8, 8, 8]}))
    assert found.p == pytest.approx(0.25)
    assert "not shown to differ" in found.sentence
    assert found.differing == 3


def test_just_the_pairs_that_are_asked_for_are_compared() -> None:
    table = a_run(capped={"a": [0, 4], "b": [8, 8], "c": [2, 2]})
    found = stop_shifts(table, pairs=[("a", "c"), ("b", "a")])
    assert [(one.variant, one.baseline) for one in found] == [("a", "c"), ("b", "a")]
    with pytest.raises(ConfigurationError, match="no such variant"):
        stop_shifts(table, pairs=[("a", "z")])


def test_alike_is_said_and_nothing_else() -> None:
    (found,) = stop_shifts(a_run(capped={"a": [1, 2], "b": [1, 2]}))
    assert (found.variation, found.p) == (0.0, 1.0)
    assert found.sentence == "b against a: every task's trials end by the same reasons equally often, 2 tasks, n=8"


def test_what_is_missing_or_in_error_leaves_the_pair_undefined() -> None:
    table = a_table({"a": [8, (6, 0, 1, 1)], "b": [8, 8], "c": [8, 8]})
    found, _ = stop_shifts(table)
    assert found.variation is found.p is found.p_adjusted is None
    assert found.undefined == ("t1",)
    assert found.sentence == "b against a cannot be compared, 1 of 2 tasks with trials missing or in error: t1"
    (fine,) = (one for one in stop_shifts(table, baseline="b") if one.variant == "c")
    assert fine.variation == 0.0
    alone = a_table({"a": [8, (0, 0, 0, 0)], "b": [8, 8]})
    assert "planned for one of the two only: t1" in stop_shifts(alone)[0].why


def test_nothing_planned_and_names_that_there_are_not() -> None:
    assert stop_shifts(a_table({"a": [8]})) == ()
    (found,) = stop_shifts(table_of([], tasks=[], variants=["a", "b"], planned=1))
    assert found.why == "no task is planned"
    with pytest.raises(ConfigurationError):
        stop_shifts(a_table({"a": [8], "b": [8]}), baseline="c")
    with pytest.raises(ConfigurationError):
        stop_shifts(a_table({"a": [8], "b": [8]}), confidence=1.0)
    with pytest.raises(ValueError, match="cannot be compared"):
        swap_test(np.ones((2, 1)), np.ones((3, 1)))
    assert swap_test(np.empty((0, 2)), np.empty((0, 2))).p == 1.0


def test_the_pairs_of_a_run_are_one_family() -> None:
    table = a_run(capped={"a": [0] * 8, "b": [2] * 8, "c": [2] * 8})
    assert [one.p for one in stop_shifts(table)] == [pytest.approx(2 / 2**8)] * 2
    assert [one.p_adjusted for one in stop_shifts(table)] == [pytest.approx(4 / 2**8)] * 2


def test_clustered_tasks_make_no_false_findings_though_the_pooled_test_would() -> None:
    random, swaps, pooled, runs = np.random.default_rng(8), 0, 0, 200
    for seed in range(runs):
        first, second = (
            np.array([random.multinomial(8, random.dirichlet((0.4, 0.2, 0.2))) for _ in range(20)]) for _ in range(2)
        )
        swaps += swap_test(first / 8.0, second / 8.0, trials=8, seed=seed).p <= 0.05
        pooled += chi2_contingency(np.vstack((first.sum(axis=0), second.sum(axis=0)))).pvalue <= 0.05
    assert swaps / runs <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / runs)
    assert pooled / runs > 0.3
