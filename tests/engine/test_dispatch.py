"""Tool calls: three classes of errors told apart, retries unseen, results in call order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evalkit.core.errors import MalformedArgs, ToolFailed, TransientFault
from evalkit.core.message import JSON
from evalkit.core.plan import Retries, Trial
from evalkit.core.record import Acted, TrialRecord
from evalkit.parts.providers.scripted import Line

Play = Callable[..., TrialRecord]
NUMBER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


def acted(record: TrialRecord) -> list[Acted]:
    """The tool calls of a record."""
    return [event for event in record.events if isinstance(event, Acted)]


def raising(*errors: Exception) -> Callable[[Mapping[str, JSON]], str]:
    """Raise these one after the other, then answer."""
    left = list(errors)

    def action(_: Mapping[str, JSON]) -> str:
        if left:
            raise left.pop(0)
        return "healed"

    return action


def call(*names: str, **arguments: Any) -> Line:
    """A reply that asks for tools with the same arguments."""
    return Line(calls=tuple((name, arguments) for name in names))


END = Line(text="done")


def test_malformed_arguments_teach_the_field_the_shape_and_an_example(play: Play, does: Any) -> None:
    tool = does(name="add", action=lambda _: "2", schema=NUMBER)
    record = play(call("add", x="one"), END, tools=[tool])
    (event,) = acted(record)
    assert event.error == "malformed_args"
    assert event.result.is_error
    assert "x: 'one' is not of type 'integer'" in event.result.content
    assert '"x": "integer"' in event.result.content
    assert 'a correct example: {"x": 1}' in event.result.content
    assert tool.given == []
    assert record.stop.reason == "finished"


def test_an_unknown_tool_is_malformed_and_never_fatal(play: Play, does: Any) -> None:
    record = play(call("ad"), END, tools=[does(name="add", action=lambda _: "2")])
    (event,) = acted(record)
    assert event.error == "malformed_args"
    assert event.result.content == "there is no tool named 'ad'; there are: add"
    assert record.outcome == "passed"


def test_a_transient_fault_is_retried_unseen_by_the_model(play: Play, does: Any) -> None:
    record = play(
        call("t"), END, tools=[does(name="t", action=raising(TransientFault("busy"), TransientFault("busy")))]
    )
    (event,) = acted(record)
    assert event.error is None
    assert event.result.content == "healed"
    assert [attempt.error for attempt in event.attempts] == ["busy", "busy"]
    assert record.tally.retries == 2
    assert record.tally.tool_errors == 0


def test_a_transient_fault_that_does_not_heal_is_shown_after_the_last_try(
    play: Play, does: Any, make_trial: Callable[..., Trial]
) -> None:
    trial = make_trial(variant={"retries": Retries(tool=2)})
    tool = does(name="t", action=raising(*[TransientFault("busy")] * 5))
    record = play(call("t"), END, tools=[tool], trial=trial)
    (event,) = acted(record)
    assert event.error == "transient"
    assert event.result.content == "busy"
    assert len(tool.given) == 2
    assert record.tally.retries == 1


@pytest.mark.parametrize(
    ("error", "kind", "shown"),
    [
        (ToolFailed("no such file: a.txt"), "unrecoverable", "no such file: a.txt"),
        (ValueError("bad day"), "unrecoverable", "ValueError: bad day"),
        (MalformedArgs("path: must be relative"), "malformed_args", "path: must be relative"),
    ],
)
def test_failures_reach_the_model_verbatim_and_are_not_retried(
    play: Play, does: Any, error: Exception, kind: str, shown: str
) -> None:
    tool = does(name="t", action=raising(error))
    record = play(call("t"), END, tools=[tool])
    (event,) = acted(record)
    assert (event.error, event.result.content, event.attempts) == (kind, shown, ())
    assert len(tool.given) == 1
    assert record.tally.tool_errors == 1


def test_generic_errors_hide_every_failure_from_the_model_but_not_from_the_trace(
    play: Play, does: Any, make_trial: Callable[..., Trial]
) -> None:
    trial = make_trial(variant={"errors": "generic"})
    tool = does(name="t", action=raising(ToolFailed("disk is read-only")))
    (event,) = acted(play(call("t"), END, tools=[tool], trial=trial))
    assert event.result.content == "tool failed"
    assert event.detail == "disk is read-only"


def test_calls_of_one_turn_run_in_parallel_and_keep_call_order(play: Play, does: Any) -> None:
    both = threading.Barrier(2, timeout=5)
    second_done = threading.Event()

    def first(_: Mapping[str, JSON]) -> str:
        both.wait()
        second_done.wait(5)
        return "one"

    def second(_: Mapping[str, JSON]) -> str:
        both.wait()
        second_done.set()
        return "two"

    record = play(call("a", "b"), END, tools=[does(name="a", action=first), does(name="b", action=second)])
    assert [event.result.content for event in acted(record)] == ["one", "two"]


def test_a_turn_with_a_write_runs_one_call_after_the_other(play: Play, does: Any) -> None:
    order: list[str] = []

    def noting(name: str) -> Callable[[Mapping[str, JSON]], str]:
        def action(_: Mapping[str, JSON]) -> str:
            order.append(f"{name}{len(order)}")
            return ""

        return action

    tools = [does(name=name, action=noting(name), writes=name == "w") for name in ("r", "w")]
    play(call("r", "w", "r"), END, tools=tools)
    assert order == ["r0", "w1", "r2"]


def test_a_failed_critical_write_ends_the_trial(play: Play, does: Any) -> None:
    tool = does(name="pay", action=raising(ToolFailed("declined")), writes=True, critical=True)
    record = play(call("pay"), END, tools=[tool])
    assert record.stop.reason == "tool_error"
    assert "declined" in record.stop.detail
    assert record.outcome == "failed"
    assert record.graded == "pass"
