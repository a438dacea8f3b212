"""The simulated model: each rate at one and at none, chance that hangs on seed and call alone, and nothing seen but messages."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalkit.core.errors import ConfigurationError, ProviderError
from evalkit.core.message import JSON, Message, Price, Reply, Request, Text, ToolResult, ToolSpec, user
from evalkit.core.plan import Caps, Spec, Trial
from evalkit.core.protocols import History
from evalkit.core.record import Tally
from evalkit.parts import build, faults
from evalkit.parts.context.window import Window
from evalkit.parts.providers import _simulate
from evalkit.parts.providers._conduct import misshapen
from evalkit.parts.providers._profile import Profile
from evalkit.parts.providers._sight import Solution
from evalkit.parts.providers.simulated import USUAL_PRICE, Simulated, SimulatedProvider
from evalkit.serve.history import flaw

MakeTrial = Callable[..., Trial]
Answer = tuple[str, bool]
"""What a tool gave back, and whether as an error."""

PROMPT = "Refund the order of ada@example.org."
LOOK: dict[str, JSON] = {"tool": "look_up", "args": {"email": "ada@example.org"}, "shows": ["order A200"]}
REFUND: dict[str, JSON] = {
    "tool": "refund",
    "args": {"order": "A200", "amount": 49},
    "needs": ["order A200"],
    "wrong": {"amount": 94},
}
SOLUTION: dict[str, JSON] = {
    "steps": [LOOK, REFUND],
    "answer": "Order A200 is refunded.",
    "wrong_answer": "There is nothing to refund.",
    "answer_needs": ["order A200"],
}
TOOLS = (
    ToolSpec(
        name="look_up",
        description="Find the order of a customer.",
        input_schema={"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]},
    ),
    ToolSpec(
        name="refund",
        description="Pay money back.",
        input_schema={
            "type": "object",
            "properties": {"order": {"type": "string"}, "amount": {"type": "integer"}},
            "required": ["order", "amount"],
        },
    ),
    ToolSpec(name="check", description="Run the tests.", input_schema={"type": "object"}),
)


def world(name: str, arguments: Mapping[str, JSON]) -> Answer:
    """Give what the tools of `TOOLS` give in a world where Ada has one order."""
    if name == "look_up" and arguments == {"email": "ada@example.org"}:
        return "order A200, 49 EUR", False
    return ("done", False) if name == "refund" else ("nothing found", False)


def model(solved: Mapping[str, JSON] = SOLUTION, /, **rates: float) -> SimulatedProvider:
    """Make a model with these rates for a task that is solved like this."""
    solution = Solution.of(_simulate.read(solved, "task"))
    return SimulatedProvider(part=Simulated(profile=Profile(**rates)), solution=solution)


def ask(provider: SimulatedProvider, messages: Sequence[Message], **request: Any) -> Reply:
    """Ask once; whatever comes joined to the conversation must be one that an API accepts."""
    assert flaw(messages) is None
    given = {"system": "", "messages": tuple(messages), "tools": TOOLS, "seed": 7, "call": 1, **request}
    return provider.complete(Request(**given))


def answered(reply: Reply, tools: Callable[[str, Mapping[str, JSON]], Answer] = world) -> list[Message]:
    """Write the model's turn and the results of its calls."""
    if not reply.calls:
        return [reply.message]
    results = [(call.id, *tools(call.name, call.input)) for call in reply.calls]
    blocks = tuple(ToolResult(tool_use_id=name, content=text, is_error=error) for name, text, error in results)
    return [reply.message, Message(role="user", content=blocks)]


def talk(
    provider: SimulatedProvider,
    turns: int = 6,
    tools: Callable[[str, Mapping[str, JSON]], Answer] = world,
    **request: Any,
) -> list[Message]:
    """Play the plain loop for at most so many turns, and give the conversation."""
    messages = [user(PROMPT)]
    for call in range(1, turns + 1):
        reply = ask(provider, messages, **{"call": call, **request})
        messages += answered(reply, tools)
        if not reply.calls:
            break
    return messages


def calls(messages: Sequence[Message]) -> list[tuple[str, Mapping[str, JSON]]]:
    """All calls of a conversation as pairs of tool and arguments."""
    return [(call.name, call.input) for message in messages for call in message.calls]


