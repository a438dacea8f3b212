"""Variants whose agent is the user's own: files beside the config are part of the identity, and what cannot work is told first."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Variant
from evalkit.load import doubts, load

SUITE = """
version: 1
suite: own
tasks:
  - id: one
    prompt: Do it.
    ENVIRONMENT
    graders: [{kind: contains, text: x}]
"""

CONFIG = """
version: 1
common: {caps: {seconds: 10s}}
variants:
  mine: {loop: LOOP}
"""


def read(tmp_path: Path, loop: str, *, environment: str = "", config: str = CONFIG) -> Variant:
    """Load a suite and a config with one variant of this loop."""
    (tmp_path / "suite.yaml").write_text(SUITE.replace("ENVIRONMENT", environment))
    (tmp_path / "config.yaml").write_text(config.replace("LOOP", loop))
    return load([tmp_path / "suite.yaml"], [tmp_path / "config.yaml"])[1].variants[0]


@pytest.mark.parametrize(
    "loop",
    [
        "{kind: python, agent: 'agent.py:run'}",
        "{kind: python, agent: 'other.module:run', files: [agent.py]}",
        "{kind: command, run: [python, '{here}/agent.py', '{prompt}']}",
        "{kind: command, run: 'python {here}/agent.py | cat'}",
        "{kind: command, run: my-agent, files: [.]}",
    ],
)
def test_an_edited_agent_is_another_variant_and_one_that_moved_is_not(tmp_path: Path, loop: str) -> None:
    digests = []
    for folder, code in (
        ("a", "def run(task, session): pass"),
        ("b", "def run(task, session): pass"),
        ("c", "run = 1"),
    ):
        (tmp_path / folder / "in").mkdir(parents=True)
        (tmp_path / folder / "in" / "agent.py").write_text(code)
        one = read(tmp_path / folder / "in", loop.replace("[.]", "[agent.py]"))
        assert one.base == str(tmp_path / folder / "in")
        assert list(one.files) == ["agent.py"]
        digests.append(one.digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_path_starts_from_the_file_in_which_the_loop_is_written(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "agent.py").write_text("def run(task, session): pass")
    (tmp_path / "shared" / "base.yaml").write_text(CONFIG.replace("LOOP", "{kind: python, agent: 'agent.py:run'}"))
    one = read(tmp_path, "", config="version: 1\nextends: shared/base.yaml\n")
    assert (one.base, list(one.files)) == (str(tmp_path / "shared"), ["agent.py"])


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("{kind: python, agent: 'gone.py:run'}", "no file 'gone.py'"),
        ("{kind: python, agent: 'suite.yaml'}", "names no function"),
        ("{kind: command, run: [python, '{here}/gone.py']}", "paths start from the config's folder"),
        ("{kind: command, run: [agent], events: codex}", "there are: stream-json, text"),
        ("{kind: command, run: []}", "run"),
        ("{kind: react}", "names no provider"),
    ],
)
def test_what_cannot_work_is_told_with_its_place(tmp_path: Path, loop: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=r"config.yaml:\d") as caught:
        read(tmp_path, loop)
    assert told in str(caught.value)


def test_an_agent_of_its_own_needs_a_cap_on_seconds(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="seconds: 10m"):
        read(tmp_path, "{kind: command, run: agent}", config=CONFIG.replace("seconds: 10s", "turns: 3"))


@pytest.mark.parametrize(
    "environment",
    [
        "environment: {kind: database, sql: CREATE TABLE t (x)}",
        "tools: [{kind: sql, name: find, description: d, sql: SELECT 1}]",
    ],
)
def test_a_program_cannot_reach_tools_and_a_function_can(tmp_path: Path, environment: str) -> None:
    (tmp_path / "agent.py").write_text("def run(task, session): pass")
    with pytest.raises(ConfigurationError, match="cannot reach") as caught:
        read(tmp_path, "{kind: command, run: agent}", environment=environment)
    assert "config.yaml:5" in str(caught.value)
    read(tmp_path, "{kind: python, agent: 'agent.py:run'}", environment=environment)


def test_a_cap_that_cannot_be_held_is_a_doubt_and_no_error(tmp_path: Path) -> None:
    caps = CONFIG.replace("seconds: 10s", "seconds: 10s, turns: 3, usd: 1")
    read(tmp_path, "{kind: command, run: agent}", config=caps)
    config = load([tmp_path / "suite.yaml"], [tmp_path / "config.yaml"])[1]
    assert [one.split(" cannot")[0] for one in doubts(config.variants)] == ["mine: caps.turns", "mine: caps.usd"]


TOOLED = """
version: 1
common: {provider: {kind: simulated}}
variants:
  mine: {extra_tools: [{kind: python, function: 'tools.py:add'}]}
"""


def test_an_edited_tool_of_a_variant_is_another_variant(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "base.yaml").write_text(TOOLED)
    digests = []
    for code in ("def add(): return 1", "def add(): return 2"):
        (tmp_path / "shared" / "tools.py").write_text(code)
        one = read(tmp_path, "", config="version: 1\nextends: shared/base.yaml\n")
        assert (one.base, list(one.files)) == (str(tmp_path / "shared"), ["tools.py"])
        digests.append(one.digest)
    assert digests[0] != digests[1]


def test_a_tool_of_a_variant_that_is_not_there_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"config.yaml:5:\d+: there is no file 'tools.py'"):
        read(tmp_path, "", config=TOOLED)


def test_files_of_one_variant_start_from_one_folder(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    for folder in (tmp_path, tmp_path / "shared"):
        (folder / "tools.py").write_text("def add(): return 1\ndef run(task, session): pass")
    (tmp_path / "shared" / "base.yaml").write_text(TOOLED)
    over = "version: 1\nextends: shared/base.yaml\nvariants: {mine: {caps: {seconds: 9s}, loop: {kind: python, agent: 'tools.py:run'}}}\n"
    with pytest.raises(
        ConfigurationError, match="write loop, guardrails and extra_tools that name files in one config"
    ):
        read(tmp_path, "", config=over)
