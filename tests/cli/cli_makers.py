"""Small suites and configs on disk, for tests of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUITE = """\
version: 1
suite: small
configs: [config.yaml]
defaults: {trials: 4}
tasks:
  - id: one
    prompt: Say one.
    graders: [{kind: contains, text: one}]
    simulate: {steps: [], answer: one}
  - id: two
    prompt: Say two.
    tags: [slow]
    graders: [{kind: contains, text: two}]
    simulate: {steps: [], answer: two}
"""

CONFIG = """\
version: 1
baseline: good
vary: [/provider]
variants:
  good: {provider: {kind: simulated}}
  bad: {provider: {kind: scripted, script: [{text: three}]}}
"""


def write(folder: Path, suite: str = SUITE, config: str = CONFIG) -> Path:
    """Write both files and give the suite's path."""
    (folder / "suite.yaml").write_text(suite)
    (folder / "config.yaml").write_text(config)
    return folder / "suite.yaml"


def start(*words: str, folder: Path) -> subprocess.Popen[str]:
    """Start the command line as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalkit", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    process = start(*words, folder=folder)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(words, process.returncode, out, err)