def share(happens: Callable[[int], bool], draws: int = 400) -> float:
    """How often something happens over many seeds."""
    return sum(happens(seed) for seed in range(draws)) / draws


def test_a_model_without_flaws_plays_the_solution_and_closes_it() -> None:
    messages = talk(model())
    assert calls(messages) == [("look_up", LOOK["args"]), ("refund", REFUND["args"])]
    assert messages[-1].text == "Order A200 is refunded."


def test_a_slip_gives_the_wrong_arguments_and_the_wrong_answer() -> None:
    slipped = calls(talk(model(slip=1.0)))[0]
    assert slipped == ("look_up", {"email": "ada@example.or"})
    done = [user(PROMPT), *answered(ask(model(), [user(PROMPT)]))]
    assert ask(model(slip=1.0), done).calls[0].input == {"order": "A200", "amount": 94}
    closed = [*done, *answered(ask(model(), done, call=2))]
    assert ask(model(slip=1.0), closed).text == "There is nothing to refund."
    assert ask(model(slip=0.0), closed).text == "Order A200 is refunded."


def test_slips_come_at_their_rate() -> None:
    def slips(seed: int) -> bool:
        return bool(ask(model(slip=0.3), [user(PROMPT)], seed=seed).calls[0].input != LOOK["args"])

    assert share(slips) == pytest.approx(0.3, abs=0.07)


def test_slips_grow_with_the_length_of_the_prompt() -> None:
    long = [user(PROMPT + "x" * 40_000)]

    def rate(messages: list[Message], rot: float) -> float:
        provider = model(slip=0.05, rot=rot)
        return share(lambda seed: ask(provider, messages, seed=seed).calls[0].input != LOOK["args"])

    assert rate(long, 0.0) == rate([user(PROMPT)], 0.0)
    assert rate(long, 1.0) == pytest.approx(0.55, abs=0.1)
    assert rate([user(PROMPT)], 1.0) < 0.15


def test_malformed_arguments_do_not_fit_the_tool() -> None:
    call = ask(model(malformed=1.0), [user(PROMPT)]).calls[0]
    assert not Draft202012Validator(TOOLS[0].input_schema).is_valid(call.input)
    call = ask(model(malformed=0.0), [user(PROMPT)]).calls[0]
    assert Draft202012Validator(TOOLS[0].input_schema).is_valid(call.input)


@pytest.mark.parametrize(
    ("schema", "given", "spoilt"),
    [
        ({"required": ["a", "b"]}, {"a": 1, "b": 2}, {"a": 1}),
        ({"properties": {"a": {"type": "string"}}}, {"a": "x"}, {"a": 7}),
        ({"properties": {"a": {"type": "integer"}}}, {}, {"a": "unknown"}),
        ({"type": "object"}, {"a": 1}, {"a": 1}),
    ],
)
def test_arguments_are_spoilt_as_far_as_the_schema_allows(schema: JSON, given: JSON, spoilt: JSON) -> None:
    assert misshapen(given, schema) == spoilt


def test_a_spinning_model_repeats_itself_until_somebody_says_something() -> None:
    messages = talk(model(spin=1.0), turns=5)
    assert calls(messages) == [("look_up", LOOK["args"])] * 5
    assert calls([messages[0], *answered(ask(model(), messages))]) == [("look_up", LOOK["args"])]
    noted = [*messages, user("You have done this five times; go on.")]
    assert ask(model(), noted).calls[0].name == "refund"


def test_a_time_that_a_tool_measured_is_no_news() -> None:
    times = iter(f"order A200, ran 3 tests in 0.00{digit}s" for digit in range(9))
    messages = talk(model(spin=1.0), turns=2, tools=lambda *_: (next(times), False))
    assert ask(model(), messages).calls[0].name == "look_up"


def test_two_equal_calls_with_unlike_results_are_no_spin() -> None:
    results = iter([("nothing yet", False), ("order A200, 49 EUR", False)])
    messages = talk(model(), turns=2, tools=lambda *_: next(results))
    assert calls(messages) == [("look_up", LOOK["args"])] * 2
    assert ask(model(), messages).calls[0].name == "refund"


FOUR: dict[str, JSON] = {
    **SOLUTION,
    "steps": [LOOK, {"tool": "check", "args": {"n": 1}}, {"tool": "check", "args": {"n": 9}}, REFUND],
}


