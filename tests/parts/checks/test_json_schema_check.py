"""The check of JSON answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_makers import evidence, judge

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult
from evalkit.engine.ground import TrialGround
from evalkit.parts import faults

Ask = Callable[..., CheckResult]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"type": "array"}}, "required": ["n"]}


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Ask the check about an answer."""
    with TrialGround(tmp_path) as ground:

        def asked(answer: str, **options: Any) -> CheckResult:
            world = {"kind": "workspace", "files": {"out.json": '{"n": 1}'}}
            return judge("json_schema", evidence(ground, answer, world), **options)

        yield asked


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('{"n": 1}', "pass"),
        (' \n{"n": 1}\n', "pass"),
        ('Here it is:\n```json\n{"n": 1}\n```\nDone.', "pass"),
        ('```\n{"n": "x"}\n```\nrather\n```json\n{"n": 1}\n```', "pass"),
        ('{"n": "1"}', "fail"),
        ("{}", "fail"),
        ("no JSON", "fail"),
        ("", "fail"),
        ('{"n": NaN}', "fail"),
        ('{"n": 1', "fail"),
        ("[" * 100_000, "fail"),
    ],
)
def test_the_answer_has_to_be_json_of_the_shape(ask: Ask, answer: str, verdict: str) -> None:
    result = ask(answer, schema=SCHEMA)
    assert result.verdict == verdict, result.reason
    assert len(result.reason) < 1_000


def test_the_reason_says_where(ask: Ask) -> None:
    assert "$.n" in ask('{"n": "x"}', schema=SCHEMA).reason


def test_values_can_be_asked_for_by_pointer(ask: Ask) -> None:
    answer = json.dumps({"n": 1, "tags": ["a", {"x/y": 2.0, "~": True}], "": None})
    wanted = {
        "/n": 1.0,
        "/tags/0": "a",
        "/tags/1/x~1y": 2,
        "/tags/1/~0": True,
        "/": None,
        "/tags": ["a", {"~": True, "x/y": 2}],
    }
    assert ask(answer, equals=wanted).verdict == "pass"
    for pointer, value in (
        ("/n", True),
        ("/tags/1/~0", 1),
        ("/tags/2", "a"),
        ("/tags/-1", "a"),
        ("/none", None),
        ("/n/x", 1),
        ("/tags/01x", 1),
    ):
        result = ask(answer, schema=SCHEMA, equals={pointer: value})
        assert result.verdict == "fail"
        assert pointer in result.reason


def test_the_schema_may_be_a_file_and_so_may_the_json(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    assert ask("", schema_file="s.json", file="out.json").verdict == "pass"
    assert ask("{}", schema_file="s.json").verdict == "fail"
    (tmp_path / "s.json").write_text('{"type": "nothing"}')
    with pytest.raises(GraderBroke, match=r"s\.json"):
        ask("{}", schema_file="s.json")


def test_nothing_is_fetched_for_a_schema(ask: Ask) -> None:
    with pytest.raises(GraderBroke, match="cannot be used"):
        ask("{}", schema={"$ref": "http://127.0.0.1:9/schema.json"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "wants one schema"),
        ({"schema": {}, "schema_file": "x"}, "wants one schema"),
        ({"schema": {"type": "nothing"}}, "no JSON Schema"),
        ({"equals": {"n": 1}}, "write '/n'"),
    ],
)
def test_mistakes_are_found_before_a_trial(options: dict[str, Any], words: str) -> None:
    assert words in str(faults("checks", "json_schema", options))
