"""Each cap exactly at, one under and one over its limit."""

from __future__ import annotations

import pytest

from evalkit.core.plan import Caps
from evalkit.core.record import Tally
from evalkit.engine.budget import METERS, crossed, exhausted

AT: dict[str, tuple[Caps, Tally, Tally, Tally]] = {
    "turns": (Caps(turns=3), Tally(turns=2), Tally(turns=3), Tally(turns=4)),
    "tokens": (
        Caps(tokens=100),
        Tally(input_tokens=90, output_tokens=9),
        Tally(input_tokens=90, cache_read_tokens=10),
        Tally(cache_write_5m_tokens=50, cache_write_1h_tokens=51),
    ),
    "seconds": (Caps(seconds=1.5), Tally(seconds=1.4), Tally(seconds=1.5), Tally(seconds=1.6)),
    "usd": (Caps(usd=0.5), Tally(usd=0.49), Tally(usd=0.5), Tally(usd=0.51)),
}


def test_every_cap_has_a_meter_of_its_name_on_the_tally() -> None:
    assert set(AT) == set(METERS)
    assert all(hasattr(Tally(), meter) for meter in METERS)


@pytest.mark.parametrize("meter", sorted(AT))
def test_a_limit_may_be_reached_but_not_crossed(meter: str) -> None:
    caps, under, at, over = AT[meter]
    assert crossed(caps, under) is None
    assert exhausted(caps, under) is None
    assert crossed(caps, at) is None
    full = exhausted(caps, at)
    assert full is not None
    assert (full.meter, full.overshoot) == (meter, 0.0)
    fired = crossed(caps, over)
    assert fired is not None
    assert fired.meter == meter
    assert fired.value == getattr(over, meter)
    assert fired.overshoot == pytest.approx(getattr(over, meter) - getattr(caps, meter))


def test_the_first_of_several_crossed_caps_is_named() -> None:
    fired = crossed(Caps(turns=1, usd=0.1), Tally(turns=2, usd=9.0))
    assert fired is not None
    assert fired.meter == "turns"


def test_no_caps_never_fire_and_an_unknown_price_never_fires() -> None:
    assert crossed(Caps(), Tally(turns=10**9, usd=1e9)) is None
    assert crossed(Caps(usd=0.1), Tally(usd=None)) is None
