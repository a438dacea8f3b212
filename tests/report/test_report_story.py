"""A trial is told whole, in order, bounded and harmless."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from report_records import a_key, a_record, a_run

from evalkit.core.message import Message, Reply, Text, ToolCall, ToolResult, Usage
from evalkit.core.plan import Caps
from evalkit.core.record import (
    Acted,
    Asked,
    Attempt,
    CapFired,
    Checked,
    Event,
    Halted,
    Noted,
    Stop,
    Tally,
    TrialRecord,
    Unanswered,
)
from evalkit.report.steps import Step, arguments
from evalkit.report.story import STEPS, ending, story
from evalkit.report.trace import trace_text


def told(*events: Event, **changes: Any) -> list[Step]:
    """The steps of a record with just these events."""
    record = replace(a_record(a_key(), 1.0), events=events, **{"answer": "", **changes})
    return story(record)["steps"]


def test_an_answer_that_no_turn_has_as_its_text_is_told_before_the_stop() -> None:
    halted = Halted(turn=0, stop=Stop(reason="finished"), at=0.0)
    steps = told(halted, answer="web.ini\n")
    assert [(step["kind"], step["label"], step["text"]) for step in steps[:1]] == [
        ("note", "the agent's answer", "web.ini")
    ]
    assert steps[1]["kind"] == "stop"
    assert [step["kind"] for step in told(asked(Text(text="web.ini")), halted, answer="web.ini")] == ["model", "stop"]
    assert [step["kind"] for step in told(halted, answer=" ")] == ["stop"]
    assert told(halted, answer="\x1b[31mred")[0]["text"].isprintable()


def asked(*content: Text | ToolCall, **changes: Any) -> Asked:
    """A model call."""
    message = Message(role="assistant", content=content, verbatim=changes.pop("verbatim", None))
    reply = Reply(message=message, stop_reason="tool_use", usage=Usage(input=800, output=95), usd=0.0012, model="sim-1")
    facts: dict[str, Any] = {"turn": 1, "call": 1, "purpose": "act", "sent": 3, "held": 3, "at": 0.0, "seconds": 1.25}
    return Asked(reply=reply, **(facts | changes))


def acted(call: ToolCall, content: str = "done", **changes: Any) -> Acted:
    """A tool call that was run."""
    result = ToolResult(tool_use_id=call.id, content=content, is_error="error" in changes)
    facts: dict[str, Any] = {"turn": 1, "at": 0.0, "seconds": 0.5}
    return Acted(call=call, result=result, **(facts | changes))


CALL = ToolCall(id="1", name="look_up", input={"order": "A200"})


def test_a_turn_is_told_as_what_was_said_called_and_given_back() -> None:
    steps = told(asked(Text(text="I look."), CALL), acted(CALL, "shipped"))
    assert [(step["kind"], step["label"], step["text"]) for step in steps] == [
        ("model", "model", "I look."),
        ("call", "look_up", "order: A200"),
        ("result", "result", "shipped"),
    ]
    assert steps[0]["meta"] == "1.25 s · 800 + 95 tokens · $0.0012"


def test_a_view_that_was_cut_an_odd_stop_reason_and_another_purpose_are_said() -> None:
    call = asked(Text(text="plan"), purpose="reflect", sent=3, held=9)
    cut = replace(call, reply=replace(call.reply, stop_reason="max_tokens"))
    (step,) = told(cut)
    assert step["label"] == "model (reflect)"
    assert step["meta"].endswith("saw 3 of 9 messages · max_tokens")


def test_a_call_that_nobody_ran_is_told_before_what_came_next() -> None:
    other = ToolCall(id="2", name="refund", input={})
    steps = told(asked(CALL, other), acted(CALL), Halted(turn=1, stop=Stop(reason="finished"), at=0.0))
    assert [(step["kind"], step["meta"]) for step in steps[3:]] == [("call", "not run"), ("stop", "")]
    last = told(asked(CALL, CALL), acted(CALL))
    assert [step["meta"] for step in last if step["kind"] == "call"] == ["", "not run"]


def test_a_failure_says_what_the_model_was_shown_and_what_really_happened() -> None:
    step = told(asked(CALL), acted(CALL, "tool failed", error="unrecoverable", detail="no such table"))[-1]
    assert step["label"] == "error"
    assert step["tone"] == "bad"
    assert step["meta"] == "500 ms · unrecoverable"
    assert step["text"] == "tool failed\n(what happened, not shown to the model: no such table)"
    verbatim = told(asked(CALL), acted(CALL, "no such table", error="unrecoverable", detail="no such table"))[-1]
    assert verbatim["text"] == "no such table"


def test_failed_tries_are_folded_into_one_step() -> None:
    tries = (Attempt(error="rate limited", status=429, waited=2.0), Attempt(error="reset"))
    step = told(asked(Text(text="hi"), attempts=tries))[0]
    assert step["label"] == "2 failed tries: the model did not answer at once"
    assert step["text"] == "try 1: rate limited [429], waited 2.00 s\ntry 2: reset"


def test_a_model_that_never_answered_is_told_with_its_tries() -> None:
    steps = told(Unanswered(turn=2, call=2, error="gone", at=0.0, seconds=9.0, attempts=(Attempt(error="gone"),)))
    assert [step["kind"] for step in steps] == ["retry", "broken"]
    assert steps[1]["text"] == "gone"


def test_thinking_is_told_apart_from_what_was_said() -> None:
    blocks = ({"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "hi"}, {"thinking": 3})
    steps = told(asked(Text(text="hi"), verbatim=blocks))
    assert [(step["kind"], step["text"]) for step in steps] == [("thought", "hmm"), ("model", "hi")]


def test_notes_checks_and_the_stop_are_told() -> None:
    cap = CapFired(meter="usd", limit=0.5, value=0.6, turn=4)
    steps = told(
        Noted(turn=3, origin="reflect", text="try again", at=0.0),
        Checked(turn=4, stage="ladder", kind="command", verdict="unknown", reason="hung", at=0.0, seconds=1.0),
        Halted(turn=4, stop=Stop(reason="cap:usd", cap=cap), at=0.0),
        Checked(turn=4, stage="grader", kind="state", verdict="fail", reason="open", at=0.0, seconds=1.0),
    )
    assert [step["label"] for step in steps] == [
        "note by reflect",
        "check command: unknown",
        "stop: cap:usd",
        "grader state: fail",
    ]
    assert steps[2]["meta"] == "limit $0.500 · was $0.600, $0.100 over · turn 4"
    assert steps[3]["tone"] == "bad"


@pytest.mark.parametrize(
    ("meter", "limit", "value", "meta"),
    [
        ("turns", 6, 6, "limit 6 turns · was 6 turns, reached exactly · turn 6"),
        ("seconds", 300.0, 301.5, "limit 5 min 00 s · was 5 min 02 s, 1.50 s over · turn 6"),
        ("tokens", 1000, 1200, "limit 1,000 tokens · was 1,200 tokens, 200 tokens over · turn 6"),
    ],
)
def test_a_cap_says_its_limit_its_value_and_how_far_over(meter: str, limit: float, value: float, meta: str) -> None:
    cap = CapFired(meter=meter, limit=limit, value=value, turn=6)
    (step,) = told(Halted(turn=6, stop=Stop(reason=f"cap:{meter}", cap=cap), at=0.0))
    assert step["meta"] == meta


def test_what_broke_is_told_last() -> None:
    step = told(error="Traceback: the disk is full")[-1]
    assert (step["kind"], step["text"]) == ("broken", "Traceback: the disk is full")


def test_the_ending_tells_outcome_and_graders_apart() -> None:
    record = a_record(a_key(), 1.0)
    capped = Stop(reason="cap:turns")
    assert ending(record) == "passed"
    assert ending(replace(record, outcome="failed", graded="fail")) == "failed"
    assert "graders said pass" in ending(replace(record, outcome="failed", graded="pass", stop=capped))
    assert "content all the same" in ending(replace(record, stop=capped))
    assert "not asked" in ending(replace(record, outcome="failed", graded=None))
    assert "says nothing of the agent" in ending(replace(record, outcome="error", graded=None))


def test_the_facts_name_what_is_unknown_and_leave_out_what_is_nothing() -> None:
    record = replace(a_record(a_key(), 1.0), tally=Tally(turns=1, usd=None, seconds=2.0), models=(), attempt=2)
    assert story(record)["head"]["facts"] == [
        "1 turn",
        "0 tool calls",
        "0 tokens",
        "cost unknown",
        "2.00 s",
        "attempt 2",
    ]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"a": "x", "b": [1, None]}, "a: x\nb: [1, null]"),
        ({"code": "one\ntwo", "n": 1}, "code:\n    one\n    two\nn: 1"),
        ({}, "(no arguments)"),
        ([1, 2], "[1, 2]"),
        ({"a": {1, 2}}, "a: (cannot be shown: TypeError)"),
    ],
)
def test_arguments_are_written_one_a_line(given: object, shown: str) -> None:
    assert arguments(given, 100) == shown


def test_arguments_nested_past_all_bounds_are_no_error() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "cannot be shown" in arguments({"deep": deep}, 100)


def test_a_long_text_and_a_long_story_are_bounded() -> None:
    events = [asked(Text(text="x" * 1_000_000), turn=turn) for turn in range(1, 1001)]
    record = replace(a_record(a_key(), 1.0), events=tuple(events))
    steps = story(record, 100)["steps"]
    assert len(steps) == STEPS + 1
    assert steps[STEPS // 2]["label"] == "600 steps left out"
    assert all(len(step["text"]) < 200 for step in steps)
    assert len(story(replace(record, events=tuple(events[:500])), None)["steps"]) == 500


def test_a_story_is_json_of_ascii_whatever_the_record_holds() -> None:
    hostile = "\x1b[2J</script>\u2028\ud800"
    key = replace(a_key(), task=hostile, variant=hostile)
    call = ToolCall(id="1", name=hostile, input={hostile: hostile})
    record: TrialRecord = replace(
        a_record(a_key(), 0.0),
        key=key,
        error=hostile,
        models=(hostile,),
        stop=Stop(reason=hostile, detail=hostile),
        events=(
            asked(Text(text=hostile), call),
            acted(call, hostile),
            Noted(turn=1, origin=hostile, text=hostile, at=0),
        ),
    )
    text = json.dumps(story(record), ensure_ascii=False)
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert text.encode("utf-8")


def test_every_event_of_a_run_is_told() -> None:
    for record in a_run(2):
        steps = story(record)["steps"]
        texts = sum(isinstance(event, Asked) for event in record.events)
        assert sum(step["kind"] == "model" for step in steps) == texts
        assert [step["kind"] for step in steps].count("stop") == 1


def test_gauges_tell_how_much_of_each_cap_was_used() -> None:
    record = a_record(a_key(), 1.0)
    caps = Caps(turns=record.tally.turns * 2, usd=0.000001, tokens=None)
    turns, usd = story(record, caps=caps)["head"]["gauges"]
    assert turns == {"meter": "turns", "used": f"{record.tally.turns} of {2 * record.tally.turns}", "share": 0.5}
    assert usd["share"] == 9.99, "what is past all measure is not written out"
    unknown = replace(record, tally=replace(record.tally, usd=None))
    assert [one["meter"] for one in story(unknown, caps=caps)["head"]["gauges"]] == ["turns"]
    assert story(record)["head"]["gauges"] == []
    assert "caps: turns" in trace_text(record, caps=caps)
    assert "caps:" not in trace_text(record)


def test_a_trials_own_tool_calls_are_counted_and_no_others() -> None:
    record = a_record(a_key(), 1.0)
    acted = [event for event in record.events if isinstance(event, Acted)]
    told = [step["act"] for step in story(record)["steps"] if step["kind"] == "call"]
    assert told == list(range(1, len(acted) + 1))
    delegated = tuple(replace(event, agent="helper") if isinstance(event, Acted) else event for event in record.events)
    assert {step["act"] for step in story(replace(record, events=delegated))["steps"]} == {0}
