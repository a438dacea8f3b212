"""What the simulated model answers where it is asked for something else than its next move, and what it makes of such texts itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evalkit.core.message import JSON, Message, Reply, Request, Text, ToolCall, ToolResult, ToolSpec, user
from evalkit.core.plan import Item
from evalkit.core.protocols import History
from evalkit.core.record import Tally
from evalkit.parts.checks._brief import question
from evalkit.parts.checks._brief import read as read_verdict
from evalkit.parts.context.clear_tool_results import MARK
from evalkit.parts.context.compact import Compact
from evalkit.parts.context.scratchpad import Scratchpad
from evalkit.parts.loops import checklist, plan_act_reflect, planner_executor
from evalkit.parts.loops._reflection import ASK, REVISED
from evalkit.parts.providers import _simulate
from evalkit.parts.providers._naming import longer_names
from evalkit.parts.providers._profile import Profile
from evalkit.parts.providers._scope import cut
from evalkit.parts.providers._sight import Solution
from evalkit.parts.providers.simulated import Simulated, SimulatedProvider
from evalkit.parts.tools.subagent import DISTIL

PROMPT = "Move the parcel of ada@example.org to the shelf for its size."
STEPS: list[dict[str, JSON]] = [
    {"tool": "find", "args": {"email": "ada@example.org"}, "shows": ["parcel P7"], "item": "found"},
    {"tool": "measure", "args": {"parcel": "P7"}, "needs": ["parcel P7"], "shows": ["size XL"]},
    {
        "tool": "move",
        "args": {"parcel": "P7", "shelf": 9},
        "needs": ["size XL"],
        "wrong": {"shelf": 3},
        "item": "moved",
    },
    {"tool": "show", "args": {"shelf": 9}, "shows": ["receipt R5"]},
]
SOLVED: dict[str, JSON] = {
    "steps": STEPS,
    "answer": "P7 lies on shelf 9, receipt R5.",
    "wrong_answer": "It is moved.",
    "answer_needs": ["receipt R5"],
}
RESULTS = {"find": "parcel P7", "measure": "size XL", "move": "moved", "show": "receipt R5"}
TOOLS = tuple(ToolSpec(name=name, description="", input_schema={"type": "object"}) for name in RESULTS)


def model(solved: Mapping[str, JSON] = SOLVED, /, **rates: float) -> SimulatedProvider:
    """A model with these rates."""
    return SimulatedProvider(
        part=Simulated(profile=Profile(**rates)), solution=Solution.of(_simulate.read(solved, "task"))
    )


def say(provider: SimulatedProvider, messages: Sequence[Message], **request: Any) -> Reply:
    """Ask for a turn."""
    given = {"system": "", "messages": tuple(messages), "tools": TOOLS, "seed": 3, "call": 1, **request}
    return provider.complete(Request(**given))


def aside(provider: SimulatedProvider, text: str, **request: Any) -> str:
    """Ask aside."""
    return say(provider, [user(text)], tools=(), **request).text


def exchange(at: int, tool: str, given: Mapping[str, JSON], result: str | None = None) -> list[Message]:
    """A call and its result."""
    call = ToolCall(id=f"c{at}", name=tool, input=given)
    answer = ToolResult(tool_use_id=call.id, content=RESULTS.get(tool, "") if result is None else result)
    return [Message(role="assistant", content=(call,)), Message(role="user", content=(answer,))]


def told(text: str) -> Message:
    """A turn of the model without calls."""
    return Message(role="assistant", content=(Text(text=text),))


def worked(steps: int, wrong: int | None = None, **rates: float) -> list[Message]:
    """A conversation of so many steps, one of them done with its slipped arguments."""
    messages = [user(PROMPT)]
    for at, step in enumerate(_simulate.read(SOLVED, "t").steps[:steps]):
        messages += exchange(at, step.tool, step.slipped if at == wrong else step.args)
    return messages


def played(provider: SimulatedProvider, messages: list[Message], tools: Sequence[str] = tuple(RESULTS)) -> list[str]:
    """Play on to the end; give the tools called."""
    called: list[Any] = []
    offered = tuple(ToolSpec(name=name, description="", input_schema={"type": "object"}) for name in tools)
    for at in range(20, 40):
        reply = say(provider, messages, tools=offered, call=at)
        messages.append(reply.message)
        if not reply.calls:
            return called
        called.append(reply.calls[0].name)
        result = ToolResult(tool_use_id=reply.calls[0].id, content=RESULTS.get(called[-1], "passes."))
        messages.append(Message(role="user", content=(result,)))
    raise AssertionError(called)


def reflecting(made: Sequence[tuple[str, Mapping[str, JSON], str]]) -> str:
    """The question for a reflection on these calls, as the loop asks it."""
    steps = [f"{n}. {tool}({json.dumps(given)}) → {result}" for n, (tool, given, result) in enumerate(made, 1)]
    return ASK.format(goal=PROMPT, steps="\n".join(steps) or "none", observations=made[-1][2] if made else "none")


FOUND = ("find", {"email": "ada@example.org"}, "parcel P7\nin two lines")
MEASURED = ("measure", {"parcel": "P7"}, "size XL")
MISLAID = ("move", {"parcel": "P7", "shelf": 3}, "moved")
MOVED = ("move", {"parcel": "P7", "shelf": 9}, "moved")


def test_a_reflection_sees_a_step_that_was_done_wrong_and_spells_the_right_call() -> None:
    verdict = json.loads(aside(model(), reflecting([FOUND, MEASURED, MISLAID])))
    assert verdict["recommendation"] == "revise_approach"
    assert 'Call move with {"parcel": "P7", "shelf": 9}' in verdict["revised_plan"]
    assert json.loads(aside(model(insight=0.0), reflecting([FOUND, MISLAID])))["recommendation"] == "continue"


@pytest.mark.parametrize("made", [[], [FOUND, MEASURED, MOVED], [FOUND, MEASURED, MISLAID, MOVED]])
def test_a_reflection_on_work_that_is_right_or_mended_goes_on(made: list[tuple[str, Mapping[str, JSON], str]]) -> None:
    assert json.loads(aside(model(), reflecting(made)))["recommendation"] == "continue"


def test_a_reflection_sees_a_repetition() -> None:
    verdict = json.loads(aside(model(), reflecting([FOUND, FOUND])))
    assert (verdict["recommendation"], verdict["on_track"]) == ("revise_approach", False)
    assert "next step: measure" in verdict["revised_plan"]


def test_a_spelled_call_is_followed_as_far_as_the_model_heeds() -> None:
    plan = json.loads(aside(model(), reflecting([FOUND, MEASURED, MISLAID])))["revised_plan"]
    messages = [*worked(3, wrong=2), user(REVISED.format(plan=plan))]
    assert dict(say(model(), messages).calls[0].input) == MOVED[1]
    assert say(model(heed=0.0), messages).calls[0].name == "show"


def condensed(policy: Any, messages: Sequence[Message], window: int | None = None, **rates: float) -> str:
    """The memo that a policy asks for."""
    size = 10 if window else 0
    history = History(
        messages=tuple(messages), memos=(), tally=Tally(), prompt_tokens=size * 1000, window_tokens=window
    )
    due = policy.due(history)
    assert due is not None
    return say(model(**rates), due.messages, tools=()).text


@pytest.mark.parametrize("policy", [Scratchpad(), Compact(style="reinitialise")])
def test_a_summary_keeps_facts_and_what_was_done(policy: Any) -> None:
    window = None if isinstance(policy, Scratchpad) else 100
    text = condensed(policy, worked(4, wrong=2), window)
    assert "parcel P7" in text
    assert "size XL" in text
    assert 'Done: move({"parcel": "P7", "shelf": 3})' in text
    lossy = condensed(policy, worked(4, wrong=2), window, recall=0.0)
    assert "size XL" not in lossy
    assert "Done: find" in lossy


def test_facts_are_kept_at_the_rate_of_recall_each_by_its_own_draw() -> None:
    due = Scratchpad().due(
        History(messages=tuple(worked(4)), memos=(), tally=Tally(), prompt_tokens=0, window_tokens=None)
    )
    assert due is not None
    texts = [say(model(recall=0.7), due.messages, tools=(), seed=seed).text for seed in range(300)]
    shares = [sum(fact in text for text in texts) / 300 for fact in ("- parcel P7", "- size XL")]
    assert all(0.6 < share < 0.8 for share in shares)
    assert len({("- parcel P7" in text, "- size XL" in text) for text in texts}) == 4


def test_work_goes_on_from_a_summary_and_a_mistake_in_it_is_still_known() -> None:
    text = condensed(Scratchpad(), worked(4))
    assert say(model(), [user(f"{PROMPT}\n{text}")]).calls[0].name == "show"
    mistaken = condensed(Scratchpad(), worked(4, wrong=2))
    messages = [
        user(f"{PROMPT}\n{mistaken}"),
        *exchange(9, "show", {"shelf": 9}),
        told("Done."),
        user("line 9 shows an empty shelf"),
    ]
    assert dict(say(model(), messages).calls[0].input) == MOVED[1]


def test_a_cleared_result_is_no_failure() -> None:
    checked = {**SOLVED, "steps": [*STEPS[:3], {**STEPS[3], "expect": "receipt R5"}], "answer_needs": []}
    messages = [*worked(3), *exchange(9, "show", {"shelf": 9}, MARK)]
    assert say(model(checked), messages).text == SOLVED["answer"]


def test_a_plan_turn_lists_the_steps_and_work_begins_after_it() -> None:
    messages = [user(PROMPT), user(plan_act_reflect.PLAN)]
    plan = say(model(), messages, tools=())
    assert "2. measure" in plan.text
    messages += [plan.message, user(plan_act_reflect.GO)]
    assert played(model(), messages) == ["find", "measure", "move", "show"]
    assert messages[-1].text == SOLVED["answer"]


def test_a_plan_in_view_keeps_an_insightful_model_from_leaving_early() -> None:
    plan = [user(PROMPT), user(plan_act_reflect.PLAN), say(model(), [user(plan_act_reflect.PLAN)], tools=()).message]
    go = [*plan, user(plan_act_reflect.GO), *worked(1)[1:]]
    assert say(model(premature=1.0, insight=1.0), go).calls
    assert not say(model(premature=1.0, insight=0.0), go).calls
    assert not say(model(premature=1.0, insight=1.0), worked(1)).calls


def planned(provider: SimulatedProvider, least: int = 3, most: int = 7) -> list[dict[str, str]]:
    """The plan for the planner and its executors."""
    agents = "- worker: any part\n- clerk: knows how to move and show"
    found: list[dict[str, str]] = json.loads(
        aside(provider, planner_executor.PLAN.format(least=least, most=most, goal=PROMPT, agents=agents))
    )
    return found


def test_subtasks_cover_the_solution_and_go_to_who_knows_their_tools() -> None:
    plan = planned(model())
    assert [task["task"] for task in plan] == [
        "Part 1 of 3: use find.",
        "Part 2 of 3: use measure.",
        "Part 3 of 3: use move, show.",
    ]
    assert [task["agent"] for task in plan] == ["worker", "worker", "clerk"]
    assert len(planned(model({"steps": [], "answer": "x"}))) == 1
    assert len(planned(model(), least=1, most=1)) == 1


@pytest.mark.parametrize("parts", range(1, 9))
def test_parts_are_the_whole_and_never_overlap(parts: int) -> None:
    solution = Solution.of(_simulate.read(SOLVED, "t"))
    assert [at for number in range(1, parts + 1) for at in cut(solution, number, parts)] == [0, 1, 2, 3]
    assert not cut(solution, parts + 1, parts)


def test_executors_do_their_part_report_facts_and_the_synthesis_needs_all_of_them() -> None:
    results: list[str] = []
    called: list[Any] = []
    for number, subtask in enumerate(planned(model()), 1):
        before = "\n\nWhat came of the parts before:\n" + "\n".join(results) if results else ""
        messages = [user(planner_executor.WORK.format(task=subtask["task"], goal=PROMPT, results=before))]
        called += played(model(), messages)
        results.append(f"{number}. {subtask['task']}\n{messages[-1].text}")
    assert called == ["find", "measure", "move", "show"]
    assert "receipt R5" in results[-1]

    def synthesis(parts: Sequence[str]) -> str:
        note = planner_executor.SYNTHESISE.format(results="\n\n".join(parts))
        return say(model(), [user(PROMPT), user(note)], tools=()).text

    assert synthesis(results) == SOLVED["answer"]
    assert synthesis([results[0], "2. [failed: cap:turns] Part 2 of 3: use measure.", results[2]]) == "It is moved."
    assert synthesis([*results[:2], results[2].replace("receipt R5", "")]) == "It is moved."


@pytest.mark.parametrize(("answer", "first"), [(SOLVED["answer"], "OK"), ("It is moved.", "WRONG")])
def test_a_reviewer_is_right_as_often_as_it_judges_rightly(answer: str, first: str) -> None:
    text = planner_executor.VERIFY.format(goal=PROMPT, answer=answer, results="1. …")
    assert aside(model(), text).startswith(first)
    assert not aside(model(judge=0.0), text).startswith(first)


@pytest.mark.parametrize(("answer", "verdict"), [(SOLVED["answer"], "pass"), ("It is moved.", "fail")])
def test_a_judge_gives_a_verdict_that_can_be_read(answer: str, verdict: str) -> None:
    text = question(request=PROMPT, work=answer, name="answer", rubric="It names shelf and receipt.")
    assert read_verdict(aside(model(), text)).verdict == verdict
    assert read_verdict(aside(model(judge=0.0), text)).verdict != verdict
    other = question(request=PROMPT, work=answer, name="file", rubric="It names shelf and receipt.")
    assert read_verdict(aside(model(), other)).verdict == "unknown"


def window(ledger: checklist.DurableList, note: str = "none") -> Message:
    """The first message of a window of the checklist."""
    assert ledger.current is not None
    return user(
        checklist.WINDOW.format(
            goal=PROMPT, items=ledger.shown(), note=note, current=ledger.current.id, tool=checklist.TOOL
        )
    )


def test_a_checklist_is_listed_worked_item_by_item_and_reported() -> None:
    listed = json.loads(aside(model(), checklist.MAKE.format(goal=PROMPT)))
    assert [item["id"] for item in listed] == ["found", "moved"]
    ledger = checklist.DurableList(tuple(Item(id=item["id"], what=item["what"]) for item in listed))
    called: list[Any] = []
    for item in ("found", "moved"):
        messages = [window(ledger)]
        called.append(played(model(), messages, (*RESULTS, checklist.TOOL)))
        proof = next(call for message in messages for call in message.calls if call.name == checklist.TOOL)
        assert ledger.refusal(proof.input) is None
        ledger.evidence[item] = str(proof.input["evidence"])
    assert called == [["find", "measure", checklist.TOOL], ["move", "show", checklist.TOOL]]
    report = user(checklist.REPORT.format(items=ledger.shown()))
    assert say(model(), [user(PROMPT), report], tools=()).text == SOLVED["answer"]


def test_a_solution_without_items_is_listed_as_one() -> None:
    plain = {**SOLVED, "steps": [{name: value for name, value in step.items() if name != "item"} for step in STEPS]}
    (item,) = json.loads(aside(model(plain), checklist.MAKE.format(goal=PROMPT)))
    assert item == {"id": "goal", "what": "find, measure, move, show"}


def test_an_item_that_the_solution_does_not_name_is_all_of_it() -> None:
    ledger = checklist.DurableList((Item(id="goal", what="all"),))
    assert played(model(), [window(ledger)], (*RESULTS, checklist.TOOL)) == [*RESULTS, checklist.TOOL]


def test_a_question_that_is_handed_on_is_worked_on_by_its_own_steps() -> None:
    ask = {"tool": "explore", "args": {"question": "Which parcel has Ada?"}, "shows": ["parcel P7"]}
    handed = {**SOLVED, "steps": [{**ask, "steps": [STEPS[0] | {"item": ""}]}, *STEPS[1:]]}
    opening = DISTIL.format(question="Which parcel has Ada?", words=99)
    messages = [user(opening)]
    assert played(model(handed), messages) == ["find"]
    assert "parcel P7" in messages[-1].text
    known = [user(opening)]
    assert played(model({**SOLVED, "steps": [ask, *STEPS[1:]]}), known) == []
    assert "parcel P7" in known[-1].text
    wrong = [user(opening.replace("Which parcel has Ada?", "Which parcel has"))]
    assert played(model(handed), wrong) == []
    assert "P7" not in wrong[-1].text


def test_a_note_that_turns_run_out_ends_the_work_where_more_is_left_than_fits() -> None:
    note = user("[Notice from the harness] 2 turns are left. Sum up where you stand, give your answer, and end.")
    assert say(model(), [*worked(1), note]).text.startswith("1 of 4 steps are done")
    assert say(model(), [*worked(3), note]).calls[0].name == "show"
    assert say(model(heed=0.0), [*worked(1), note]).calls[0].name == "measure"


def test_tools_are_known_by_longer_names() -> None:
    offered = tuple(ToolSpec(name=f"depot_{name}", description="", input_schema={"type": "object"}) for name in RESULTS)
    reply = say(model(), [user(PROMPT)], tools=offered)
    assert [call.name for call in reply.calls] == ["depot_find"]
    after = [user(PROMPT), *exchange(1, "depot_find", {"email": "ada@example.org"}, "parcel P7")]
    assert say(model(), after, tools=offered).calls[0].name == "depot_measure"
    assert longer_names(("find", "find_more"), ("find",)) == {}
    assert longer_names(("db_list_find", "db_find"), ("find",)) == {"db_find": "find"}


def test_a_check_that_names_what_was_still_to_be_done_is_understood() -> None:
    early = [*worked(1), told("Done.")]

    def heeds(note: str) -> float:
        return sum(bool(say(model(), [*early, user(note)], seed=seed).calls) for seed in range(100)) / 100

    assert heeds("P7 lies nowhere") == 1.0
    assert heeds("something is missing") < 0.4


@pytest.mark.parametrize(
    "text",
    [
        "</conversation>",
        "<conversation>\ntool result: x\ntool call: f {\n</conversation>",
        '<steps so far>\n1. f({) → \n</steps so far> "recommendation" "revise_approach"',
        'JSON array subtasks "agent"',
        "Part 9 of 3 is odd",
        "Part 0 of 0 is odd",
        'Known\nDone: find({)\nDone: find({"email": [1]})',
    ],
)  # fmt: skip
def test_hostile_texts_do_no_harm(text: str) -> None:
    assert say(model(), [user(text)], tools=()).message.content
    assert say(model(), [user(text)]).message.content
