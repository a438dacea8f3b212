"""Tools made of Python functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ConfigurationError, MalformedArgs
from evalkit.core.plan import Spec
from evalkit.core.protocols import Tool
from evalkit.engine.arguments import complaint
from evalkit.parts import build, faults
from evalkit.parts.environments.bare import Bare

FILE = '''
from __future__ import annotations
import datetime
from typing import Annotated, Literal
from pydantic import BaseModel, Field

class Guest(BaseModel):
    name: str
    age: int = 0

def book(city: Annotated[str, Field(description="where to")], when: datetime.date, guests: list[Guest], kind: Literal["one", "two"] = "one", *, world):
    """Book a room.

    Gives what was booked.
    """
    return {"city": city, "days": when.day, "names": [guest.name for guest in guests], "kind": kind, "world": type(world).__name__}

def anything(x, y=None):
    return x
def many(*names): return names
async def later(): return 1
class Odd: pass
def odd(x: Odd): return x
def gives_odd(): return Odd()
def unknown(x: Nowhere): return x
def breaks(): raise ValueError("no such thing")
def text(): return "as it is"
'''


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A suite's folder with functions in it."""
    (tmp_path / "tools.py").write_text(FILE)
    return tmp_path


def tool(of: str, **options: Any) -> Tool:
    """Make a tool of one of the functions."""
    made: Tool = build("tools", Spec(kind="python", options={"function": f"tools.py:{of}", **options}))
    return made


ARGUMENTS = {"city": "Oslo", "when": "2026-03-04", "guests": [{"name": "Ann"}]}


def test_hints_and_docstring_make_the_tool(base: Path) -> None:
    spec = tool("book").spec(base)
    assert spec.name == "book"
    assert spec.description == "Book a room.\n\nGives what was booked."
    assert list(spec.input_schema["properties"]) == ["city", "when", "guests", "kind"]
    assert spec.input_schema["properties"]["city"] == {"description": "where to", "type": "string"}
    assert spec.input_schema["required"] == ["city", "when", "guests"]
    assert complaint(spec, ARGUMENTS) is None
    assert complaint(spec, {**ARGUMENTS, "kind": "three"}) is not None
    assert complaint(spec, {**ARGUMENTS, "world": 1}) is not None


def test_arguments_come_with_their_types_and_the_world_beside_them(base: Path) -> None:
    told = json.loads(tool("book").use(ARGUMENTS, Bare(), base))
    assert told == {"city": "Oslo", "days": 4, "names": ["Ann"], "kind": "one", "world": "Bare"}


def test_what_the_schema_cannot_say_is_checked_by_the_hints(base: Path) -> None:
    with pytest.raises(MalformedArgs, match="when: "):
        tool("book").use({**ARGUMENTS, "when": "soon"}, Bare(), base)


def test_the_suite_may_name_and_describe_it(base: Path) -> None:
    made = tool(
        "anything",
        name="echo",
        description="Say it again.",
        params={"x": "string", "y": {"type": "integer", "default": 3}},
        writes=True,
        critical=True,
    )
    spec = made.spec(base)
    assert (spec.name, spec.description, spec.writes, spec.critical) == ("echo", "Say it again.", True, True)
    assert spec.input_schema["required"] == ["x"]
    assert made.use({"x": "hi"}, Bare(), base) == "hi"


def test_text_is_shown_as_it_is_and_the_rest_as_json(base: Path) -> None:
    assert tool("text").use({}, Bare(), base) == "as it is"
    assert tool("anything").use({"x": ["é", None, 1.5]}, Bare(), base) == '["é", null, 1.5]'


def test_what_the_function_raises_is_its_own(base: Path) -> None:
    with pytest.raises(ValueError, match="no such thing"):
        tool("breaks").use({}, Bare(), base)
    with pytest.raises(TypeError, match="neither text nor JSON"):
        tool("gives_odd").use({}, Bare(), base)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("many", "cannot be given by name"),
        ("later", "asynchronous"),
        ("odd", "no JSON Schema"),
        ("unknown", "Nowhere"),
        ("none", "defines no"),
    ],
)
def test_a_function_that_can_be_no_tool_is_a_mistake_in_the_suite(base: Path, name: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        tool(name).spec(base)


def test_mistakes_in_the_options_are_found_before_a_trial() -> None:
    wrong: Callable[..., str] = lambda **options: str(faults("tools", "python", options))  # noqa: E731  # short for one test
    assert "names none" in wrong(function="tools.py")
    assert "add writes: true" in wrong(function="a:b", critical=True)
    assert "wants a type" in wrong(function="a:b", params={"x": {}})
