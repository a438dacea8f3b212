"""Control flow: what each loop asks, in which order, and what it does with the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalkit.core.plan import Caps, Item, Spec, Trial
from evalkit.core.record import Asked, Delegated, Listed, Noted, Reflected, TrialRecord
from evalkit.parts import build, faults
from evalkit.parts.context.full import Full
from evalkit.parts.context.window import Window
from evalkit.parts.providers.scripted import Line

Play = Callable[..., TrialRecord]
MakeTrial = Callable[..., Trial]
END = Line(text="done")


def call(name: str = "t", text: str = "", **arguments: Any) -> Line:
    """A reply that asks for one tool."""
    return Line(text=text, calls=((name, arguments),))


def says(**verdict: Any) -> Line:
    """A reflection."""
    return Line(text="Let me see.\n" + json.dumps(verdict))


@pytest.fixture
def tool(does: Any) -> Any:
    """A tool that works."""
    return does(name="t", action=lambda _: "ok")


def loop(kind: str, **options: Any) -> Any:
    """Build a loop."""
    return build("loops", Spec(kind=kind, options=options))


def of(kind: Any, record: TrialRecord) -> list[Any]:
    """The events of one kind."""
    return [event for event in record.events if isinstance(event, kind)]


def purposes(record: TrialRecord) -> list[str]:
    """What the model was asked for, in order."""
    return [event.purpose for event in of(Asked, record)]


CONTINUE = says(on_track=True, confidence=0.9, issues=[], recommendation="continue")
REVISE = says(on_track=False, confidence=0.2, issues=["x"], recommendation="revise_approach", revised_plan="use sql")
ABORT = says(on_track=False, confidence=0.1, issues=["no such order"], recommendation="abort")


def test_react_reflects_every_so_many_turns(play: Play, tool: Any) -> None:
    record = play(
        call(), call(), CONTINUE, call(), call(), CONTINUE, END, tools=[tool], loop=loop("react", reflect={"every": 2})
    )
    assert purposes(record) == ["act", "act", "reflect", "act", "act", "reflect", "act"]
    first = of(Reflected, record)[0]
    assert (first.turn, first.on_track, first.confidence, first.recommendation) == (2, True, 0.9, "continue")
    assert of(Noted, record) == []
    assert (record.tally.turns, record.tally.calls) == (5, 7)


@pytest.mark.parametrize("line", [call("t"), call("u", text="[milestone: t]")])
def test_react_reflects_at_milestones(play: Play, does: Any, tool: Any, line: Line) -> None:
    other = does(name="u", action=lambda _: "ok")
    record = play(
        call("u"), line, CONTINUE, END, tools=[tool, other], loop=loop("react", reflect={"milestones": ["t"]})
    )
    assert purposes(record) == ["act", "act", "reflect", "act"]


def test_a_revised_plan_goes_into_the_conversation(play: Play, tool: Any) -> None:
    record = play(call(), REVISE, END, tools=[tool], loop=loop("react", reflect={"every": 1}))
    (note,) = of(Noted, record)
    assert note.origin == "reflect"
    assert "use sql" in note.text
    assert record.outcome == "passed"


def test_an_abort_gives_up(play: Play, tool: Any) -> None:
    record = play(call(), ABORT, END, tools=[tool], loop=loop("react", reflect={"every": 1}))
    assert (record.stop.reason, record.stop.detail, record.outcome) == ("gave_up", "no such order", "failed")


@pytest.mark.parametrize("text", ["all is well", "{broken", '{"recommendation": "dance"}', "[1]"])
def test_a_reflection_that_cannot_be_read_is_one_event_and_the_loop_goes_on(play: Play, tool: Any, text: str) -> None:
    record = play(call(), Line(text=text), END, tools=[tool], loop=loop("react", reflect={"every": 1}))
    (event,) = of(Reflected, record)
    assert event.error
    assert event.recommendation is None
    assert record.outcome == "passed"


def test_a_reflection_that_never_comes_is_refused() -> None:
    assert faults("loops", "react", {"reflect": {}})
    assert faults("loops", "react", {"reflect": {"every": 0}})


def test_plan_act_reflect_plans_without_tools_and_looks_back_after_each_round(play: Play, tool: Any) -> None:
    record = play(Line(text="1. look"), call(), CONTINUE, END, tools=[tool], loop=loop("plan_act_reflect"))
    assert purposes(record) == ["plan", "act", "reflect", "act"]
    assert [note.origin for note in of(Noted, record)] == ["plan", "plan"]
    assert record.outcome == "passed"


PLAN = Line(
    text=json.dumps(
        [{"task": "look", "agent": "worker"}, {"task": "sing", "agent": "bard"}, {"task": "write", "agent": "worker"}]
    )
)


def test_the_plan_turn_is_asked_without_tools(play: Play, tool: Any, watched: Any) -> None:
    model = watched(Line(text="1. look"), END)
    play(tools=[tool], loop=loop("plan_act_reflect"), provider=model)
    assert [bool(request.tools) for request in model.requests] == [False, True]


def test_an_executor_has_a_system_prompt_and_a_context_of_its_own(play: Play, tool: Any, watched: Any) -> None:
    worker = {"system": "You look.", "context": {"kind": "window", "options": {"turns": 1}}}
    plan = Line(text='[{"task": "look", "agent": "worker"}]')
    model = watched(plan, call(), call(), call(), Line(text="found"), Line(text="final"))
    policies = {"full": Full(), "window": Window(turns=1)}
    record = play(
        tools=[tool],
        loop=loop("planner_executor", executors={"worker": worker}),
        provider=model,
        policies=lambda specs: tuple((spec.kind, policies[spec.kind]) for spec in specs),
    )
    executor, synthesis = model.requests[4], model.requests[5]
    assert record.outcome == "passed"
    assert (executor.system, synthesis.system) == ("You look.", "")
    assert len(executor.messages) == 3


def test_a_plan_has_at_most_so_many_subtasks(play: Play) -> None:
    plan = Line(text=json.dumps([{"task": str(number), "agent": "worker"} for number in range(5)]))
    record = play(plan, END, END, Line(text="final"), loop=loop("planner_executor", least=1, most=2))
    assert len(of(Delegated, record)) == 2
    assert record.answer == "final"


def test_planner_executor_works_through_the_plan_and_one_failure_does_not_end_it(play: Play, tool: Any) -> None:
    planned = loop("planner_executor", executors={"worker": {"caps": {"turns": 1}}})
    record = play(PLAN, call(), Line(text="wrote it"), Line(text="final"), tools=[tool], loop=planned)
    assert purposes(record) == ["plan", "act", "act", "synthesise"]
    assert [event.stop.reason for event in of(Delegated, record)] == ["cap:turns", "finished"]
    (note,) = of(Noted, record)
    assert "[failed: cap:turns] look" in note.text
    assert "[there is no agent 'bard'] skipped: sing" in note.text
    assert "wrote it" in note.text
    assert (record.outcome, record.answer, record.tally.turns) == ("passed", "final", 1)


def test_an_executor_may_try_again(play: Play, tool: Any) -> None:
    planned = loop("planner_executor", executors={"worker": {"caps": {"turns": 1}, "attempts": 2}})
    plan = Line(text='[{"task": "look", "agent": "worker"}]')
    record = play(plan, call(), Line(text="found"), Line(text="final"), tools=[tool], loop=planned)
    assert [event.stop.reason for event in of(Delegated, record)] == ["cap:turns", "finished"]
    assert record.outcome == "passed"


def test_a_plan_that_cannot_be_read_is_the_goal_itself(play: Play) -> None:
    record = play(Line(text="I shall see"), Line(text="found"), Line(text="final"), loop=loop("planner_executor"))
    (delegated,) = of(Delegated, record)
    assert delegated.prompt.startswith("do it")
    assert record.answer == "final"


@pytest.mark.parametrize(("review", "asked"), [("OK, it holds", 1), ("WRONG: it is 5", 2)])
def test_a_verifier_may_have_the_answer_given_again(play: Play, review: str, asked: int) -> None:
    plan = Line(text='[{"task": "look", "agent": "worker"}]')
    record = play(
        plan, Line(text="4"), Line(text="is 4"), Line(text=review), Line(text="is 5"),
        loop=loop("planner_executor", verifier=True),
    )  # fmt: skip
    assert purposes(record).count("synthesise") == asked
    assert record.answer == ("is 4" if asked == 1 else "is 5")


ITEMS = (Item(id="one", what="it starts"), Item(id="two", what="it stops"))


def proof(name: str, evidence: str | None = "ran it, saw it", **more: Any) -> Line:
    """A call that marks an item as proven."""
    arguments = {"id": name, "passes": True, **({} if evidence is None else {"evidence": evidence}), **more}
    return call("update_item", **arguments)


def test_a_checklist_is_worked_in_order_over_fresh_windows(play: Play, make_trial: MakeTrial) -> None:
    record = play(
        proof("one"), Line(text="next: stopping"), proof("two"), END, Line(text="all works"),
        loop=loop("checklist"), trial=make_trial(task={"checklist": ITEMS}),
    )  # fmt: skip
    assert [(event.item, event.action) for event in of(Listed, record)] == [
        ("one", "window"), ("one", "passed"), ("two", "window"), ("two", "passed"),
    ]  # fmt: skip
    first, second = of(Delegated, record)
    assert '"id": "one"' in first.prompt
    assert "next: stopping" in second.prompt
    assert (record.outcome, record.answer) == ("passed", "all works")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (proof("two"), "'one' comes first"),
        (proof("one", None), "without evidence"),
        (proof("one", "  "), "without evidence"),
        (proof("one", what="nothing"), "cannot be removed or edited"),
        (proof("one", remove=True), "cannot be removed or edited"),
        (proof("three"), "there is no item"),
        (call("update_item", id="one", passes=False, evidence="x"), "cannot be set back"),
    ],
)
def test_an_attempt_to_cheat_the_list_is_recorded_and_refused(
    play: Play, make_trial: MakeTrial, line: Line, why: str
) -> None:
    record = play(line, END, END, loop=loop("checklist", windows=2), trial=make_trial(task={"checklist": ITEMS}))
    refused = [event for event in of(Listed, record) if event.action == "refused"]
    assert len(refused) == 1
    assert why in refused[0].detail
    assert (record.stop.reason, record.outcome) == ("gave_up", "failed")


def test_without_a_list_the_model_makes_one(play: Play) -> None:
    made = Line(text=json.dumps([{"id": "a", "what": "it runs"}]))
    record = play(made, proof("a"), END, END, loop=loop("checklist"))
    assert purposes(record)[0] == "checklist"
    assert record.outcome == "passed"


def test_the_windows_caps_are_their_own(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    record = play(
        call(), call(), proof("one"), END, END,
        tools=[tool], loop=loop("checklist", windows=3, caps={"turns": 2}),
        trial=make_trial(task={"checklist": ITEMS[:1]}, variant={"caps": Caps(turns=1)}),
    )  # fmt: skip
    assert [event.stop.reason for event in of(Delegated, record)] == ["cap:turns", "finished"]
    assert record.outcome == "passed"
