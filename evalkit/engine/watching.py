"""Detectors and guardrails over the events of a trial.

Invariant: watching never acts in the middle of a turn. What was seen is kept until the turn is whole (each call answered);
only then is the model warned or the trial stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.core.protocols import Detector, DetectorPart, Guardrail
from evalkit.core.record import Event, Flagged, Stop

WARNING = (
    "[Notice from the harness] You seem to make no progress: {pattern}. What you are doing does not work. Try a different "
    "approach, or say why the task cannot be done."
)


@dataclass(slots=True, kw_only=True)
class Watch:
    """The detectors and guardrails of one conversation, and what they have seen since it was last asked.

    `base` is the folder that relative paths in a guardrail's options start from.
    """

    detectors: Sequence[tuple[str, DetectorPart, Detector]]
    guardrails: Sequence[Guardrail]
    base: Path
    warnings: list[tuple[str, str]] = field(default_factory=list)
    stop: Stop | None = None

    @property
    def wants_state(self) -> bool:
        """True where a detector needs to see the world's state after each turn."""
        return any(part.wants_state for _, part, _ in self.detectors)

    def see(self, event: Event) -> list[Flagged]:
        """Show an event to all; give the flags that it raised."""
        flags = []
        for kind, part, detector in self.detectors:
            pattern = detector.watch(event)
            if pattern is not None:
                flags.append(Flagged(turn=event.turn, detector=kind, pattern=pattern, then=part.then, at=event.at))
        for flag in flags:
            if flag.then == "stop":
                self.stop = self.stop or Stop(reason=f"detector:{flag.detector}", detail=flag.pattern)
            else:
                self.warnings.append((flag.detector, WARNING.format(pattern=flag.pattern)))
        for guardrail in self.guardrails:
            hit = guardrail.trips(event, self.base)
            if hit is not None:
                self.stop = self.stop or Stop(reason=f"guardrail:{guardrail.name}", detail=hit)
        return flags

    def take_warnings(self) -> list[tuple[str, str]]:
        """Give the warnings that the model has not seen yet: pairs of the detector and the text."""
        taken, self.warnings = self.warnings, []
        return taken
