"""What a session does beside asking and acting: notes of the end, clamped replies, asides, delegation, watching, the ladder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.clock import ManualClock
from evalkit.core.errors import Stopped
from evalkit.core.message import Message, Picture, Price, Usage, user
from evalkit.core.plan import Caps, Spec, ToolOutput, ToolStyle, Trial, Verify, WrapUp
from evalkit.core.protocols import CheckResult, Evidence, History, MemoRequest, Session
from evalkit.core.record import (
    Acted,
    Asked,
    Checked,
    Condensed,
    Delegated,
    Event,
    Flagged,
    Noted,
    Observed,
    TrialRecord,
)
from evalkit.parts._plain_loop import PlainLoop
from evalkit.parts.detectors.repeat_calls import RepeatCalls
from evalkit.parts.detectors.state_hash import StateHash
from evalkit.parts.guardrails.pattern import Pattern
from evalkit.parts.providers.scripted import Line

Play = Callable[..., TrialRecord]
MakeTrial = Callable[..., Trial]
END = Line(text="done")


def call(name: str = "t", **arguments: Any) -> Line:
    """A reply that asks for one tool."""
    return Line(calls=((name, arguments),))


@pytest.fixture
def tool(does: Any) -> Any:
    """A tool that works."""
    return does(name="t", action=lambda _: "ok")


def of(kind: type[Event], record: TrialRecord) -> list[Any]:
    """The events of one kind."""
    return [event for event in record.events if isinstance(event, kind)]


def test_the_wrap_up_note_comes_once_with_so_many_turns_left(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    trial = make_trial(variant={"caps": Caps(turns=4), "wrap_up": WrapUp(turns=2)})
    record = play(*[call()] * 9, tools=[tool], trial=trial)
    (note,) = of(Noted, record)
    assert (note.turn, note.origin) == (2, "wrap_up")
    assert "2 turns are left" in note.text
    assert of(Noted, play(*[call()] * 9, tools=[tool], trial=make_trial(variant={"caps": Caps(turns=4)}))) == []


@pytest.mark.parametrize(
    ("caps", "expected"),
    [(Caps(), 1000), (Caps(tokens=700), 580), (Caps(usd=0.01), 280), (Caps(tokens=700, usd=0.01), 280)],
)
def test_a_reply_may_be_as_long_as_the_caps_leave(
    play: Play, make_trial: MakeTrial, tool: Any, caps: Caps, expected: int, watched: Any
) -> None:
    # The first call uses 120 tokens, at 25 dollars a million .003 of the .01: .007 are left, which buy 280 tokens.
    provider = watched(call(), END, usd_price=Price(input=25.0, output=25.0))
    play(tools=[tool], provider=provider, trial=make_trial(variant={"caps": caps, "max_tokens": 1000}))
    first, second = provider.requests
    assert first.max_tokens == min(1000, caps.tokens or 1000, int((caps.usd or 1) / 25 * 1e6))
    assert second.max_tokens == expected


def test_a_reply_that_was_cut_by_a_cap_ends_by_that_cap(play: Play, make_trial: MakeTrial) -> None:
    trial = make_trial(variant={"caps": Caps(tokens=50)})
    record = play(Line(text="half", stop="max_tokens", usage=Usage(input=10, output=50)), trial=trial)
    assert record.stop.reason == "cap:tokens"
    assert record.stop.cap is not None
    assert record.stop.cap.overshoot == 10  # one prompt


@dataclass(frozen=True)
class Aside:
    """A loop that asks aside before it works."""

    def play(self, session: Session) -> None:
        """Consult, then ask."""
        assert session.consult((user("what do you think?"),), purpose="muse").text == "hm"
        session.ask()


def test_an_aside_counts_in_all_caps_but_turns_and_is_no_part_of_the_conversation(
    play: Play, make_trial: MakeTrial, watched: Any
) -> None:
    provider = watched(Line(text="hm"), END)
    record = play(provider=provider, loop=Aside(), trial=make_trial(variant={"caps": Caps(turns=1)}))
    assert (record.stop.reason, record.tally.turns, record.tally.calls, record.tally.tokens) == ("finished", 1, 2, 240)
    assert [event.purpose for event in of(Asked, record)] == ["muse", "act"]
    assert len(provider.requests[1].messages) == 1
    capped = play(Line(text="hm"), END, loop=Aside(), trial=make_trial(variant={"caps": Caps(tokens=119)}))
    assert capped.stop.reason == "cap:tokens"


@dataclass(frozen=True)
class Hands:
    """A loop that hands its work on and reports the answer."""

    caps: Caps = Caps()

    def play(self, session: Session) -> None:
        """Delegate, then answer."""
        result = session.delegate("find it", agent="finder", loop=PlainLoop(), caps=self.caps)
        session.note(f"{result.stop.reason}: {result.answer}", "report")
        session.ask()


def test_delegated_work_has_its_own_conversation_and_counts_in_the_parents_caps(
    play: Play, make_trial: MakeTrial, tool: Any, watched: Any
) -> None:
    provider = watched(call(), Line(text="here"), END)
    record = play(provider=provider, tools=[tool], loop=Hands(), trial=make_trial(variant={"caps": Caps(turns=1)}))
    (delegated,) = of(Delegated, record)
    assert (delegated.agent, delegated.answer, delegated.tally.turns) == ("finder#1", "here", 2)
    assert (record.stop.reason, record.tally.turns, record.tally.calls) == ("finished", 1, 3)
    assert record.tally.tokens == 360
    assert [event.agent for event in of(Asked, record)] == ["finder#1", "finder#1", ""]
    assert provider.requests[0].messages[0].text == "find it"
    assert provider.requests[2].messages[0].text == "do it"


def test_a_delegate_that_hits_its_own_cap_ends_alone(play: Play, tool: Any) -> None:
    record = play(call(), END, tools=[tool], loop=Hands(caps=Caps(turns=1)))
    assert record.stop.reason == "finished"
    assert of(Delegated, record)[0].stop.reason == "cap:turns"
    assert of(Noted, record)[0].text.startswith("cap:turns")


def test_a_delegate_that_crosses_the_parents_cap_ends_the_trial(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    trial = make_trial(variant={"caps": Caps(tokens=200)})
    record = play(*[call()] * 9, tools=[tool], loop=Hands(), trial=trial)
    assert record.stop.reason == "cap:tokens"
    assert record.tally.calls == 2


def test_a_provider_that_is_gone_under_a_delegate_is_an_error_of_the_trial(play: Play) -> None:
    record = play(Line(fault="permanent"), loop=Hands())
    assert (record.stop.reason, record.outcome) == ("error:provider", "error")


def test_work_goes_on_nowhere_once_the_provider_is_gone_under_a_delegate(play: Play, watched: Any) -> None:
    model = watched(Line(fault="permanent"), END)
    record = play(provider=model, loop=Hands())
    assert (record.stop.reason, record.outcome) == ("error:provider", "error")
    assert len(model.requests) == 1
    assert [event.stop.reason for event in of(Delegated, record)] == ["error:provider"]


@dataclass(frozen=True)
class Deaf:
    """A loop that gives up, does not listen, gives up otherwise, and asks."""

    def play(self, session: Session) -> None:
        """Go on against all stops."""
        for reason in ("gave_up", "tool_error"):
            with suppress(Stopped):
                session.stop(reason)
        session.ask()


def test_after_a_stop_nothing_is_asked_and_the_first_one_counts(play: Play, watched: Any) -> None:
    model = watched(END)
    record = play(provider=model, loop=Deaf())
    assert (record.stop.reason, model.requests) == ("gave_up", [])


def test_an_answer_that_crosses_a_cap_ends_by_the_cap(play: Play, make_trial: MakeTrial) -> None:
    record = play(END, trial=make_trial(variant={"caps": Caps(tokens=119)}))
    assert (record.stop.reason, record.outcome) == ("cap:tokens", "failed")
    assert play(END, trial=make_trial(variant={"caps": Caps(tokens=120)})).stop.reason == "finished"


@dataclass(frozen=True)
class Wordy:
    """A policy whose memos are longer than what they stand for."""

    def due(self, history: History) -> MemoRequest | None:
        """Always want one."""
        return MemoRequest(messages=(user("sum up"),), upto=1, max_tokens=9)

    def view(self, history: History) -> tuple[Message, ...]:
        """Show the memos beside all there is."""
        return (user(" ".join(["request", *(memo.text for memo in history.memos)])), *history.messages[1:])


def test_after_two_memos_that_make_nothing_smaller_no_more_are_written(play: Play, tool: Any) -> None:
    memo = Line(text="long " * 50)
    script = (memo, call(), memo, call(), call(), END)
    record = play(*script, tools=[tool], policies=[("wordy", Wordy())])
    assert [event.purpose for event in of(Asked, record)] == ["condense", "act", "condense", "act", "act", "act"]
    assert [event.after > event.before for event in of(Condensed, record)] == [True, True]


def watching(make_trial: MakeTrial, part: Any, family: str = "detectors") -> dict[str, Any]:
    """Arguments for `play` that put one detector or guardrail to work."""
    return {"trial": make_trial(variant={family: (Spec(kind="it"),)}), family: (part,)}


def test_a_detector_warns_once_the_turn_is_whole(play: Play, make_trial: MakeTrial, tool: Any, watched: Any) -> None:
    provider = watched(*[call()] * 4, END)
    record = play(provider=provider, tools=[tool], **watching(make_trial, RepeatCalls(same=3, calls=4, kinds=1)))
    (flag,) = of(Flagged, record)
    assert (flag.detector, flag.then, flag.turn) == ("it", "warn", 3)
    (note,) = of(Noted, record)
    assert note.origin == "detector:it"
    assert provider.requests[3].messages[-1].text == note.text
    assert record.outcome == "passed"


def test_a_detector_may_stop_the_trial(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    record = play(
        *[call()] * 9, tools=[tool], **watching(make_trial, RepeatCalls(same=3, calls=4, kinds=1, then="stop"))
    )
    assert (record.stop.reason, record.outcome, record.tally.turns) == ("detector:it", "failed", 3)


def test_the_state_of_the_world_is_observed_only_where_a_detector_wants_it(
    play: Play, make_trial: MakeTrial, tool: Any
) -> None:
    watched = play(*[call()] * 4, END, tools=[tool], **watching(make_trial, StateHash(turns=2, then="stop")))
    assert watched.stop.reason == "detector:it"
    assert len(of(Observed, watched)) == 3
    unwatched = play(*[call()] * 4, END, tools=[tool], **watching(make_trial, RepeatCalls()))
    assert of(Observed, unwatched) == []


def test_a_guardrail_ends_the_trial_with_its_name(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    rail = Pattern(name="no-drop", pattern="drop table", where="calls")
    record = play(call(sql="drop table x"), END, tools=[tool], **watching(make_trial, rail, "guardrails"))
    assert (record.stop.reason, record.outcome) == ("guardrail:no-drop", "failed")
    assert "drop table" in record.stop.detail


@dataclass
class Grumpy:
    """A check that fails a number of times, then passes."""

    fails: int
    COST: int = 0
    asked: int = 0

    def judge(self, evidence: Evidence) -> CheckResult:
        """Fail first."""
        self.asked += 1
        if self.asked <= self.fails:
            return CheckResult(verdict="fail", reason=f"line {self.asked}: expected 4, got 5")
        return CheckResult(verdict="pass")


def ladder(make_trial: MakeTrial, self_correct: int, *checks: Any, on: bool = True) -> dict[str, Any]:
    """Arguments for `play` that give the loop a ladder."""
    verify = Verify(self_correct=self_correct) if on else None
    specs = tuple(Spec(kind=f"check{number}") for number in range(len(checks)))
    return {"trial": make_trial(task={"checks": specs}, variant={"verify": verify}), "checks": checks}


class Rule:
    """A guardrail that trips on a call, and keeps where it was told that its files are."""

    name = "rule"

    def __init__(self) -> None:
        """Begin."""
        self.bases: set[Path] = set()

    def trips(self, event: Event, base: Path) -> str | None:
        """Trip."""
        self.bases.add(base)
        return "a call" if isinstance(event, Acted) else None


def test_a_guardrail_is_told_the_folder_of_its_variant(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    rule = Rule()
    trial = make_trial(variant={"base": "/rules", "guardrails": (Spec(kind="it"),)})
    record = play(call(), END, tools=[tool], trial=trial, guardrails=(rule,))
    assert (record.stop.reason, record.stop.detail) == ("guardrail:rule", "a call")
    assert rule.bases == {Path("/rules")}


def test_a_failed_ladder_goes_back_verbatim_and_is_bounded(play: Play, make_trial: MakeTrial) -> None:
    record = play(END, END, **ladder(make_trial, 3, Grumpy(1)))
    (note,) = of(Noted, record)
    assert note.origin == "self_correct"
    assert "line 1: expected 4, got 5" in note.text
    assert [event.verdict for event in of(Checked, record) if event.stage == "ladder"] == ["fail", "pass"]
    assert record.tally.retries == 0
    bounded = play(*[END] * 9, **ladder(make_trial, 2, Grumpy(9)))
    assert (bounded.stop.reason, bounded.tally.turns, len(of(Noted, bounded))) == ("finished", 3, 2)


class Pictured:
    """A check that fails once, and shows what it saw."""

    def __init__(self) -> None:
        """Begin."""
        self.asked = 0

    def judge(self, evidence: Evidence) -> CheckResult:
        """Fail at first; a pass's picture is of no use to anybody."""
        self.asked += 1
        return CheckResult(verdict="fail" if self.asked == 1 else "pass", reason="off", picture=SEEN)


