"""The commands that there are, each with what it does and where it lives.

Invariant: nothing is imported here, so that whoever only asks for names pays for none of the commands.
"""

from __future__ import annotations

COMMANDS = {
    "init": "write a small suite and its config to start from, also for an agent of your own",
    "run": "run suites under loop variants, n trials a task, and show pass^k",
    "show": "show a run, a task, a trial's trace, or the variants of a config",
    "report": "write the HTML report of a run",
    "compare": "compare the variants of a run with its baseline, or two runs",
    "gate": "judge a run by rules such as 'pass^8>=0.7', for CI",
    "plan": "say what a run would cost and what it could show, before it is made",
    "whatif": "what a run would have been under tighter caps",
    "import": "take in results of other harnesses, to show, compare and gate them",
    "export": "write a run as CSV, JSON lines, Parquet or spans, and its figures",
    "doctor": "say what this machine has, or what is the matter with a run's folder",
    "validate": "check suites and configs without running anything",
    "schema": "write the JSON Schema of suites or configs, for editors",
    "serve-sim": "serve the simulated model behind a Messages API on loopback",
}

_RENAMED = {"serve-sim": "serve_sim", "import": "import_"}

MODULES = {name: f"evalkit.cli.{_RENAMED.get(name, name)}" for name in COMMANDS}
"""The module of each command; some names no module can have."""
