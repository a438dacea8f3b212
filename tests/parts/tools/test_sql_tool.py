"""Tools made of SQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ToolFailed
from evalkit.core.plan import Spec
from evalkit.core.protocols import Environment, Tool
from evalkit.engine.arguments import complaint, example
from evalkit.engine.ground import TrialGround
from evalkit.parts import build, faults
from evalkit.parts.environments.bare import Bare

BASE = Path()
SQL = "create table t (id integer primary key, name text, n integer); insert into t values (1, 'a', 5), (2, 'b', 0);"


@pytest.fixture
def world() -> Environment:
    """A small database."""
    made: Environment = build("environments", Spec(kind="database", options={"sql": SQL})).open(TrialGround(BASE))
    return made


@pytest.fixture
def tool() -> Callable[..., Tool]:
    """A maker of tools."""

    def made(**options: Any) -> Tool:
        part: Tool = build("tools", Spec(kind="sql", options={"name": "t", "description": "A test.", **options}))
        return part

    return made


def test_rows_come_back_as_json(tool: Callable[..., Tool], world: Environment) -> None:
    by_id = tool(sql="select name, n from t where id = :id", params={"id": "integer"})
    assert json.loads(by_id.use({"id": 1}, world, BASE)) == [{"name": "a", "n": 5}]
    assert by_id.use({"id": 9}, world, BASE) == "[]"
    assert by_id.use({"id": "1; drop table t"}, world, BASE) == "[]"


def test_the_schema_is_what_the_suite_wrote(tool: Callable[..., Tool]) -> None:
    made = tool(
        sql="select :a, :b, :c",
        params={
            "a": "string",
            "b": {"type": "number", "exclusiveMinimum": 0, "description": "x"},
            "c": {"enum": ["p", "q"], "default": "p"},
        },
    ).spec(BASE)
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "number", "exclusiveMinimum": 0, "description": "x"},
            "c": {"enum": ["p", "q"], "default": "p"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert complaint(made, {"a": "x", "b": 0}) is not None
    assert complaint(made, {**example(made.input_schema), "b": 1}) is None


def test_defaults_are_bound_and_json_is_written_out(tool: Callable[..., Tool], world: Environment) -> None:
    made = tool(sql="select :a as a, :b as b", params={"a": {"type": "string", "default": None}, "b": "array"})
    assert json.loads(made.use({"b": [1, "x"]}, world, BASE)) == [{"a": None, "b": '[1, "x"]'}]


def test_a_write_tells_what_it_changed(tool: Callable[..., Tool], world: Environment) -> None:
    take = tool(sql="update t set n = n - 1 where id = :id", params={"id": "integer"}, writes=True)
    assert take.use({"id": 1}, world, BASE) == "done, 1 row changed"
    assert take.use({"id": 9}, world, BASE) == "done, 0 rows changed"
    back = tool(sql="update t set n = n - 1 where id = :id returning n", params={"id": "integer"}, writes=True)
    assert json.loads(back.use({"id": 1}, world, BASE)) == [{"n": 3}]


def test_a_write_that_changes_nothing_can_mean_something_and_undoes_the_rest(
    tool: Callable[..., Tool], world: Environment
) -> None:
    move = tool(
        sql=["update t set n = n + 1 where id = :to", "update t set n = n - 1 where id = :from and n > 0"],
        params={"to": "integer", "from": "integer"},
        writes=True,
        empty="nothing left to move",
    )
    with pytest.raises(ToolFailed, match=r"^nothing left to move$"):
        move.use({"to": 1, "from": 2}, world, BASE)
    assert move.use({"to": 2, "from": 1}, world, BASE) == "done, 2 rows changed"
    shown = tool(sql="select n from t order by id").use({}, world, BASE)
    assert json.loads(shown) == [{"n": 4}, {"n": 1}]


def test_a_search_that_finds_nothing_can_mean_something(tool: Callable[..., Tool], world: Environment) -> None:
    with pytest.raises(ToolFailed, match=r"^nobody$"):
        tool(sql="select id from t where name = 'z'", empty="nobody").use({}, world, BASE)


def test_too_many_rows_are_said_to_be_more(tool: Callable[..., Tool], world: Environment) -> None:
    many = tool(sql="with recursive c (x) as (select 1 union all select x + 1 from c limit 3000) select x from c")
    text = many.use({}, world, BASE)
    assert text.endswith("[only the first 1000 rows; ask for less]")


def test_it_needs_a_world_with_a_database(tool: Callable[..., Tool]) -> None:
    with pytest.raises(ToolFailed, match="holds no database"):
        tool(sql="select 1").use({}, Bare(), BASE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sql": "select :a"}, "uses :a, which is not among params"),
        ({"sql": "select 1", "params": {"a": "string"}}, "which sql does not use"),
        ({"sql": "delete from t"}, "add writes: true"),
        ({"sql": ["select 1", "  update t set n = 1"]}, "add writes: true"),
        ({"sql": " -- nothing"}, "empty"),
        ({"sql": []}, "empty"),
        ({"sql": "select 1", "critical": True}, "add writes: true"),
        ({"sql": "select :a", "params": {"a": {"description": "x"}}}, "wants a type"),
        ({"sql": "select :a", "params": {"a": {"type": "string", "pattern": "("}}}, "params.a"),
        ({"sql": "select :a", "params": {"a": {"type": "text"}}}, "Input should be 'string'"),
        ({"sql": "select :a", "params": {"a": {"type": "string", "min": 1}}}, "Extra inputs"),
    ],
)
def test_mistakes_are_found_before_a_trial(options: dict[str, Any], words: str) -> None:
    told = [what for _, what in faults("tools", "sql", {"name": "t", "description": "d", **options})]
    assert any(words in one for one in told), told


def test_names_in_quotes_and_comments_are_no_parameters() -> None:
    sql = "select '12:30', \"a:b\", x'00', :real /* :no */ -- :neither"
    assert faults("tools", "sql", {"name": "t", "description": "d", "sql": sql, "params": {"real": "string"}}) == ()
