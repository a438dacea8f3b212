"""A small run with traces, for tests of what is made of them: its suite, its variants, and how to play it."""

from __future__ import annotations

from pathlib import Path

from cli_makers import run, write

SUITE = """\
version: 1
suite: desk
configs: [config.yaml]
defaults:
  trials: 4
  environment: {kind: database, sql: "create table t (a); insert into t values (10), (20), (30)"}
  tools:
    - kind: sql
      name: look
      description: Look something up.
      params: {a: {type: integer}}
      sql: select a from t where a = :a
tasks:
  - id: short
    prompt: Look once.
    graders: [{kind: contains, text: seen}]
    simulate: {steps: [{tool: look, args: {a: 10}}], answer: seen}
  - id: long
    prompt: Look three times.
    graders: [{kind: contains, text: seen}]
    simulate:
      steps: [{tool: look, args: {a: 10}}, {tool: look, args: {a: 20}}, {tool: look, args: {a: 30}}]
      answer: seen
"""

CONFIG = """\
version: 1
baseline: free
vary: [/caps/turns]
common: {provider: {kind: simulated, profile: {slip: 0, malformed: 0, spin: 0, forget: 0, premature: 0}}}
variants:
  free: {caps: {turns: 9}}
  bound: {caps: {turns: 3}}
"""


def a_run(here: Path, config: str = CONFIG) -> Path:
    """Play it and give its folder: one task takes two turns, the other four, and one variant is capped at three."""
    write(here, SUITE, config)
    done = run("run", "suite.yaml", "-o", "out", "--no-report", "--progress", "none", folder=here)
    assert done.returncode == 0, done.stderr
    return here / "out"