def dropped() -> list[Message]:
    """A conversation out of which a window has dropped the look-up: the last exchange shows only the second check."""
    talked = tuple(talk(model(FOUR), turns=3))
    shown = Window(turns=1).view(History(messages=talked, memos=(), tally=Tally(), prompt_tokens=0, window_tokens=None))
    assert len(shown) == 3
    assert "order A200" not in str(shown)
    return list(shown)


def test_a_fact_that_a_window_dropped_is_guessed_at_or_looked_up_again() -> None:
    assert ask(model(FOUR, forget=1.0), dropped()).calls[0].input == {"order": "A200", "amount": 94}
    again = ask(model(FOUR, forget=0.0), dropped()).calls[0]
    assert (again.name, again.input) == ("look_up", LOOK["args"])
    # Once it has looked again, it goes on where it was.
    assert (
        ask(model(FOUR, forget=1.0), [*dropped(), *answered(ask(model(FOUR), dropped()))]).calls[0].input
        == REFUND["args"]
    )


@pytest.mark.parametrize("place", ["note", "system"])
def test_a_fact_that_a_summary_or_the_prompt_keeps_is_known(place: str) -> None:
    messages = [*dropped(), user("So far: order A200 was found.")] if place == "note" else dropped()
    system = "Mind order A200." if place == "system" else ""
    assert ask(model(FOUR, forget=1.0), messages, system=system).calls[0].input == REFUND["args"]


def test_an_answer_without_its_facts_is_a_guess() -> None:
    lost = {**SOLUTION, "steps": [LOOK, {"tool": "check", "args": {"n": 1}}]}
    shown = [user(PROMPT), *answered(Reply(message=talk(model(lost), turns=2)[3], stop_reason="tool_use"))]
    assert ask(model(lost, forget=1.0), shown).text == "There is nothing to refund."
    assert ask(model(lost, forget=0.0), shown).calls[0].name == "look_up"


def test_a_premature_model_claims_to_be_done_but_not_before_it_has_begun() -> None:
    messages = talk(model(premature=1.0))
    assert calls(messages) == [("look_up", LOOK["args"])]
    assert messages[-1].text == "Order A200 is refunded."


TEACHING = "invalid arguments for refund: 'amount' is a required property"
GENERIC = "tool failed"


def failed(text: str) -> list[Message]:
    """A conversation that ends with a refund that was called without an amount and answered with this error."""
    messages = talk(model(), turns=1)
    return [*messages, *answered(ask(model(malformed=1.0), messages, call=2), lambda *_: (text, True))]


def test_an_error_is_heeded_or_its_call_repeated() -> None:
    assert ask(model(heed=1.0), failed(TEACHING)).calls[0].input == REFUND["args"]
    assert ask(model(heed=0.0), failed(TEACHING)).calls[0].input == {"order": "A200"}


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (TEACHING, 1.0),
        ("there is no order A200", 1.0),
        ("crashed at line 12", 1.0),
        ("FAIL: test_refund", 1.0),
        (GENERIC, 0.15),
        ("something went wrong, please try again", 0.15),
    ],
)
def test_a_generic_error_teaches_far_less(text: str, rate: float) -> None:
    def heeded(seed: int) -> bool:
        return bool(ask(model(heed=1.0), failed(text), seed=seed).calls[0].input == REFUND["args"])

    assert share(heeded) == pytest.approx(rate, abs=0.06)


def test_an_unheeded_error_ends_in_a_spin() -> None:
    messages = failed(GENERIC)
    for call in range(3, 8):
        messages += answered(ask(model(heed=0.0), messages, call=call), lambda *_: (GENERIC, True))
    assert len({str(call) for call in calls(messages)[1:]}) == 1


def test_a_right_call_that_fails_in_passing_is_made_again_and_work_goes_on() -> None:
    results = iter([("busy: ada@example.org", True), ("order A200", False), ("done", False)])
    messages = talk(model(), tools=lambda *_: next(results))
    assert [name for name, _ in calls(messages)] == ["look_up", "look_up", "refund"]


EDIT: dict[str, JSON] = {
    "tool": "refund",
    "args": {"order": "f.py", "amount": 1},
    "wrong": {"amount": 2},
    "mend": {"order": "f.py again"},
}
TESTED: dict[str, JSON] = {
    "steps": [EDIT, {"tool": "check", "args": {"of": "f.py"}, "expect": "OK"}],
    "answer": "The tests pass.",
}


