"""Memos that do not help: one that does not shrink the view, a summary call that fails, one without text; and a detector's false alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalkit.core.message import Message, user
from evalkit.core.plan import Spec
from evalkit.core.protocols import History, MemoRequest
from evalkit.core.record import Condensed, Flagged, TrialRecord
from evalkit.parts.detectors.repeat_calls import RepeatCalls
from evalkit.parts.providers.scripted import Line

Play = Callable[..., TrialRecord]
CALL = Line(calls=(("t", {}),))
END = Line(text="done")


class AlwaysDue:
    """A policy that wants a memo before every view and shows it beside everything, so that nothing shrinks."""

    def due(self, history: History) -> MemoRequest:
        """Ask for one."""
        return MemoRequest(messages=(user("sum up"),), upto=1, max_tokens=50)

    def view(self, history: History) -> tuple[Message, ...]:
        """Show all."""
        return history.messages


def condensed(record: TrialRecord) -> list[Condensed]:
    """The memos of a trial, tried or written."""
    return [event for event in record.events if isinstance(event, Condensed)]


@pytest.fixture
def condensing(play: Play, does: Any) -> Callable[..., TrialRecord]:
    """Play a script under the policy; replies and summaries come from one script, in the order in which they are asked for."""

    def run(*script: Line) -> TrialRecord:
        tool = does(name="t", action=lambda _: "ok")
        return play(*script, tools=[tool], policies=(("bulky", AlwaysDue()),))

    return run


def test_a_memo_that_does_not_shrink_the_view_is_given_up_after_two(condensing: Callable[..., TrialRecord]) -> None:
    memo = Line(text="as long as before")
    record = condensing(memo, CALL, memo, CALL, CALL, END)
    assert record.outcome == "passed"
    assert [(one.before, one.after, one.text, one.error) for one in condensed(record)] == [
        (one.before, one.before, memo.text, "") for one in condensed(record)
    ]
    assert len(condensed(record)) == 2
    assert (record.tally.turns, record.tally.calls) == (4, 6)


def test_a_summary_without_text_is_an_event_and_the_trial_goes_on(condensing: Callable[..., TrialRecord]) -> None:
    record = condensing(Line(text=" "), CALL, Line(text=""), CALL, END)
    assert record.outcome == "passed"
    assert [one.error for one in condensed(record)] == ["the reply held no text"] * 2


def test_a_summary_that_does_not_fit_is_an_event_and_the_trial_goes_on(condensing: Callable[..., TrialRecord]) -> None:
    record = condensing(Line(fault="overflow"), CALL, Line(fault="overflow"), CALL, END)
    assert record.outcome == "passed"
    assert ["too long" in one.error for one in condensed(record)] == [True, True]


def test_a_summary_call_on_a_provider_that_is_gone_voids_the_trial_as_any_call_does(
    condensing: Callable[..., TrialRecord],
) -> None:
    record = condensing(CALL, CALL, Line(fault="permanent"))
    assert (record.outcome, record.stop.reason) == ("error", "error:provider")


def test_a_false_alarm_warns_and_costs_no_outcome(play: Play, does: Any, make_trial: Callable[..., Any]) -> None:
    """Polling looks like a loop and is none: the third look finds what it waited for."""
    answers = iter(["not yet", "not yet", "ready", "ready"])
    tool = does(name="t", action=lambda _: next(answers))
    trial = make_trial(variant={"detectors": (Spec(kind="repeat_calls"),)})
    detector = RepeatCalls(same=2, calls=4, kinds=1)
    record = play(CALL, CALL, CALL, END, tools=[tool], trial=trial, detectors=(detector,))
    assert {event.then for event in record.events if isinstance(event, Flagged)} == {"warn"}
    assert record.outcome == "passed"
