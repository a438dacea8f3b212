"""The tool of the longhaul suite: a shelf of a warehouse, described at length, as real tools do."""

from __future__ import annotations

from typing import Literal

DAMP = {"A5": 81, "B9": 77, "C11": 84, "D7": 79, "E12": 86, "F4": 88}
ROWS = ("A", "B", "C", "D", "E", "F")
SHELVES = 13
GOODS = ("crates of tiles", "rolls of felt", "tins of paint", "bags of plaster", "boxes of screws", "drums of cable")


def inspect(shelf: str, verbosity: Literal["concise", "detailed"] = "detailed") -> str:
    """Measure a shelf: how damp it is, in percent, and what lies on it."""
    row, number = shelf[:1], shelf[1:]
    if row not in ROWS or not number.isdecimal() or not 1 <= int(number) <= SHELVES:
        raise ValueError(f"there is no shelf {shelf!r}: shelves are A1 to F{SHELVES}")
    state = (
        f"{shelf} is damp: {DAMP[shelf]} percent" if shelf in DAMP else f"{shelf} is dry: {20 + int(number)} percent"
    )
    if verbosity == "concise":
        return state
    places = (
        f"{shelf}/{place}: {(int(number) * place) % 17 + 3} {GOODS[(int(number) + place) % len(GOODS)]}, last counted in week "
        f"{(place * 7 + int(number)) % 52 + 1}, label legible, wrapping whole, nothing overhangs"
        for place in range(1, 13)
    )
    return "\n".join((state, *places))