def bench(name: str, arguments: Mapping[str, JSON]) -> Answer:
    """Give what the tools give while the tests fail."""
    return ("FAIL: test_f, line 3", False) if name == "check" else ("written", False)


def test_a_failing_expectation_leads_back_to_the_slip_that_made_it() -> None:
    messages = [user(PROMPT), *answered(ask(model(TESTED, slip=1.0), [user(PROMPT)]), bench)]
    assert calls(messages)[-1][1] == {"order": "f.py", "amount": 2}
    messages += answered(ask(model(TESTED), messages, call=2), bench)
    mended = ask(model(TESTED), messages, call=3)
    assert mended.calls[0].input == {"order": "f.py again", "amount": 1}
    messages += answered(mended, bench)
    assert ask(model(TESTED), messages, call=4).calls[0].name == "check"
    assert ask(model(TESTED, heed=0.0), messages[:-2], call=3).calls[0].name == "check"


def test_a_failing_expectation_whose_cause_is_out_of_view_leads_back_to_the_start() -> None:
    messages = [user(PROMPT), *answered(ask(model(TESTED, slip=1.0), [user(PROMPT)]), bench)]
    messages += answered(ask(model(TESTED), messages, call=2), bench)
    assert ask(model(TESTED), [messages[0], *messages[3:]], call=3).calls[0].input == EDIT["args"]


THREE: dict[str, JSON] = {
    "steps": [
        EDIT,
        {"tool": "look_up", "args": {"email": "x"}},
        {"tool": "check", "args": {"of": "f.py"}, "expect": "OK"},
    ],
    "answer": "The tests pass.",
}


def without_the_edit(answer: Answer) -> list[Message]:
    """A conversation in which the edit is out of view, the look-up is not, and the check has just given this."""
    messages = talk(model(THREE), turns=2, tools=bench)
    checked = answered(ask(model(THREE), messages, call=3), lambda *_: answer)
    return [messages[0], *messages[3:], *checked]


def test_work_out_of_view_is_doubted_when_a_result_fails_but_not_when_a_call_does() -> None:
    assert ask(model(THREE), without_the_edit(("FAIL: test_f", False)), call=4).calls[0].input == EDIT["args"]
    assert ask(model(THREE), without_the_edit(("busy: f.py", True)), call=4).calls[0].name == "check"


def test_a_repair_is_made_once() -> None:
    messages = [user(PROMPT), *answered(ask(model(TESTED, slip=1.0), [user(PROMPT)]), bench)]
    for call in range(2, 5):
        messages += answered(ask(model(TESTED), messages, call=call), bench)
    assert [name for name, _ in calls(messages)] == ["refund", "check", "refund", "check"]
    assert ask(model(TESTED), messages, call=5).calls[0].name == "check"


def test_a_call_that_is_to_blame_itself_is_corrected_before_an_older_slip() -> None:
    messages = [user(PROMPT), *answered(ask(model(TESTED, slip=1.0), [user(PROMPT)]), bench)]
    wrong = ask(model(TESTED, slip=1.0), messages, call=2)
    messages += answered(wrong, lambda *_: ("no such module: f.p", True))
    assert wrong.calls[0].input == {"of": "f.p"}
    assert ask(model(TESTED), messages, call=3).calls[0].input == {"of": "f.py"}


def test_what_failed_before_a_closing_answer_is_over() -> None:
    messages = [*failed(GENERIC), Message(role="assistant", content=(Text(text="Done."),)), user("amount is missing")]
    assert ask(model(heed=0.0), messages, call=4).text == "Done."


def test_one_call_at_two_places_of_a_solution_counts_for_the_one_that_is_due() -> None:
    check = {"tool": "check", "args": {"of": "all"}}
    twice = {"steps": [check, LOOK, check, REFUND], "answer": "Done."}
    assert [name for name, _ in calls(talk(model(twice)))] == ["check", "look_up", "check", "refund"]


def test_what_comes_back_after_a_closing_answer_is_heeded_alike() -> None:
    early = [*talk(model(premature=1.0)), user("order A200 is still open: amount 49 was not paid")]
    assert ask(model(), early, call=9).calls[0].name == "refund"
    assert ask(model(heed=0.0), early, call=9).text == early[-2].text
    done = talk(model())
    wrong = [*done[:-1], *answered(ask(model(slip=1.0), done[:-1])), user("expected the text 'A200'")]
    assert ask(model(), wrong, call=9).text == "Order A200 is refunded."


