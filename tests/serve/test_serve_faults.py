"""Faults are drawn from what is asked, in the shares that were asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import pytest

from evalkit.serve.faults import Faults

SHARES = [name.name for name in fields(Faults) if name.name not in ("retry_after", "slow_seconds", "seed")]


def build(options: dict[str, Any]) -> Faults:
    return Faults(**options)


@pytest.mark.parametrize("name", SHARES)
def test_a_share_of_one_is_always_met_and_of_none_never(name: str) -> None:
    always = build({name: 1.0})
    assert {always.draw(f"asker {number}", 1) for number in range(50)} == {name}
    assert always.any
    assert not Faults().any
    assert {Faults().draw(f"asker {number}", 1) for number in range(50)} == {None}


def test_shares_divide_the_requests_as_they_say() -> None:
    faults = Faults(rate_limit=0.3, overloaded=0.2, html_200=0.1)
    drawn = Counter(faults.draw(f"asker {number}", 1) for number in range(4000))
    assert drawn[None] / 4000 == pytest.approx(0.4, abs=0.03)
    assert drawn["rate_limit"] / 4000 == pytest.approx(0.3, abs=0.03)
    assert drawn["overloaded"] / 4000 == pytest.approx(0.2, abs=0.03)
    assert drawn["html_200"] / 4000 == pytest.approx(0.1, abs=0.03)


def test_a_draw_hangs_on_seed_asker_and_attempt_and_on_nothing_else() -> None:
    faults = Faults(overloaded=0.5)
    first = [faults.draw(f"asker {number}", 1) for number in range(64)]
    assert [faults.draw(f"asker {number}", 1) for number in reversed(range(64))] == first[::-1]
    assert [faults.draw(f"asker {number}", 2) for number in range(64)] != first
    assert [Faults(overloaded=0.5, seed=1).draw(f"asker {number}", 1) for number in range(64)] != first


def test_a_name_that_no_encoding_takes_can_be_drawn_for() -> None:
    assert Faults(overloaded=1.0).draw("\ud800", 1) == "overloaded"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slow": 1.5}, "slow"),
        ({"slow": -0.1}, "slow"),
        ({"slow": float("nan")}, "slow"),
        ({"slow": 0.6, "overloaded": 0.6}, "add up to 1.2"),
        ({"retry_after": -1.0}, "retry_after"),
        ({"slow_seconds": float("inf")}, "slow_seconds"),
    ],
)
def test_shares_that_are_none_are_refused(options: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build(options)
