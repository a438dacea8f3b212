"""Detectors are counted by trial, with how the trials ended that they flagged."""

from __future__ import annotations

from dataclasses import replace

from measure_traces import a_trial

from evalkit.core.record import Flagged, Outcome, Stop, TrialRecord, Verdict
from evalkit.measure.alarms import Alarm, Alarms

TRIAL = a_trial()


def flagged(outcome: Outcome, *detectors: str, stop: str = "finished", graded: Verdict | None = None) -> TrialRecord:
    """A trial in which detectors fired, as often as they are named."""
    record = TRIAL
    flags = tuple(Flagged(turn=1, detector=name, pattern="x", then="warn", at=0.0) for name in detectors)
    return replace(record, outcome=outcome, graded=graded, stop=Stop(reason=stop), events=(*record.events, *flags))


def test_a_trial_counts_once_and_its_end_is_told() -> None:
    alarms = Alarms()
    for record in (
        flagged("passed", "loops", "loops"),
        flagged("failed", "loops", "state"),
        flagged("failed", "loops", stop="detector:loops", graded="pass"),
        flagged("error", "state"),
        flagged("failed"),
        flagged("passed"),
        replace(flagged("passed", "loops"), events=()),
    ):
        alarms.add(record)
    variant = TRIAL.key.variant
    assert alarms.detectors(variant) == ["loops", "state"]
    assert alarms.of(variant, "loops") == Alarm(
        trials=6, flagged=3, passed=1, failed=2, errors=0, stopped=1, spoiled=1, quiet_failed=1
    )
    assert alarms.of(variant, "state").errors == 1
    assert alarms.of(variant, "never") == Alarm(
        trials=6, flagged=0, passed=0, failed=0, errors=0, stopped=0, spoiled=0, quiet_failed=3
    )
    assert alarms.detectors("another") == []