SEEN = Picture(data="eA==", width=10, height=20)


def test_the_picture_of_what_failed_is_shown_to_the_model(play: Play, make_trial: MakeTrial, watched: Any) -> None:
    model = watched(END, END)
    record = play(provider=model, **ladder(make_trial, 3, Pictured()))
    assert [event.pictures for event in of(Noted, record)] == [(SEEN,)]
    first, second = model.requests
    assert SEEN not in first.messages[-1].content
    assert SEEN in second.messages[-1].content
    assert record.outcome == "passed"


def test_without_verify_the_checks_are_not_asked(play: Play, make_trial: MakeTrial) -> None:
    check = Grumpy(9)
    record = play(END, **ladder(make_trial, 3, check, on=False))
    assert check.asked == 0
    assert record.tally.turns == 1


def test_the_cheapest_rung_is_asked_first_and_a_fail_ends_the_climb(play: Play, make_trial: MakeTrial) -> None:
    dear, cheap = Grumpy(0, COST=9), Grumpy(9, COST=1)
    record = play(END, **ladder(make_trial, 0, dear, cheap))
    assert [event.kind for event in of(Checked, record) if event.stage == "ladder"] == ["check1"]
    assert dear.asked == 0


@pytest.mark.parametrize(
    ("keep", "shown"),
    [("head", "0123"), ("tail", "6789"), ("both", "01")],
)
def test_a_long_result_is_cut_with_a_mark_that_counts(
    play: Play, make_trial: MakeTrial, does: Any, keep: Any, shown: str
) -> None:
    trial = make_trial(variant={"tool_output": ToolOutput(tokens=1, keep=keep)})
    record = play(call(), END, tools=[does(name="t", action=lambda _: "0123456789")], trial=trial)
    (event,) = of(Acted, record)
    assert shown in event.result.content
    assert "45" not in event.result.content
    assert "2 of about 3 tokens left out" in event.result.content
    assert event.detail == f"cut from about 3 to 1 tokens, {keep} kept"


