"""The front of cost and value: who is beaten, who is not, and who cannot be judged."""

from __future__ import annotations

from evalkit.measure.front import front


def test_a_point_is_off_the_front_where_another_is_as_cheap_and_as_good() -> None:
    assert front([(1.0, 0.5), (2.0, 0.9), (2.0, 0.8), (3.0, 0.9)]) == [True, True, False, False]


def test_equal_points_do_not_push_each_other_off() -> None:
    assert front([(1.0, 0.5), (1.0, 0.5)]) == [True, True]


def test_what_is_unknown_is_neither_on_the_front_nor_pushes_anybody_off() -> None:
    assert front([(None, 1.0), (0.0, None), (5.0, 0.1)]) == [None, None, True]
    assert front([]) == []
