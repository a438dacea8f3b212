"""The composite action: its shape, its safety, and the words that its steps make of their inputs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash is installed")

EVALKIT = """\
#!/usr/bin/env bash
printf '«%s»\\n' "$@"
exit "${CODE:-0}"
"""


def script(name: str) -> dict[str, Any]:
    """A step by its name."""
    return next(step for step in STEPS if step.get("name") == name)


def bash(name: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a step as GitHub does, with an `evalkit` that shows its words."""
    tool = tmp_path / "evalkit"
    tool.write_text(EVALKIT, encoding="utf-8")
    tool.chmod(0o755)
    step = script(name)
    given = dict.fromkeys(step["env"], "") | {"OUT": "the run", "GATE": "true"} | environment
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **given},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )


def words(output: str) -> list[str]:
    """The words that evalkit was called with."""
    return re.findall("«(.*)»", output)


def test_it_is_a_composite_action_whose_inputs_and_outputs_are_described() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for part in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert part["description"].strip()
    assert ACTION["inputs"]["suites"]["required"] is True
    for name, value in ACTION["inputs"].items():
        assert name == "suites" or isinstance(value["default"], str)
    ids = {step["id"] for step in STEPS if "id" in step}
    for output in ACTION["outputs"].values():
        assert set(re.findall(r"steps\.(\w+)\.", output["value"])) <= ids


def test_no_input_is_pasted_into_a_script_and_every_input_is_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        assert ("shell" in step) == ("run" in step)
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text, name


def test_the_scripts_are_sound_bash() -> None:
    for step in STEPS:
        if "run" in step:
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_the_run_gets_its_words_one_a_line_whatever_they_hold(tmp_path: Path) -> None:
    done = bash(
        "Run",
        tmp_path,
        SUITES="a b.yaml\n\n$(touch pwned).yaml\n",
        CONFIG="c.yaml\nd.yaml",
        TRIALS="8",
        MAX_USD="2.5",
        ARGS="--tag\nsmoke; touch pwned",
    )
    assert done.returncode == 0, done.stderr
    assert words(done.stdout) == [
        *("run", "a b.yaml", "$(touch pwned).yaml", "--config", "c.yaml", "--config", "d.yaml", "--trials", "8"),
        *("--max-usd", "2.5", "--tag", "smoke; touch pwned", "--out", "the run", "--progress", "plain"),
    ]
    assert not (tmp_path / "pwned").exists()


def test_nothing_that_a_run_prints_is_a_command(tmp_path: Path) -> None:
    lines = bash("Run", tmp_path, SUITES="a.yaml").stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", token)
    assert lines[-1] == f"::{token}::"
    assert lines[1] == "«run»"


@pytest.mark.parametrize(
    ("gate", "code", "expected"),
    [("true", "0", 0), ("true", "4", 0), ("true", "2", 2), ("true", "130", 130), ("false", "4", 4), ("false", "0", 0)],
)
def test_an_incomplete_run_is_left_to_the_gate_and_a_wrong_one_is_not(
    tmp_path: Path, gate: str, code: str, expected: int
) -> None:
    assert bash("Run", tmp_path, SUITES="a.yaml", GATE=gate, CODE=code).returncode == expected


def test_without_a_gate_the_run_itself_tells_its_results(tmp_path: Path) -> None:
    found = words(bash("Run", tmp_path, SUITES="a.yaml", GATE="false").stdout)
    assert found[-3:] == ["--junit", "the run/junit.xml", "--github"]


@pytest.mark.parametrize("code", [0, 1, 3, 4])
def test_the_gate_gets_its_rules_and_its_exit_code_is_the_steps(tmp_path: Path, code: int) -> None:
    done = bash(
        "Gate",
        tmp_path,
        MIN="pass^8[react]>=0.7\npass@1>=0.9",
        MAX="cap_rate(turns)<=0.1",
        BASELINE="react",
        MAX_DROP="0.05",
        ON_INCONCLUSIVE="warn",
        CODE=str(code),
    )
    assert done.returncode == code
    assert words(done.stdout) == [
        *("gate", "the run", "--junit", "the run/junit.xml", "--github"),
        *("--min", "pass^8[react]>=0.7", "--min", "pass@1>=0.9", "--max", "cap_rate(turns)<=0.1"),
        *("--baseline", "react", "--max-drop", "0.05", "--on-inconclusive", "warn"),
    ]


def test_without_rules_the_config_decides(tmp_path: Path) -> None:
    assert words(bash("Gate", tmp_path).stdout)[-1] == "--github"


def test_the_run_is_kept_whatever_became_of_it() -> None:
    assert script("Keep the run")["if"].startswith("always()")
