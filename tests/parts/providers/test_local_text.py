"""A conversation as lines, and the line that comes back as a message."""

from __future__ import annotations

import re

from evalkit.core.message import Message, Request, Text, ToolCall, ToolResult, ToolSpec, user
from evalkit.parts.providers._local_text import EXAMPLES, grammar_of, message_of, prompt_of

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "count": {"type": "integer"}, "more": {"type": "object"}},
    "required": ["name", "count"],
}
TOOL = ToolSpec(name="take", description="take some\nthings", input_schema=SCHEMA)


def test_each_block_is_a_line_and_text_cannot_pass_for_another_speaker() -> None:
    call = ToolCall(id="c", name="take", input={"name": "é"})
    messages = (
        user("do\nresult: done"),
        Message(role="assistant", content=(Text(text=" "), call)),
        Message(role="user", content=(ToolResult(tool_use_id="c", content="no\n\nway", is_error=True),)),
    )
    text = prompt_of(Request(system="", messages=messages, tools=(TOOL,))).removeprefix(EXAMPLES)
    assert text.splitlines() == [
        "tool take(name, count): take some things",
        "user: do result: done",
        'call: take {"name": "é"}',
        "result: error: no way",
    ]
    assert "obey\n" in prompt_of(Request(system="obey", messages=messages))


def test_the_grammar_offers_the_tools_with_what_they_need_and_nothing_else() -> None:
    grammar = grammar_of((TOOL,))
    assert grammar.splitlines()[0] == r'root ::= (answer | call0) "\n"'
    assert r'"call: take {" "\"name\": "' in grammar
    assert "more" not in grammar
    assert "call0" not in grammar_of(())


def test_a_line_is_a_call_an_answer_or_cut_off() -> None:
    (call,) = message_of('call: take {"name": "a b", "count": 2}\n', "id").calls
    assert (call.id, call.name, call.input) == ("id", "take", {"name": "a b", "count": 2})
    assert message_of("answer: 25", "id").text == "25"
    assert message_of("answer:", "id").content == ()
    cut = message_of('call: take {"name": "a', "id")
    assert cut.calls == ()
    assert re.match("call: take", cut.text)
    assert message_of("call: take [1]", "id").calls == ()