@pytest.mark.parametrize(("naming", "name"), [("plain", "t"), ("prefix", "bare_t"), ("suffix", "t_bare")])
def test_tools_are_named_as_the_variant_says(
    play: Play, make_trial: MakeTrial, tool: Any, naming: Any, name: str
) -> None:
    record = play(call(name), END, tools=[tool], trial=make_trial(variant={"tools": ToolStyle(naming=naming)}))
    (event,) = of(Acted, record)
    assert (event.error, event.call.name) == (None, name)
    assert len(tool.given) == 1


VERBOSE = {
    "type": "object",
    "properties": {"verbosity": {"enum": ["concise", "detailed"]}},
    "additionalProperties": False,
}


def test_verbosity_is_fixed_by_the_variant_or_left_to_the_model(
    play: Play, make_trial: MakeTrial, does: Any, watched: Any
) -> None:
    for verbosity, given in [("concise", {"verbosity": "concise"}), ("agent", {})]:
        tool = does(name="t", action=lambda _: "ok", schema=VERBOSE)
        provider = watched(call(), END)
        style = ToolStyle(verbosity=verbosity)  # type: ignore[arg-type]  # one of the literals
        play(provider=provider, tools=[tool], trial=make_trial(variant={"tools": style}))
        assert tool.given == [given]
        shown = provider.requests[0].tools[0].input_schema["properties"]
        assert ("verbosity" in shown) == (verbosity == "agent")


