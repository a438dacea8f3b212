"""The check of the final state: rows of a database, files of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_makers import Left, evidence, judge

from evalkit.core.errors import GraderBroke
from evalkit.core.message import ToolCall
from evalkit.core.protocols import CheckResult
from evalkit.engine.ground import TrialGround
from evalkit.parts import faults

SQL = "create table t (a text, n real); insert into t values ('x', 87), ('y', 49.9), ('z', null);"
FILES = {"a.txt": "a\n", "tests/test_a.py": "assert True\n", "tests/sub/b.py": "b\n"}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[TrialGround]:
    """A trial's ground, with a template beside the suite."""
    (tmp_path / "template" / "__pycache__").mkdir(parents=True)
    (tmp_path / "template" / "given.txt").write_text("given")
    with TrialGround(tmp_path) as made:
        yield made


Rows = Callable[..., CheckResult]


@pytest.fixture
def rows(ground: TrialGround) -> Rows:
    """Ask about the rows of a query."""

    def asked(query: str, equals: list[Any], **options: Any) -> CheckResult:
        given = evidence(ground, environment={"kind": "database", "sql": SQL})
        return judge("state", given, query=query, equals=equals, **options)

    return asked


def test_rows_are_compared_in_any_order(rows: Rows) -> None:
    query = "select a, n from t"
    assert rows(query, [["z", None], ["y", 49.9], ["x", 87]]).verdict == "pass"
    assert rows(query, [["z", None], ["y", 49.9], ["x", 87]], ordered=True).verdict == "fail"
    assert rows(f"{query} order by a", [["x", 87], ["y", 49.9], ["z", None]], ordered=True).verdict == "pass"
    for wrong in (
        [["x", 87]],
        [["x", 87], ["y", 49.9], ["z", 0]],
        [["x", 87], ["y", 49.9], ["z", None], ["z", None]],
        [],
    ):
        result = rows(query, wrong)
        assert result.verdict == "fail"
        assert "49.9" in result.reason


def test_numbers_are_compared_as_numbers_and_texts_as_texts(rows: Rows) -> None:
    assert rows("select 87.0, 0.1 + 0.2, 1, '1', 1 = 1", [[87, 0.3, 1.0, "1", True]]).verdict == "pass"
    assert rows("select '87'", [[87]]).verdict == "fail"
    assert rows("select 9007199254740993", [[9007199254740992]]).verdict == "fail"
    assert rows("select 49.91", [[49.9]]).verdict == "fail"
    assert rows("select x'00'", [["x"]]).verdict == "fail"
    assert rows("select a from t where 0", []).verdict == "pass"


def test_a_query_that_cannot_be_made_breaks_the_check(rows: Rows, ground: TrialGround) -> None:
    for query in ("select b from t", "nonsense", "delete from t", "select 1; select 2"):
        with pytest.raises(GraderBroke, match="query cannot be made"):
            rows(query, [])
    with pytest.raises(GraderBroke, match="no database"):
        judge("state", evidence(ground, environment={"kind": "workspace"}), query="select 1", equals=[[1]])


def act(given: Left, command: str) -> None:
    """Let the agent do something, and end."""
    given.world.call(ToolCall(id="1", name="run_command", input={"command": command}))
    given.world.close()


def left(ground: TrialGround, command: str = "true") -> Left:
    """A workspace after a command."""
    given = evidence(ground, environment={"kind": "workspace", "folder": "template", "files": FILES})
    act(given, command)
    return given


def test_files_are_compared_exactly(ground: TrialGround) -> None:
    given = left(ground, "echo new > b.txt; ln -s a.txt link; mkfifo pipe")
    assert (
        judge("state", given, files={"a.txt": "a\n", "b.txt": "new\n"}, absent=["c.txt", "none/c.txt"]).verdict
        == "pass"
    )
    for name, text in (("a.txt", "a"), ("c.txt", ""), ("link", "a\n"), ("pipe", ""), ("tests", "")):
        result = judge("state", given, files={name: text})
        assert result.verdict == "fail"
        assert name in result.reason


def test_what_must_not_be_there_is_not_a_link_to_nowhere_either(ground: TrialGround) -> None:
    given = left(ground, "ln -s nowhere link")
    for name in ("link", "a.txt", "tests", "tests/sub/b.py"):
        assert judge("state", given, absent=[name]).verdict == "fail"


def test_what_had_to_stay_is_compared_with_the_start(ground: TrialGround) -> None:
    stay = {"unchanged": ["tests", "given.txt"]}
    assert (
        judge(
            "state", left(ground, "echo x > a.txt; mkdir tests/__pycache__; touch tests/__pycache__/x"), **stay
        ).verdict
        == "pass"
    )
    for command, named in (
        ("echo x >> tests/test_a.py", "tests/test_a.py"),
        ("touch tests/conftest.py", "tests/conftest.py"),
        ("rm -r tests/sub", "tests/sub/b.py"),
        ("mv tests t; ln -s t tests", "tests"),
        ("rm given.txt; ln -s a.txt given.txt", "given.txt"),
    ):
        result = judge("state", left(ground, command), **stay)
        assert result.verdict == "fail", command
        assert named in result.reason
    assert judge("state", left(ground), unchanged=["."]).verdict == "pass"
    assert judge("state", left(ground, "touch new"), unchanged=["."]).verdict == "fail"
    with pytest.raises(GraderBroke, match="did not start with"):
        judge("state", left(ground), unchanged=["tset"])
    with pytest.raises(GraderBroke, match="needs a workspace"):
        judge("state", evidence(ground, environment={"kind": "bare"}), unchanged=["a"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "could not fail"),
        ({"query": "select 1"}, "go together"),
        ({"equals": []}, "go together"),
        ({"files": {"../x": ""}}, "upwards"),
        ({"absent": ["/x"]}, "not relative"),
    ],
)
def test_mistakes_are_found_before_a_trial(options: dict[str, Any], words: str) -> None:
    assert words in str(faults("checks", "state", options))
