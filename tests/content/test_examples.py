"""The examples run as they stand, as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


def evalkit(*words: str) -> Any:
    """Call the command line; give what it printed as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *words, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_runs_without_a_key_and_nothing_of_ours_breaks(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    evalkit("run", str(EXAMPLES / name / "suite.yaml"), "-n", "2", "-o", str(run))
    shown = evalkit("show", str(run))
    assert shown["completeness"]["errors"] == shown["completeness"]["missing"] == 0
    assert all(one["passed"] > 0 for one in shown["variants"].values())


def test_the_examples_are_those_that_the_page_on_your_agent_tells_of() -> None:
    page = (EXAMPLES.parent / "docs" / "your-agent.md").read_text()
    assert FOLDERS == ["own_loop", "shell_agent"]
    assert all(f"examples/{name}" in page for name in FOLDERS)