def test_fragments_come_before_the_prompt(play: Play, make_trial: MakeTrial, watched: Any) -> None:
    provider = watched(END)
    play(provider=provider, fragments=("one", "two"), trial=make_trial(variant={"prompt": "three"}))
    assert provider.requests[0].system == "one\n\ntwo\n\nthree"


def test_a_check_that_asks_a_model_is_charged_to_the_trial_on_the_ladder_and_apart_as_a_grader(
    play: Play, make_trial: MakeTrial
) -> None:
    class Asks:
        """Asks the model whether it is good."""

        COST = 9

        def judge(self, evidence: Evidence) -> CheckResult:
            reply = evidence.consult((user("good?"),), 100)
            return CheckResult(verdict="pass" if reply.text == "yes" else "fail")

    yes = Line(text="yes")
    record = play(END, yes, yes, grader=Asks(), **ladder(make_trial, 0, Asks()))
    assert record.outcome == "passed"
    assert (record.tally.calls, record.grading.calls) == (2, 1)
    assert [event.purpose for event in of(Asked, record)] == ["act", "judge", "judge"]
    clock = ManualClock()
    gone = play(END, Line(fault="permanent"), grader=Asks(), clock=clock)
    assert (gone.outcome, gone.stop.reason) == ("error", "finished")
