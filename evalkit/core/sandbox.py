"""What holds the processes of a trial: data that travels with each trial, so that any worker in any process does the same.

Invariant: what a trial carries was settled before the run began; nothing that plays a trial looks at the machine to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bubblewrap", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """How processes on what an agent wrote are held: `none` bounds them in time, memory and output only.

    `show` are folders and files of the machine that a sandbox shows besides the system's own programs; they are never written to.
    """

    kind: Kind = "none"
    show: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a program of the user's own needs of a sandbox: what it reads besides the system's programs, and whether it reaches the network."""

    read: tuple[str, ...] = ()
    network: bool = False


PLAIN = Sandbox()
"""No sandbox."""

RECORD = "sandbox"
"""Under this name a run's settings hold the levels that it was run at, in their order."""
