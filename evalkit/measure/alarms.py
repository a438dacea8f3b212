"""How often detectors fired, and on which trials: a detector is judged by its false alarms.

Invariant: a trial counts once for a detector, however often it fired there; one that was never seen is not counted as quiet.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evalkit.core.record import Flagged, TrialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What a detector did under a variant, in trials: `flagged` of `trials` whose traces were read.

    Of the flagged ones `passed`, `failed` and in `errors`; `stopped` were ended by it, and `spoiled` are those that did not pass although the graders were
    content. `quiet_failed` failed and were never flagged. A trial that passed after a warning may owe that to it: `passed` bounds
    the false alarms of a detector that warns from above, while `passed` and `spoiled` are those of one that stops.
    """

    trials: int
    flagged: int
    passed: int
    failed: int
    errors: int
    stopped: int
    spoiled: int
    quiet_failed: int


@dataclass(slots=True)
class Alarms:
    """Gathers alarms, record after record."""

    _read: Counter[tuple[str, str]] = field(default_factory=Counter)
    _found: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def add(self, record: TrialRecord) -> None:
        """Read a record with its events; one in which no trace was kept is passed over."""
        if not record.events:
            return
        variant = record.key.variant
        self._read[variant, record.outcome] += 1
        flags = [event for event in record.events if isinstance(event, Flagged)]
        for detector in dict.fromkeys(flag.detector for flag in flags):
            counts = self._found.setdefault((variant, detector), Counter())
            counts["flagged"] += 1
            counts[record.outcome] += 1
            counts["stopped"] += record.stop.reason == f"detector:{detector}"
            counts["spoiled"] += record.outcome == "failed" and record.graded == "pass"

    def detectors(self, variant: str) -> list[str]:
        """The detectors that fired under a variant, in alphabetical order."""
        return sorted(detector for name, detector in self._found if name == variant)

    def of(self, variant: str, detector: str) -> Alarm:
        """Add up what a detector did under a variant; one that never fired has nothing flagged."""
        counts = self._found.get((variant, detector), Counter())
        return Alarm(
            trials=sum(self._read[variant, outcome] for outcome in ("passed", "failed", "error")),
            flagged=counts["flagged"],
            passed=counts["passed"],
            failed=counts["failed"],
            errors=counts["error"],
            stopped=counts["stopped"],
            spoiled=counts["spoiled"],
            quiet_failed=self._read[variant, "failed"] - counts["failed"],
        )
