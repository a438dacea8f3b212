"""How often a cap ends the trial."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Caps
from evalkit.core.record import UNKNOWN
from evalkit.measure.arrays import Bools
from evalkit.measure.metric import LOST, Shares
from evalkit.measure.table import Table, meant

ANY = "any"


@dataclass(frozen=True, slots=True)
class CapRate:
    """The mean over tasks of the share of a task's trials that ended because the cap on `meter`, or any cap, fired.

    A capped trial that would still have passed counts as capped.
    """

    meter: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `cap_rate(METER)`."""
        found = re.fullmatch(r"cap_rate\((.*)\)", text)
        if found is None:
            return None
        meters = (*(field.name for field in fields(Caps)), ANY)
        if found[1] not in meters:
            raise ConfigurationError.of(f"metric {text}", f"there is no cap on {found[1]!r}", meant(found[1], meters))
        return cls(found[1])

    @classmethod
    def forms(cls) -> tuple[str, ...]:
        """Examples."""
        return ("cap_rate(turns)", "cap_rate(any)")

    @property
    def text(self) -> str:
        """How people write it."""
        return f"cap_rate({self.meter})"

    @property
    def more_is_better(self) -> bool:
        """Fewer capped trials are better."""
        return False

    @property
    def unit(self) -> str:
        """A mean of shares."""
        return "share"

    def read(self, table: Table, variant: int, tasks: Bools) -> Shares:
        """A trial stopped by the cap is a hit; one that is missing, that our own world stopped, or of whose end nobody told is unknown."""
        capped = [stop.startswith("cap:") if self.meter == ANY else stop == f"cap:{self.meter}" for stop in table.stops]
        void = [stop.startswith("error:") or stop == UNKNOWN for stop in table.stops]
        ours = (table.variant == variant) & tasks[table.task]
        untold = UNKNOWN in table.stops and bool((ours & (table.stop == table.stops.index(UNKNOWN))).any())
        return Shares(
            trials=table.planned[tasks, variant],
            hits=table.count(ours & np.array(capped, dtype=bool)[table.stop])[tasks, variant],
            unknown=(table.missing + table.count(ours & np.array(void, dtype=bool)[table.stop]))[tasks, variant],
            doubt="missing, in error, or not told why they stopped" if untold else LOST,
        )
