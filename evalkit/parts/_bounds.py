"""What all processes of a trial may use together, and the watch over it where no sandbox keeps it.

Invariant: looking takes a tenth of the time at most, however many processes and files there are; what crosses a bound between two looks is
found at the next one, so a bound is crossed by what can be had in that time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evalkit.core.clock import SystemClock
from evalkit.parts._process import Bound, belonging
from evalkit.parts._warden import Disk, Usage

EVERY = 0.05
"""Seconds between two looks, at least."""

SHARE = 10
"""A look is followed by a pause of so many times its own length, at least."""

MET: dict[bytes, Bound] = {b"P": "processes", b"M": "memory", b"D": "disk"}
"""How counting tells of a bound (`_warden`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the processes of a trial may use together: processes and threads, bytes of memory, bytes of the files in its folders."""

    processes: int = 1000
    memory: int = 4_000_000_000
    disk: int = 2_000_000_000


@dataclass(slots=True, kw_only=True)
class Watch:
    """Looks at what the processes of some folders use while a command runs."""

    folders: tuple[Path, ...]
    bounds: Bounds
    usage: Usage = field(init=False)
    due: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing counted."""
        folders = list(map(str, self.folders))
        self.usage = Usage(self.bounds.processes, self.bounds.memory, Disk(folders, self.bounds.disk))

    def look(self) -> Bound | None:
        """Look, where it is time to: the bound that is crossed, None where none is."""
        clock = SystemClock()
        begun = clock.monotonic()
        if begun < self.due:
            return None
        met = self.usage.met(list(map(str, belonging(*self.folders))))
        ended = clock.monotonic()
        self.due = ended + max(EVERY, SHARE * (ended - begun))
        return MET.get(met)

    def settle(self) -> None:
        """Once everything is ended: let commands run that clear up."""
        self.usage.disk.settle()
