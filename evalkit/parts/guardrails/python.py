"""A tripwire by a function of yours: for what no pattern tells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.core.record import Event
from evalkit.parts._function import load_function

MOST_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """Trips where `function` says so: it is given each event of the trace as it happens (`evalkit.core.record`: `Asked`, `Acted`, …).

    It is written `file.py:name` (relative to the config) or `module:name`, and gives true or a text, the reason, to trip, and false or None
    to let the trial go on. Anything else, and anything that it raises, breaks the trial: it is then an error. The file's bytes count in
    the variant's identity. It runs in the runner's own process.
    """

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("function",)

    name: str
    function: str

    def __post_init__(self) -> None:
        """Refuse what names no function."""
        if ":" not in self.function:
            raise ValueError(f"function {self.function!r} names none: write file.py:name, or module:name")

    def trips(self, event: Event, base: Path) -> str | None:
        """Ask the function; raises `TypeError` where its answer is none."""
        answer = load_function(self.function, base)(event)
        if answer is None or answer is False or answer == "":
            return None
        if answer is True:
            return f"{self.function} said so"
        if isinstance(answer, str):
            return answer[:MOST_REASON]
        raise TypeError(
            f"{self.function} gave a {type(answer).__name__}; it has to give true, false, None, or a text as the reason"
        )
