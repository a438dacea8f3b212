"""A conversation as lines of text for a model that only continues text, and its line back as a message: pure functions.

The weights are a base model: nobody taught it a chat format. So each thing said is one line with a label, examples stand before
the conversation, and a grammar holds the line that comes to what may be said: the answer, or a call of a tool that is offered.

Invariant: what stands in a message stays on its own line, so no text can pass for another speaker's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evalkit.core.message import JSON, Block, Message, Picture, Request, Text, ToolCall, ToolResult, ToolSpec

CALL, ANSWER = "call: ", "answer: "

EXAMPLES = """\
An assistant does tasks with tools. Each of its lines is the call of a tool or the answer.

tool find(name): tell the city of a person
tool write(text): hand in a text
user: Find the city of Bob and write it.
call: find {"name": "Bob"}
result: Bob lives in Oslo
call: write {"text": "Oslo"}
result: done
answer: Oslo

tool find(name): tell the price of an item
tool write(text): hand in a text
user: Find the price of the lamp and write it.
call: find {"name": "lamp"}
result: the lamp costs 25
call: write {"text": "25"}
result: done
answer: 25

user: What is 2 + 3? Answer with the number.
answer: 5

user: Copy this word: window
answer: window

"""

_TEXT = r'"\"" [^"\\\n]{1,80} "\""'
_NUMBER = '"-"? [0-9]{1,9} ("." [0-9]{1,6})?'
_VALUES = {"string": _TEXT, "number": _NUMBER, "integer": '"-"? [0-9]{1,9}', "boolean": '"true" | "false"'}


def prompt_of(request: Request) -> str:
    """Write a request as text that ends where the model is to go on."""
    lines = [EXAMPLES + one_line(request.system) if request.system.strip() else EXAMPLES.rstrip("\n"), ""]
    lines += [f"tool {tool.name}({', '.join(_fields(tool))}): {one_line(tool.description)}" for tool in request.tools]
    lines += [line for message in request.messages for line in _lines(message)]
    return "\n".join(lines) + "\n"


def grammar_of(tools: Sequence[ToolSpec]) -> str:
    """Write what the next line may be as a grammar in the server's notation (GBNF)."""
    rules = [f'root ::= ({" | ".join(["answer", *(f"call{at}" for at in range(len(tools)))])}) "\\n"']
    rules.append(f"answer ::= {json.dumps(ANSWER)} [^\\n]{{1,400}}")
    for at, tool in enumerate(tools):
        pieces = [json.dumps(f"{CALL}{tool.name} {{")]
        for place, (name, schema) in enumerate(_fields(tool).items()):
            lead = (", " if place else "") + f"{json.dumps(name)}: "
            pieces += [json.dumps(lead), f"({_VALUES.get(_type(schema), _TEXT)})"]
        rules.append(f"call{at} ::= {' '.join(pieces)} " + json.dumps("}"))
    return "\n".join(rules)


def message_of(line: str, identity: str) -> Message:
    """Read the model's line; one that is cut off before its end is text."""
    line = line.strip()
    name, _, arguments = line.removeprefix(CALL).partition(" ")
    if line.startswith(CALL):
        try:
            given = json.loads(arguments)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return Message(role="assistant", content=(ToolCall(id=identity, name=name, input=given),))
    text = line.removeprefix(ANSWER.strip()).strip()
    return Message(role="assistant", content=(Text(text=text),) if text else ())


def one_line(text: str) -> str:
    """A text with its line breaks and runs of blanks as single blanks."""
    return " ".join(text.split())


def _lines(message: Message) -> list[str]:
    """Write a message, a line a block."""
    return [line for block in message.content if (line := _line(block, message.role))]


def _line(block: Block, role: str) -> str:
    """Write a block."""
    if isinstance(block, Text):
        return f"{ANSWER if role == 'assistant' else 'user: '}{one_line(block.text)}" if block.text.strip() else ""
    if isinstance(block, ToolCall):
        return f"{CALL}{block.name} {json.dumps(dict(block.input), ensure_ascii=False)}"
    if isinstance(block, Picture):
        return "user: [a picture, which this model cannot see]"
    return _result(block)


def _result(result: ToolResult) -> str:
    """Write a tool's result."""
    return f"result: {'error: ' if result.is_error else ''}{one_line(result.content)}"


def _fields(tool: ToolSpec) -> Mapping[str, JSON]:
    """The arguments that a tool must get, with their schemas."""
    known = tool.input_schema.get("properties") or {}
    wanted = tool.input_schema.get("required") or ()
    return {name: known.get(name, {}) for name in wanted}


def _type(schema: JSON) -> str:
    """The type that a schema names, where it names one."""
    found = schema.get("type") if isinstance(schema, dict) else None
    return found if isinstance(found, str) else ""
