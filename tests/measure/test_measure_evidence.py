"""Evidence on a bound: reference values, and errors that hold however often one looks."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.measure.evidence import Evidence, e_values, weigh


def weighed(values: npt.ArrayLike, bound: float = 0.7) -> Evidence:
    """Weigh values of which all is known."""
    known = np.asarray(values, dtype=np.float64)
    return weigh(known, known, bound)


@pytest.mark.parametrize(
    ("hits", "misses", "value"), [(9, 0, 8.027), (15, 0, 43.7363), (20, 1, 30.0179), (30, 3, 29.4329), (0, 0, 1.0)]
)
def test_the_evidence_has_its_reference_values(hits: int, misses: int, value: float) -> None:
    assert e_values(hits, misses, 0.7) == pytest.approx(value, rel=1e-4)
    assert e_values(misses, hits, 0.3, sense="<=") == pytest.approx(value, rel=1e-4)


def test_all_passes_are_believed_at_the_thirteenth() -> None:
    found = weighed(np.ones(40))
    assert (found.word, found.done) == ("pass", 13)
    assert found.wanted == pytest.approx(20.0)
    assert weighed(np.ones(12)).word is None
    nothing = weighed(np.empty(0))
    assert (nothing.word, nothing.done, nothing.met, nothing.missed) == (None, 0, 1.0, 1.0)
    assert weighed(np.zeros(40)).word == "fail"


def test_on_average_the_evidence_never_grows_where_there_is_none() -> None:
    for bound in (0.3, 0.7, 0.95):
        for hits, misses in ((0, 0), (5, 2), (40, 10)):
            now = e_values(hits, misses, bound)
            later = bound * e_values(hits + 1, misses, bound) + (1.0 - bound) * e_values(hits, misses + 1, bound)
            assert later == pytest.approx(now)
            below = 0.9 * bound
            assert below * e_values(hits + 1, misses, bound) + (1 - below) * e_values(hits, misses + 1, bound) <= now


def test_looking_after_every_task_errs_less_often_than_promised_and_looking_at_intervals_more() -> None:
    random, runs, tasks = np.random.default_rng(11), 400, 150
    said = [weighed(random.random(tasks) < 0.7).word for _ in range(runs)]
    slack = 3.0 * math.sqrt(0.05 * 0.95 / runs)
    assert said.count("pass") / runs <= 0.05 + slack
    assert said.count("fail") / runs <= 0.05 + slack
    found = [weighed(random.random(tasks) < 0.95) for _ in range(50)]
    assert all(one.word == "pass" for one in found)
    assert float(np.mean([one.done for one in found])) < 40


def test_huge_counts_neither_overflow_nor_vanish() -> None:
    assert e_values(10**6, 0, 0.7) == math.inf
    assert 0.0 <= e_values(0, 10**6, 0.7) < 1e-3
    assert e_values(10**6, 10**6, 0.5) < 1.0


def test_values_between_0_and_1_are_weighed_as_honestly() -> None:
    random, runs, tasks = np.random.default_rng(5), 400, 120
    slack = 3.0 * math.sqrt(0.05 * 0.95 / runs)
    for draw in (
        lambda: random.beta(1.4, 0.6, tasks),
        lambda: np.where(random.random(tasks) < 0.4, 1.0, 0.5),
    ):
        said = [weighed(draw()).word for _ in range(runs)]
        assert said.count("pass") / runs <= 0.05 + slack
        assert said.count("fail") / runs <= 0.05 + slack
    assert weighed(np.full(200, 0.9)).word == "pass"
    assert weighed(np.full(200, 0.5)).word == "fail"


def test_a_verdict_that_was_reached_stays_and_an_upper_bound_is_the_mirror_of_a_lower_one() -> None:
    values = np.concatenate((np.ones(13), np.zeros(60)))
    assert (weighed(values).word, weighed(values).done) == ("pass", 13)
    mirrored = weigh(1.0 - values, 1.0 - values, 0.3, "<=")
    assert (mirrored.word, mirrored.done) == ("pass", 13)
    assert weigh(values, values, 0.7, "<=").word == "fail"


def test_what_is_unknown_counts_for_neither_side() -> None:
    low, high = np.ones(15), np.ones(15)
    low[3] = 0.0
    assert weigh(high, high, 0.7).word == "pass"
    assert weigh(low, high, 0.7).word is None
    assert weigh(np.zeros(20), np.ones(20), 0.7).word is None
    assert weigh(np.append(low, np.ones(25)), np.ones(40), 0.7).word == "pass"


def test_more_confidence_wants_more_evidence() -> None:
    ones = np.ones(40)
    assert weigh(ones, ones, 0.7, confidence=0.99).done > weigh(ones, ones, 0.7, confidence=0.9).done


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        e_values(-1, 0, 0.7)
    with pytest.raises(ValueError, match="no evidence"):
        e_values(1, 0, 1.0)
    with pytest.raises(ConfigurationError):
        e_values(1, 0, 0.7, sense=">")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="lie in"):
        weighed([1.5])
    with pytest.raises(ValueError, match="lie in"):
        weigh(np.ones(1), np.zeros(1), 0.7)
    with pytest.raises(ConfigurationError):
        weigh(np.ones(1), np.ones(1), 0.7, confidence=1.0)
