"""The tool that hands a question to a fresh loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.core.plan import Caps
from evalkit.core.record import Acted, Delegated, TrialRecord
from evalkit.parts.providers.scripted import Line
from evalkit.parts.tools.subagent import Subagent

Play = Callable[..., TrialRecord]
END = Line(text="done")


def ask(question: str = "where is it?") -> Line:
    """A reply that hands a question on."""
    return Line(calls=(("explore", {"question": question}),))


def acted(record: TrialRecord) -> Any:
    """The call of the tool itself."""
    return next(event for event in record.events if isinstance(event, Acted) and event.call.name == "explore")


def test_only_the_answer_comes_back_and_the_cost_counts(play: Play) -> None:
    record = play(ask(), Line(text="in the shed"), END, tools=[Subagent()])
    assert acted(record).result.content == "in the shed"
    assert (record.tally.turns, record.tally.calls, record.tally.tokens) == (2, 3, 360)
    (delegated,) = [event for event in record.events if isinstance(event, Delegated)]
    assert "where is it?" in delegated.prompt


def test_an_answer_that_is_too_long_is_cut(play: Play) -> None:
    record = play(ask(), Line(text="x" * 100), END, tools=[Subagent(tokens=5)])
    assert acted(record).result.content == "x" * 20 + "\n[cut: the answer was longer than it may be]"


def test_a_helper_that_does_not_finish_is_a_failed_tool(play: Play) -> None:
    record = play(ask(), ask("again?"), END, tools=[Subagent(caps=Caps(turns=0))])
    assert acted(record).error == "unrecoverable"
    assert "did not finish: cap:turns" in acted(record).result.content


def test_helpers_cannot_ask_helpers_without_end(play: Play) -> None:
    record = play(*[ask()] * 4, END, END, END, END, tools=[Subagent()])
    deep = [event for event in record.events if isinstance(event, Acted) and event.error is not None]
    assert "3 levels deep" in deep[0].detail
    assert record.outcome == "passed"
