"""Why trials did not pass: one ground each, the commonest told, the worst task first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_pages import ALL
from report_records import a_key, a_record

from evalkit.core.record import Checked, Event, Halted, Outcome, Reported, Stop, TrialRecord, Verdict
from evalkit.report.grounds import LONGEST, Grounds, ground


def a_check(verdict: Verdict, reason: str, kind: str = "state", stage: str = "grader") -> Checked:
    """A check at the end."""
    return Checked(turn=1, stage=stage, kind=kind, verdict=verdict, reason=reason, at=0.0, seconds=0.1)  # type: ignore[arg-type]  # one of the stages


def a_trial(
    *events: Event,
    task: str = "t",
    index: int = 1,
    outcome: Outcome = "failed",
    stop: str = "finished",
    detail: str = "",
) -> TrialRecord:
    """A trial of some events that ended so."""
    record = a_record(a_key(task, index=index), 0.0)
    return replace(record, outcome=outcome, stop=Stop(reason=stop, detail=detail), error="", events=events)


def test_the_first_grader_that_said_no_is_the_ground() -> None:
    events = (
        a_check("fail", "a check on the way", stage="loop"),
        a_check("pass", "fine"),
        a_check("fail", "2 is not 3"),
    )
    assert ground(a_trial(*events, a_check("fail", "later"))) == "state: 2 is not 3"
    assert ground(a_trial(a_check("unknown", "no answer to grade"))) == "state: no answer to grade"


def test_how_a_trial_ended_that_did_not_end_by_itself_is_a_ground_too() -> None:
    said = (Reported(turn=1, origin="stderr", text="Traceback:\n  line 3\nKeyError: 'port'\n", at=0.0),)
    found = ground(a_trial(*said, a_check("fail", "no file"), stop="agent_error", detail="exit code 1"))
    assert found == "agent_error: exit code 1: KeyError: 'port'; state: no file"
    assert ground(a_trial(stop="cap:turns")) == "cap:turns"


def test_a_trial_in_error_tells_what_broke() -> None:
    broke = replace(a_trial(outcome="error", stop="error:provider", detail="gone"), error="the provider was gone")
    assert ground(broke) == "the provider was gone; error:provider: gone"


def test_without_a_trace_nothing_is_made_up() -> None:
    assert ground(a_trial()) == "the graders said no, and why was not kept"
    assert Grounds.of([a_trial()]).told() == []


@pytest.mark.parametrize("text", [ALL, "x" * 10_000, "two\nlines", ""])
def test_a_ground_is_one_bounded_harmless_line(text: str) -> None:
    found = ground(a_trial(a_check("fail", text), stop=text or "finished", detail=text))
    assert len(found) <= LONGEST
    assert found.isprintable()


def test_the_commonest_ground_of_each_task_is_told_and_the_worst_task_first() -> None:
    mild = [a_trial(a_check("fail", "late"), task="mild", index=3)]
    worst = [
        *(a_trial(a_check("fail", "wrong port"), task="worst", index=at) for at in (5, 2, 7)),
        a_trial(a_check("fail", "no file"), task="worst", index=1),
    ]
    passed = replace(a_trial(a_check("pass", "fine"), task="good"), outcome="passed")
    rows = Grounds.of([*mild, *worst, passed]).told()
    assert [(row["task"], row["lost"], row["ground"], row["times"], row["kinds"], row["index"]) for row in rows] == [
        ("worst", 4, "state: wrong port", 3, 2, 2),
        ("mild", 1, "state: late", 1, 1, 3),
    ]


def test_a_halt_is_no_ground() -> None:
    assert ground(a_trial(Halted(turn=1, stop=Stop(reason="finished"), at=0.0))).startswith("the graders said no")
