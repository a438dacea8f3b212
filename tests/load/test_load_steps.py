"""Steps of a `simulate:` block that call what is not there: told with their place before any run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.load import load

SUITE = """version: 1
suite: s
tasks:
  - id: one
    prompt: Do it.
    environment: {kind: workspace}
    tools:
      - {kind: python, function: 'tools.py:add'}
      - {kind: python, function: 'tools.py:add', name: typed, params: {x: integer, y: {type: integer, default: 1}}}
    simulate:
      steps:
        - {tool: read_file, args: {path: a}}
        - STEP
      answer: done
    graders: [{kind: contains, text: x}]
"""
CONFIG = "version: 1\nvariants: {mine: {provider: {kind: simulated}}}\n"
HELPER = CONFIG.replace("}}}", "}, extra_tools: [{kind: subagent}]}}")
LIVE = CONFIG.replace("kind: simulated", "kind: anthropic, model: claude-x")


def read(tmp_path: Path, step: str, config: str = CONFIG, suite: str = SUITE) -> None:
    """Load a suite with this as its second step."""
    (tmp_path / "tools.py").write_text("raise RuntimeError('nothing of a suite is run')\ndef add(): return 1")
    (tmp_path / "suite.yaml").write_text(suite.replace("STEP", step))
    (tmp_path / "config.yaml").write_text(config)
    load([tmp_path / "suite.yaml"], [tmp_path / "config.yaml"])


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("{tool: raed_file, args: {path: b}}", "13:18: there is no tool 'raed_file' (did you mean 'read_file'?)"),
        ("{tool: explore, args: {question: b}}", "13:18: there is no tool 'explore'"),
        (
            "{tool: read_file, args: {path: b, ofset: 2}}",
            "13:45: read_file has no argument 'ofset' (did you mean 'offset'?)",
        ),
        ("{tool: read_file, args: {offset: 2}}", "13:35: read_file wants the argument 'path'"),
        ("{tool: read_file}", "13:11: read_file wants the argument 'path'"),
        ("{tool: typed, args: {z: 2, x: 1}}", "13:32: typed has no argument 'z'"),
    ],
)
def test_a_step_that_calls_what_is_not_there_is_told_with_its_place(tmp_path: Path, step: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, step)
    (problem,) = caught.value.problems
    assert told in str(problem)


@pytest.mark.parametrize("step", ["{tool: add, args: {any: 1}}", "{tool: typed, args: {x: 1}}"])
def test_what_is_there_or_cannot_be_known_without_running_it_is_fine(tmp_path: Path, step: str) -> None:
    read(tmp_path, step)


def test_steps_of_a_helper_and_the_tools_of_variants_count_too(tmp_path: Path) -> None:
    step = "{tool: explore, args: {question: b}, steps: [{tool: INNER, args: {path: c}}]}"
    read(tmp_path, step.replace("INNER", "read_file"), HELPER)
    with pytest.raises(ConfigurationError, match=r"13:63: there is no tool 'readfile' \(did you mean 'read_file'\?\)"):
        read(tmp_path, step.replace("INNER", "readfile"), HELPER)


def test_tools_that_the_suite_does_not_offer_are_not_there(tmp_path: Path) -> None:
    for narrow in ("commands: false", "tools: [read_file]"):
        suite = SUITE.replace("kind: workspace", f"kind: workspace, {narrow}")
        with pytest.raises(ConfigurationError, match="there is no tool 'run_command'"):
            read(tmp_path, "{tool: run_command, args: {command: ls}}", suite=suite)


def test_without_a_simulated_model_nobody_reads_the_steps(tmp_path: Path) -> None:
    read(tmp_path, "{tool: explore, args: {question: b}}", LIVE)
