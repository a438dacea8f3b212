"""Tools of the flaky-tools suite: every way in which a tool can fail, at the same places in every trial.

What was tried before is kept in the trial's own database, so that no trial knows of another.
"""

from __future__ import annotations

import re
from typing import Any

from evalkit.core.errors import MalformedArgs, ToolFailed, TransientFault

READINGS = {"S1": 412, "S2": 388, "S3": 951, "S4": 277, "S5": 640, "S6": 503}
BROKEN = {"S7": "taken down in March", "S8": "out of reach"}
DAY = re.compile(r"2026-[01][0-9]-[0-3][0-9]")


def read_sensor(sensor: str, world: Any) -> str:
    """Read a sensor. The line to each is bad: the first try in a trial always fails in passing."""
    if sensor in BROKEN:
        raise ToolFailed(f"sensor {sensor} cannot be read, now or later: it is {BROKEN[sensor]}")
    if sensor not in READINGS:
        raise ToolFailed(f"there is no sensor {sensor}")
    again = world.execute("select 1 from tried where sensor = :sensor", parameters={"sensor": sensor}).rows
    if not again:
        world.execute("insert into tried values (:sensor)", parameters={"sensor": sensor}, write=True)
        raise TransientFault(f"503: the line to {sensor} is busy")
    return f"{sensor} reads {READINGS[sensor]}"


def log_reading(sensor: str, day: str, value: int, world: Any) -> str:
    """Log what a sensor read on a day, written as year-month-day; logging again replaces."""
    if not DAY.fullmatch(day):
        raise MalformedArgs(f"day: {day!r} is no day of this year; write it as 2026-01-31")
    given = {"sensor": sensor, "day": day, "value": value}
    world.execute("insert or replace into log values (:sensor, :day, :value)", parameters=given, write=True)
    return "logged"
