"""A trial as spans: what stands under what, what is said by the conventions' names, and what is left out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from report_records import START, a_key, a_record

from evalkit.core.message import Message, Reply, Text, ToolCall, ToolResult, Usage
from evalkit.core.plan import Spec
from evalkit.core.record import (
    Acted,
    Asked,
    Attempt,
    Checked,
    Delegated,
    Halted,
    Noted,
    Reflected,
    Stop,
    Tally,
    TrialRecord,
    Unanswered,
)
from evalkit.report.span import Span
from evalkit.report.spans import Sender

PROVIDER = Spec(kind="anthropic", options={"model": "claude-x"})


def asked(at: float = 1.0, *, agent: str = "", attempts: tuple[Attempt, ...] = ()) -> Asked:
    """A model call that asks for a tool."""
    call = ToolCall(id="c1", name="look", input={"who": "SECRET-ARGUMENT"})
    reply = Reply(
        message=Message(role="assistant", content=(Text(text="SECRET-TEXT"), call)),
        stop_reason="tool_use",
        usage=Usage(input=7, output=5, cache_read=100, cache_write_5m=20, cache_write_1h=3),
        usd=0.25,
        model="claude-x-2",
    )
    return Asked(
        turn=1, call=1, purpose="act", sent=1, held=1, reply=reply, at=at, seconds=0.5, attempts=attempts, agent=agent
    )


def acted(at: float = 2.0, *, error: bool = False, agent: str = "") -> Acted:
    """A tool call."""
    call = ToolCall(id="c1", name="look", input={"who": "SECRET-ARGUMENT"})
    return Acted(
        turn=1,
        call=call,
        result=ToolResult(tool_use_id="c1", content="SECRET-RESULT", is_error=error),
        at=at,
        seconds=0.25,
        error="unrecoverable" if error else None,
        detail="SECRET-DETAIL" if error else "",
        agent=agent,
    )


def a_trial(*events: object, **changes: object) -> TrialRecord:
    """A trial with just these events."""
    made: TrialRecord = replace(a_record(a_key(), 1.0), events=events, **changes)  # type: ignore[arg-type]  # fields by name
    return made


def spans(record: TrialRecord, *, content: bool = False, run: str = "r1") -> list[Span]:
    """Its spans."""
    return list(Sender(run=run, provider=PROVIDER, content=content).spans(record))


def test_a_trial_is_a_trace_with_its_calls_under_it() -> None:
    root, call, tool = spans(
        a_trial(asked(START + 1), acted(START + 2), Halted(turn=1, stop=Stop(reason="finished"), at=9.0))
    )
    assert [one.name for one in (root, call, tool)] == ["invoke_agent react", "chat claude-x", "execute_tool look"]
    assert [one.kind for one in (root, call, tool)] == ["internal", "client", "internal"]
    assert root.parent_id is None
    assert {call.parent_id, tool.parent_id} == {root.span_id}
    assert {one.trace_id for one in (root, call, tool)} == {root.trace_id}
    assert len({one.span_id for one in (root, call, tool)}) == 3
    assert (call.start, call.end - call.start) == (round((START + 1) * 1e9), 500_000_000)
    assert (root.start, tool.end - tool.start) == (round(START * 1e9), 250_000_000)


def test_names_and_numbers_are_those_of_the_conventions() -> None:
    tally = Tally(turns=3, input_tokens=10, cache_read_tokens=90, output_tokens=5, usd=0.5)
    root, call, tool = spans(a_trial(asked(), acted(), tally=tally, nature="live"))
    assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert root.attributes["gen_ai.agent.name"] == "react"
    assert root.attributes["gen_ai.usage.input_tokens"] == 100, "cached tokens are input tokens too"
    assert (root.attributes["evalkit.outcome"], root.attributes["evalkit.nature"]) == ("passed", "live")
    assert {
        name: call.attributes[f"gen_ai.{name}"] for name in ("operation.name", "provider.name", "request.model")
    } == {
        "operation.name": "chat",
        "provider.name": "anthropic",
        "request.model": "claude-x",
    }
    assert call.attributes["gen_ai.response.model"] == "claude-x-2"
    assert call.attributes["gen_ai.response.finish_reasons"] == ("tool_use",)
    assert call.attributes["gen_ai.usage.input_tokens"] == 130
    assert call.attributes["gen_ai.usage.cache_read.input_tokens"] == 100
    assert call.attributes["gen_ai.usage.cache_creation.input_tokens"] == 23
    assert (tool.attributes["gen_ai.tool.name"], tool.attributes["gen_ai.tool.call.id"]) == ("look", "c1")


def test_what_nobody_counted_or_priced_is_not_said() -> None:
    tally = Tally(usd=None, uncounted=("turns", "tokens"))
    root = spans(a_trial(tally=tally))[0]
    assert not {"gen_ai.usage.input_tokens", "evalkit.turns", "evalkit.usd"} & set(root.attributes)


@pytest.mark.parametrize("content", [False, True])
def test_what_was_written_is_left_out_unless_it_is_asked_for(content: bool) -> None:
    events = (
        asked(),
        acted(),
        acted(error=True),
        Noted(turn=1, origin="o", text="SECRET-NOTE", at=3.0),
        Reflected(turn=1, at=3.0, confidence=0.5, issues=("SECRET-ISSUE",), revised_plan="SECRET-PLAN"),
        Checked(turn=1, stage="grader", kind="state", verdict="fail", reason="SECRET-REASON", at=4.0, seconds=0.1),
        Unanswered(turn=2, call=2, error="SECRET-LOSS", at=5.0, seconds=1.0, attempts=(Attempt(error="SECRET-TRY"),)),
    )
    stop = Stop(reason="error:provider", detail="SECRET-STOP")
    told = repr(spans(a_trial(*events, outcome="error", error="SECRET-ERROR", stop=stop), content=content))
    words = ("TEXT", "ARGUMENT", "RESULT", "DETAIL", "NOTE", "ISSUE", "PLAN", "REASON", "LOSS", "TRY", "STOP", "ERROR")
    assert [f"SECRET-{word}" in told for word in words] == [content] * len(words)


def test_failures_are_told_where_they_happened_and_a_wrong_answer_is_none() -> None:
    tries = (Attempt(error="busy", status=529, waited=2.0),)
    lost = Unanswered(turn=2, call=2, error="gone", at=5.0, seconds=1.0, attempts=tries)
    record = a_trial(
        asked(attempts=tries),
        acted(error=True),
        lost,
        outcome="error",
        error="gone",
        stop=Stop(reason="error:provider", detail="gone"),
    )
    root, call, tool, unanswered = spans(record)
    assert [one.failed for one in (root, call, tool, unanswered)] == [
        "error:provider",
        None,
        "unrecoverable",
        "unanswered",
    ]
    assert [one.attributes.get("error.type") for one in (root, tool)] == ["error:provider", "unrecoverable"]
    for one in (call, unanswered):
        (moment,) = one.moments
        assert (moment.name, moment.attributes["http.response.status_code"]) == ("exception", 529)
    wrong = spans(a_trial(outcome="failed", stop=Stop(reason="cap:turns")))[0]
    assert (wrong.failed, wrong.attributes["evalkit.stop.reason"]) == (None, "cap:turns")


def test_checks_are_evaluation_events_and_the_rest_events_of_our_own() -> None:
    checked = Checked(turn=2, stage="grader", kind="state", verdict="pass", reason="as asked", at=4.0, seconds=0.1)
    root = spans(a_trial(checked, Reflected(turn=1, at=3.0, on_track=False, confidence=0.5)))[0]
    result, reflected = root.moments
    assert (result.name, result.at) == ("gen_ai.evaluation.result", 4_000_000_000)
    assert (result.attributes["gen_ai.evaluation.name"], result.attributes["gen_ai.evaluation.score.label"]) == (
        "state",
        "pass",
    )
    assert (reflected.name, reflected.attributes["evalkit.on_track"]) == ("evalkit.reflected", False)


def test_delegated_work_is_an_agent_of_its_own_under_who_gave_it() -> None:
    stop = Stop(reason="error:provider")
    record = a_trial(
        asked(1.0),
        asked(2.0, agent="plan#1"),
        acted(3.0, agent="plan#1/look#1"),
        Delegated(turn=1, agent="plan#1/look#1", prompt="p", answer="a", stop=stop, tally=Tally(), at=4.0),
        Delegated(turn=1, agent="plan#1", prompt="p", answer="a", stop=Stop(reason="finished"), tally=Tally(), at=6.0),
    )
    found = {one.name: one for one in spans(record)}
    root, plan, look = (found[f"invoke_agent {name}"] for name in ("react", "plan#1", "look#1"))
    assert (plan.parent_id, look.parent_id) == (root.span_id, plan.span_id)
    assert found["execute_tool look"].parent_id == look.span_id
    assert (plan.start, plan.end) == (2_000_000_000, 6_000_000_000)
    assert (plan.failed, look.failed) == (None, "error:provider")


def test_the_same_trial_always_has_the_same_ids_and_another_has_others() -> None:
    record = a_record(a_key(), 1.0)
    first = [(one.trace_id, one.span_id) for one in spans(record)]
    assert first == [(one.trace_id, one.span_id) for one in spans(record, content=True)]
    others = (replace(record, attempt=2), replace(record, started=START + 1), replace(record, key=a_key(index=2)))
    traces = {spans(one)[0].trace_id for one in others} | {spans(record, run="r2")[0].trace_id, first[0][0]}
    assert len(traces) == 5
    assert all(0 < trace < 2**128 for trace in traces)


def test_hostile_values_become_what_a_span_can_hold() -> None:
    strange = replace(asked(math.nan), turn=10**30, reply=replace(asked().reply, model="a\ud800"))
    record = a_trial(strange, started=math.inf, seconds=-5.0, seed=2**64)
    root, call = spans(record, content=True)
    assert (root.start, root.end, call.start) == (0, 0, 0)
    assert call.attributes["evalkit.turn"] == 2**63 - 1
    assert call.attributes["gen_ai.response.model"] == "a\\ud800"
    assert root.attributes["evalkit.seed"] == str(2**64)