def test_feedback_leads_back_to_a_slip_in_view() -> None:
    messages = talk(model(), turns=1)
    messages += answered(ask(model(slip=1.0), messages, call=2))
    messages += [Message(role="assistant", content=(Text(text="Done."),)), user("amount is 94, not 49")]
    assert ask(model(), messages, call=4).calls[0].input == REFUND["args"]


def test_steps_that_belong_together_are_one_turn_and_only_what_failed_is_made_again() -> None:
    pair = {"steps": [{"tool": "check", "args": {"n": 77}}, {**LOOK, "together": True}, REFUND], "answer": "Done."}
    messages = [user(PROMPT)]
    reply = ask(model(pair), messages)
    assert [call.name for call in reply.calls] == ["check", "look_up"]
    assert len({call.id for call in reply.calls}) == 2
    messages += answered(reply, lambda name, given: world(name, given) if name == "look_up" else ("77: busy", True))
    again = ask(model(pair), messages, call=2)
    assert [call.name for call in again.calls] == ["check"]
    messages += answered(again)
    assert ask(model(pair), messages, call=3).calls[0].name == "refund"


def test_of_steps_in_one_turn_only_those_are_guesses_whose_facts_are_lost() -> None:
    both = [*FOUR["steps"][:3], {"tool": "check", "args": {"n": 5}}, {**REFUND, "together": True}]
    guessed = ask(model({**FOUR, "steps": both}, forget=1.0), dropped()).calls
    assert [call.input for call in guessed] == [{"n": 5}, {"order": "A200", "amount": 94}]


def test_each_draw_is_a_draw_of_its_own() -> None:
    pair = model({"steps": [LOOK, {"tool": "check", "args": {"n": 1}, "together": True}], "answer": "Done."}, slip=0.5)
    replies = [ask(pair, [user(PROMPT)], call=call) for call in range(1, 60)]
    slips = {(reply.calls[0].input != LOOK["args"], reply.calls[1].input != {"n": 1}) for reply in replies}
    assert len(slips) == 4


def test_a_model_without_the_tool_says_so_and_one_without_any_gives_an_account() -> None:
    assert "look_up" in ask(model(), [user(PROMPT)], tools=TOOLS[1:]).text
    assert ask(model(), [user(PROMPT)], tools=()).text.startswith("0 of 2 steps")
    assert ask(model(), talk(model(), turns=2), tools=()).text == "Order A200 is refunded."
    assert ask(model({"steps": [], "answer": "42"}), [user(PROMPT)], tools=()).text == "42"


@pytest.mark.parametrize(
    ("room", "text", "given"), [(1, "Next", []), (5, "Next I use look_up.", [{}]), (99, None, [LOOK["args"]])]
)
def test_a_reply_that_is_too_long_is_cut_off(room: int, text: str | None, given: list[JSON]) -> None:
    reply = ask(model(), [user(PROMPT)], max_tokens=room)
    assert reply.stop_reason == ("tool_use" if text is None else "max_tokens")
    assert [call.input for call in reply.calls] == given
    assert reply.usage.output <= room
    assert text is None or reply.text == text


def test_usage_is_an_estimate_of_all_that_is_sent_and_priced() -> None:
    short, long = ask(model(), [user(PROMPT)]), ask(model(), [user(PROMPT)], system="x" * 4_000)
    assert long.usage.input - short.usage.input == 1_000
    assert ask(model(), [user(PROMPT)], tools=TOOLS[:1]).usage.input < short.usage.input
    assert short.usd == USUAL_PRICE.of(short.usage)
    own = Simulated(usd_price=Price(input=0.0, output=0.0))
    assert own.price().of(short.usage) == 0.0


FLAWED = {"slip": 0.3, "malformed": 0.2, "spin": 0.2, "forget": 0.5, "rot": 0.5, "premature": 0.1, "heed": 0.6}


