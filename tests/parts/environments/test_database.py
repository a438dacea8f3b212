"""A database: fresh for each trial, whole or unchanged after each call, and closed to everything beyond it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ConfigurationError, MalformedArgs, ToolFailed
from evalkit.core.message import ToolCall
from evalkit.core.plan import Spec
from evalkit.engine.ground import TrialGround
from evalkit.parts import build, faults
from evalkit.parts._sql import FILE, SupportsSql
from evalkit.parts.environments._sqlite import MOST_ROWS, MOST_TEXT
from evalkit.parts.environments.database import DatabaseWorld

Open = Callable[..., DatabaseWorld]
SQL = """
create table people (id integer primary key, name text not null unique);
create table pets (name text, owner integer references people (id));
create view owners as select people.name as owner, pets.name as pet from pets join people on people.id = pets.owner;
"""
ENDLESS = "with recursive c (x) as (select 1 union all select x + 1 from c) "
MANY = "with recursive c (x) as (select 1 union all select x + 1 from c limit 5000) "
ROWS = {"pets": [["Rex", 1], {"owner": 2, "name": "Tom"}], "people": [[1, "Ann"], [2, "Bo"]]}


@pytest.fixture
def open_(tmp_path: Path) -> Open:
    """A maker of databases."""

    def opened(**options: Any) -> DatabaseWorld:
        options = options or {"sql": SQL, "rows": ROWS}
        world: DatabaseWorld = build("environments", Spec(kind="database", options=options)).open(TrialGround(tmp_path))
        return world

    return opened


def test_a_schema_and_rows_make_the_tables(open_: Open, tmp_path: Path) -> None:
    (tmp_path / "s.sql").write_text("create table t (a, b); insert into t values (1, 'é');")
    world = open_(schema="s.sql", sql="insert into t values (2, null);", rows={"t": [[3.5, True]]})
    assert world.execute("select * from t").rows == ({"a": 1, "b": "é"}, {"a": 2, "b": None}, {"a": 3.5, "b": 1})
    assert isinstance(world, SupportsSql)
    assert world.tools() == ()
    with pytest.raises(MalformedArgs):
        world.call(ToolCall(id="1", name="x", input={}))


def test_each_trial_has_a_database_of_its_own(tmp_path: Path) -> None:
    part = build("environments", Spec(kind="database", options={"sql": SQL, "rows": ROWS}))
    first, second = part.open(TrialGround(tmp_path)), part.open(TrialGround(tmp_path))
    before = second.state()
    first.execute("delete from pets", write=True)
    assert first.state() != before == second.state() == part.open(TrialGround(tmp_path)).state()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sql": "create tabel t (a)"}, "syntax error"),
        ({"schema": "none.sql"}, "No such file"),
        ({"sql": SQL, "rows": {"none": [[1]]}}, "rows of none, row 1.*no such table"),
        ({"sql": SQL, "rows": {"people": [[1, "Ann"], [2, "Ann"]]}}, "row 2.*UNIQUE"),
        ({"sql": SQL, "rows": {"people": [{"nam": "x"}]}}, "no column named nam"),
        ({"sql": SQL, "rows": {"pets": [["Rex", 9]]}}, "a row of pets points to a row of people"),
        ({"sql": SQL, "rows": {"people": [[2**70, "x"]]}}, "too large"),
    ],
)
def test_what_cannot_be_built_is_a_mistake_in_the_suite(open_: Open, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        open_(**options)


def test_options_without_tables_are_refused() -> None:
    ((_, told),) = faults("environments", "database", {"rows": {}})
    assert "wants its tables" in told


def test_statements_of_a_call_all_happen_or_none(open_: Open) -> None:
    world = open_()
    before = world.state()
    with pytest.raises(ToolFailed, match="UNIQUE"):
        world.execute("delete from pets", "insert into people values (3, 'Ann')", write=True)
    assert world.state() == before
    with pytest.raises(ToolFailed, match="nobody"):
        world.execute("delete from pets", "delete from people where id = 9", write=True, unchanged="nobody")
    assert world.state() == before
    with pytest.raises(ToolFailed, match="FOREIGN KEY"):
        world.execute("delete from people where id = 1", write=True)
    answer = world.execute(
        "delete from pets where owner = :o",
        "delete from people where id = :o returning name",
        "select count(*) as left from pets",
        parameters={"o": 1},
        write=True,
    )
    assert (answer.rows, answer.changed) == (({"left": 1},), 2)


def test_a_returning_statement_that_changes_nothing_counts_as_such(open_: Open) -> None:
    world = open_()
    with pytest.raises(ToolFailed, match="nobody"):
        world.execute("update people set name = 'x' where id = 9 returning id", write=True, unchanged="nobody")
    assert world.execute(
        "update people set name = 'x' where id = 1 returning id", write=True, unchanged="nobody"
    ).rows == ({"id": 1},)


@pytest.mark.parametrize(
    "statement",
    [
        "attach database 'x.db' as x",
        "detach database main",
        "vacuum into 'x.db'",
        "pragma journal_mode = delete",
        "pragma writable_schema = on",
        "pragma query_only = off",
        "pragma max_page_count = 999999999",
        "select load_extension('x')",
        "select * from pragma_table_info('people') where load_extension('x')",
        "begin",
        "commit",
        "rollback",
        "savepoint s",
        "select 1; delete from pets",
        "delete from sqlite_schema",
        "select writefile('x', 'y')",
        "",
        "nonsense",
        "select :missing",
        "select ?",
    ],
)
def test_nothing_beyond_the_database_can_be_reached(open_: Open, tmp_path: Path, statement: str) -> None:
    world = open_()
    before = world.state()
    for write in (False, True):
        if statement:
            with pytest.raises(ToolFailed):
                world.execute(statement, write=write)
    assert world.state() == before
    assert list(tmp_path.iterdir()) == []
    assert world.execute("select count(*) as n from pets").rows == ({"n": 2},)


@pytest.mark.parametrize(
    "statement",
    [
        "delete from pets",
        "update pets set name = 'x'",
        "insert into pets values ('x', 1)",
        "drop table pets",
        "create table x (a)",
        "create temp table x (a)",
        "with x as (select 1) delete from pets",
        "alter table pets rename to x",
    ],
)
def test_reading_changes_nothing_also_after_the_same_statement_was_allowed(open_: Open, statement: str) -> None:
    world = open_()
    with pytest.raises(ToolFailed, match="only read"):
        world.execute(statement)
    world.execute(statement, write=True)
    with pytest.raises(ToolFailed):
        world.execute(statement)


def test_how_tables_are_made_may_be_asked(open_: Open) -> None:
    assert [row["name"] for row in open_().execute("pragma table_info(people)").rows] == ["id", "name"]


def test_a_statement_without_an_end_is_ended_and_undone(open_: Open) -> None:
    world = open_(sql=SQL, timeout="200ms")
    for statement in (ENDLESS + "select count(*) from c", "insert into pets " + ENDLESS + "select x, 1 from c"):
        with pytest.raises(ToolFailed, match=r"longer than 0\.2 seconds"):
            world.execute(statement, write=True)
    assert world.execute("select count(*) as n from pets").rows == ({"n": 0},)


def test_what_is_shown_is_bounded(open_: Open) -> None:
    world = open_()
    answer = world.execute(MANY + "select x from c")
    assert (len(answer.rows), answer.more) == (MOST_ROWS, True)
    wide = world.execute(MANY + "select hex(zeroblob(1000)) as y from c")
    assert wide.more
    assert sum(len(row["y"]) for row in wide.rows) <= MOST_TEXT
    with pytest.raises(ToolFailed, match="too big"):
        world.execute("select zeroblob(900000000)")


def test_every_value_comes_as_json(open_: Open) -> None:
    (row,) = open_().execute("select 1 as a, 2 as a, 'x' as b, x'00ff' as c, 9e999 as d, null as e").rows
    assert row == {"a": 1, "a:1": 2, "b": "x", "c": "x'00ff'", "d": "inf", "e": None}


@pytest.mark.parametrize("value", [2**70, "\ud800", [1], {"a": 1}])
def test_a_value_that_sqlite_cannot_hold_is_refused(open_: Open, value: Any) -> None:
    with pytest.raises(ToolFailed):
        open_().execute("select :v", parameters={"v": value})


def test_calls_of_one_turn_may_come_from_several_threads(open_: Open) -> None:
    world = open_()
    with ThreadPoolExecutor(8) as pool:
        done = list(
            pool.map(
                lambda n: world.execute("insert into people values (:n, :n)", parameters={"n": n}, write=True),
                range(10, 60),
            )
        )
        read = list(pool.map(lambda _: world.execute("select count(*) as n from people").rows, range(50)))
    assert sum(answer.changed for answer in done) == 50
    assert set(map(str, read)) == {"({'n': 52},)"}


def test_the_state_tells_contents_not_bytes(open_: Open) -> None:
    world = open_()
    before = world.state()
    world.execute("update people set name = 'Cy' where id = 1", write=True)
    changed = world.state()
    assert changed["tables"]["people"] != before["tables"]["people"]
    assert changed["tables"]["pets"] == before["tables"]["pets"]
    world.execute("update people set name = 'Ann' where id = 1", write=True)
    assert world.state() == before
    world.execute("create table more (a)", write=True)
    assert world.state() != before


def test_what_is_left_can_be_looked_at_after_the_end(open_: Open, tmp_path: Path) -> None:
    world = open_()
    world.execute("delete from pets where owner = 1", write=True)
    state = world.state()
    world.close()
    world.close()
    assert world.state() == state
    with pytest.raises(ToolFailed, match="closed"):
        world.execute("select 1")
    world.export(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert connection.execute("select * from owners").fetchall() == [("Bo", "Tom")]