def test_a_reply_hangs_on_the_request_alone() -> None:
    asked = []
    for seed in range(40):
        talked = tuple(talk(model(**FLAWED), seed=seed))
        asked += [(talked[:end], seed, end) for end, message in enumerate(talked) if message.role == "assistant"]
    first = [ask(model(**FLAWED), messages, seed=seed, call=call) for messages, seed, call in asked]
    order = list(range(len(asked)))
    random.Random(1).shuffle(order)
    provider = model(**FLAWED)
    for at in order:
        messages, seed, call = asked[at]
        assert ask(provider, messages, seed=seed, call=call) == first[at]
    assert len({str(reply) for reply in first}) > 50


def test_the_model_cannot_know_which_variant_it_plays_under(make_trial: MakeTrial) -> None:
    part = build("providers", Spec(kind="simulated", options={"profile": FLAWED}))
    task = {"prompt": PROMPT, "simulate": SOLUTION}
    variants: list[dict[str, Any]] = [
        {},
        {"name": "tight", "caps": Caps(turns=2, tokens=10), "context": Spec(kind="window", options={"turns": 1})},
        {"name": "other", "loop": Spec(kind="other"), "errors": "generic", "prompt": "be good", "max_tokens": 9},
    ]
    providers = [part.open(make_trial(task=task, variant=variant, index=at)) for at, variant in enumerate(variants, 1)]
    for seed in range(50):
        messages = talk(providers[0], seed=seed)
        assert all(talk(provider, seed=seed) == messages for provider in providers[1:])


def test_hostile_conversations_do_no_harm() -> None:
    strange = ToolResult(tool_use_id="never-seen", content="\udc80" * 10)
    conversations: list[tuple[Message, ...]] = [
        (),
        (Message(role="user", content=()),),
        (Message(role="assistant", content=()), user("x")),
        (user(PROMPT), Message(role="user", content=(strange,))),
        (user(PROMPT), *talk(model(malformed=1.0), turns=1)[1:2]),
        (user(PROMPT), Message(role="assistant", content=()), Message(role="assistant", content=())),
    ]
    for messages in conversations:
        reply = model(**FLAWED).complete(Request(system="\udc80", messages=messages, tools=TOOLS))
        assert reply.message.content


def test_the_part_is_found_by_name_and_bad_options_are_refused() -> None:
    assert build("providers", Spec(kind="simulated")).nature == "simulated"
    assert Simulated().ready() is None
    for options in (
        {"profile": {"slip": 1.5}},
        {"profile": {"heed": -0.1}},
        {"profile": {"rot": float("inf")}},
        {"profile": {"slips": 0.1}},
        {"latency": 0.1},
        {"usd_price": {"input": 1.0}},
    ):
        assert len(faults("providers", "simulated", options)) == 1
    assert not faults("providers", "simulated", {"profile": {"rot": 3, "slip": 1}, "latency": "100ms"})


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ({}, "no `simulate:` block"),
        ({"answer": "x"}, "simulate.steps: Field required"),
        ({"steps": [], "answer": " "}, "answer is empty"),
        ({"steps": [], "answer": "x", "wrong_answer": ""}, "wrong_answer is empty"),
        ({"steps": [], "answer": "x", "answr": "y"}, "simulate.answr"),
        ({"steps": [{"tool": ""}], "answer": "x"}, "tool is empty"),
        ({"steps": [{"tool": "t", "together": True}], "answer": "x"}, "no step before the first"),
        ({"steps": [{"tool": "t"}, {"tool": "t"}], "answer": "x"}, "steps.1: the same call"),
        ({"steps": [{"tool": "t", "args": {"a": 1}, "wrong": {"a": 1}}], "answer": "x"}, "wrong changes nothing"),
        ({"steps": [{"tool": "t", "args": {"a": n}} for n in (1, 2)], "answer": "x"}, "very call of steps.1"),
        ({"steps": [{"tool": "t", "shows": [""]}], "answer": "x"}, "empty text"),
        (
            {"steps": [{"tool": "t", "needs": ["a"], "shows": ["a"]}], "answer": "x"},
            "steps.0.needs: 'a' is shown by no",
        ),
        (
            {"steps": [{"tool": "t", "shows": ["a"]}, {"tool": "u", "needs": ["a"], "together": True}], "answer": "x"},
            "steps.1.needs: 'a' is shown by no",
        ),
        ({"steps": [{"tool": "t", "needs": "a"}], "answer": "x"}, "simulate.steps.0.needs: Input should be"),
        ({"steps": [], "answer": "x", "answer_needs": ["a"]}, "answer_needs: 'a' is shown by no"),
    ],
)
def test_a_solution_that_cannot_be_played_is_refused_with_its_place(block: dict[str, JSON], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _simulate.read(block, "suite/task")
    assert str(caught.value).startswith("suite/task")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("value", "slip"),
    [
        (7, 8),
        (1.5, 2.5),
        (True, False),
        (None, None),
        ("A200", "A201"),
        ("INV-0099 of May", "INV-0100 of May"),
        ("refund the order", "refund the"),
        ("red", "re"),
        ("x", "xx"),
        ("9" * 5_000, "9" * 4_982 + "1" + "0" * 18),
        ([1, 2], [1, 3]),
        ([], []),
        ({"a": "x", "b": 1}, {"a": "x", "b": 2}),
        ({}, {}),
    ],
)
def test_a_mechanical_slip_changes_the_last_thing(value: JSON, slip: JSON) -> None:
    assert _simulate.perturbed(value) == slip


def test_a_mechanical_wrong_answer_is_never_blank() -> None:
    assert ask(model({"steps": [], "answer": "  a\n"}, slip=1.0), [user(PROMPT)]).text == "ax"


def served(make_trial: MakeTrial, **rates: float) -> Callable[[Request, str | None], Reply]:
    """The model behind a server, for one task."""
    return Simulated(profile=Profile(**rates)).answer([make_trial(task={"prompt": PROMPT, "simulate": SOLUTION}).task])


def test_behind_a_server_a_request_that_names_its_trial_gets_what_the_trial_would_get(make_trial: MakeTrial) -> None:
    answer = served(make_trial, **FLAWED)
    for seed in range(30):
        messages = talk(model(**FLAWED), seed=seed)
        for end in (at for at, message in enumerate(messages) if message.role == "assistant"):
            request = Request(system="", messages=tuple(messages[:end]), tools=TOOLS, seed=seed, call=end)
            assert answer(request, f"evalkit-{seed:x}-{end}") == model(**FLAWED).complete(request)


def test_behind_a_server_a_nameless_conversation_carries_its_seed_in_its_ids(make_trial: MakeTrial) -> None:
    answer = served(make_trial, **FLAWED)
    seen = set()
    for _ in range(30):
        messages = [user(f"Please help me.\n\n{PROMPT}\nThank you.")]
        for _ in range(4):
            request = Request(system="", messages=tuple(messages), tools=TOOLS, seed=0, call=0)
            reply = answer(request, "somebody")
            if len(messages) > 1:
                assert answer(request, None) == reply
            messages += answered(reply)
            if not reply.calls:
                break
        named = [call.id.split("_") for message in messages for call in message.calls]
        assert len({seed for _, seed, _, _ in named}) == 1
        assert [int(call) for _, _, call, _ in named] == list(range(1, len(named) + 1))
        seen.add(named[0][1])
    assert len(seen) == 30


def test_turns_without_calls_count_too_where_ids_tell_the_seed(make_trial: MakeTrial) -> None:
    answer = served(make_trial, slip=0.5)
    for seed in range(20):
        late = [*talk(model(), seed=seed), user("order A200: amount 49 is missing")]
        late += [*answered(ask(model(), late, seed=seed, call=4)), user("amount 49 is still missing")]
        nameless = answer(Request(system="", messages=tuple(late), tools=TOOLS, seed=0, call=0), None)
        assert nameless == ask(model(slip=0.5), late, seed=seed, call=5)


def test_behind_a_server_an_unknown_prompt_is_refused_and_the_longest_match_counts(make_trial: MakeTrial) -> None:
    longer = {"prompt": f"{PROMPT} Twice.", "simulate": {"steps": [], "answer": "Twice."}}
    tasks = [make_trial(task=task).task for task in ({"prompt": PROMPT, "simulate": SOLUTION}, longer)]
    answer = Simulated().answer(tasks)
    asked = Request(system="", messages=(user(f"> {PROMPT} Twice. <"),), tools=TOOLS)
    assert answer(asked, None).text == "Twice."
    with pytest.raises(ProviderError, match="prompt of no task") as caught:
        answer(replace(asked, messages=(user("hello"),)), None)
    assert caught.value.status == 400
    with pytest.raises(ConfigurationError, match="solved differently"):
        Simulated().answer([tasks[0], replace(tasks[1], prompt=f" {PROMPT}")])
