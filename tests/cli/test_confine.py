"""Which sandbox a run gets: what is refused, what is told, what the run's folder and its report say of it, and that the trials have it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_makers import run, start, write

from evalkit.cli.confine import UNUSED, going_on, settle
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Spec, Suite, Task, Variant
from evalkit.core.sandbox import PLAIN, RECORD
from evalkit.parts._sandbox import probe

held = pytest.mark.skipif(bool(probe()), reason=f"no sandbox: {probe()}")

SUITE = """\
version: 1
suite: commands
configs: [config.yaml]
defaults: {trials: 2}
tasks:
  - id: look
    prompt: Look around.
    environment: {kind: workspace}
    graders: [{kind: command, run: "test ! -e SECRET && test -s seen"}]
"""
CONFIG = """\
version: 1
variants:
  only:
    provider:
      kind: scripted
      script:
        - calls: [[run_command, {command: "cat SECRET; ls /proc | grep -cx PID; echo x > seen"}]]
        - {text: done}
"""


def lay(folder: Path) -> str:
    """Write the suite, and something beside it that no command may see; give its path."""
    secret = folder / "secret"
    secret.write_text("canary-5d6e7f")
    put = {"SECRET": str(secret), "PID": str(os.getpid())}
    texts = [SUITE, CONFIG]
    for word, value in put.items():
        texts = [text.replace(word, value) for text in texts]
    write(folder, *texts)
    return "suite.yaml"


def settings(folder: Path) -> dict[str, Any]:
    """How a run was made, as its folder says."""
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())["settings"]
    return found


@held
@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_the_commands_of_each_trial_are_held_on_every_backend(tmp_path: Path, backend: str) -> None:
    suite = lay(tmp_path)
    done = run(
        "run",
        suite,
        "-o",
        "out",
        "--sandbox",
        "require",
        "--backend",
        backend,
        "-j",
        "2",
        "--no-report",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert settings(tmp_path / "out")[RECORD] == ["bubblewrap"]
    shown = run("show", "out", "look", "1", "--variant", "only", "--full", folder=tmp_path)
    assert "No such file or directory" in " ".join(shown.stdout.split())
    assert "canary" not in shown.stdout
    assert json.loads(run("show", "out", "--json", folder=tmp_path).stdout)["variants"]["only"]["passed"] == 2
    assert "sandbox: bubblewrap" in run("show", "out", folder=tmp_path).stdout


def test_without_a_sandbox_a_scripted_model_runs_plain_and_is_told(tmp_path: Path) -> None:
    suite = lay(tmp_path)
    words = ("run", suite, "-o", "out", "--no-report")
    done = without(tmp_path, *words)
    assert done[0] == 0, done
    assert "no sandbox (bubblewrap is not installed" in done[1]
    assert "environment workspace, check command" in done[1]
    assert settings(tmp_path / "out")[RECORD] == ["none"]
    for level in ("bubblewrap", "require"):
        code, told = without(tmp_path, *words[:2], "-o", level, "--sandbox", level)
        assert (code, "apt install bubblewrap" in told, (tmp_path / level).exists()) == (2, True, False)


def test_the_level_comes_from_the_environment_too(tmp_path: Path) -> None:
    suite = lay(tmp_path)
    assert without(tmp_path, "run", suite, "-o", "out", "--no-report", EVALKIT_SANDBOX="require")[0] == 2
    assert without(tmp_path, "run", suite, "-o", "out", "--no-report", EVALKIT_SANDBOX="none")[0] == 0
    assert without(tmp_path, "run", suite, "-o", "more", EVALKIT_SANDBOX="docker")[0] == 2


@pytest.mark.parametrize(
    "provider",
    [
        "{kind: anthropic, model: claude-haiku-4-5}",
        "{kind: anthropic, model: m, base_url: 'http://127.0.0.1:9', usd_price: {input: 0, output: 0}}",
        "{kind: replay, run: recorded}",
    ],
)
def test_a_model_that_may_run_commands_is_refused_without_a_sandbox(provider: str, tmp_path: Path) -> None:
    suite = lay(tmp_path)
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "replies.jsonl").touch()
    (tmp_path / "config.yaml").write_text(f"version: 1\nvariants:\n  live: {{provider: {provider}}}\n")
    code, told = without(tmp_path, "run", suite, "-o", "out", ANTHROPIC_API_KEY="sk-ant-nothing-1234567890")
    assert code == 2
    assert "--sandbox auto: a real model would run code with all that you may do" in told
    assert "--sandbox none" in told
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists()


def without(folder: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Run the command line where no bubblewrap is found; give the exit code and what was told."""
    before = dict(os.environ)
    os.environ.update({"PATH": str(folder), **environ})
    try:
        process = start(*words, folder=folder)
    finally:
        os.environ.clear()
        os.environ.update(before)
    told = process.communicate(timeout=60)[1]
    return process.returncode, told


def a_suite(**task: Any) -> list[Suite]:
    """A suite of one task."""
    made = Task(
        **{"suite": "s", "id": "t", "prompt": "p", "graders": (Spec(kind="equals", options={"text": "x"}),), **task}
    )
    return [Suite(name="s", tasks=(made,))]


SCRIPTED = [Variant(name="v", provider=Spec(kind="scripted", options={"script": [{"text": "x"}]}))]


def test_a_run_that_starts_no_process_needs_none() -> None:
    for asked in ("auto", "bubblewrap", "none"):
        settled = settle(asked, (), a_suite(), SCRIPTED)
        assert (settled.sandbox, settled.level, settled.told) == (PLAIN, UNUSED, "")
    quiet = a_suite(environment=Spec(kind="workspace", options={"commands": False}))
    assert settle("auto", (), quiet, SCRIPTED).level == UNUSED


def own(kind: str = "command", base: str = ".", **options: Any) -> list[Variant]:
    """A variant whose agent is the user's own."""
    usual: dict[str, dict[str, Any]] = {"command": {"run": ["true"]}, "python": {"agent": "agent.py:run"}}
    return [Variant(name="v", loop=Spec(kind=kind, options=options or usual[kind]), base=base)]


def test_a_function_of_ones_own_runs_in_no_sandbox_and_that_is_said() -> None:
    for asked in ("require", "bubblewrap"):
        with pytest.raises(ConfigurationError, match=f"--sandbox {asked}: loop python runs a function of your own"):
            settle(asked, (), a_suite(), own("python"))
    settled = settle("auto", (), a_suite(), own("python"))
    assert settled.level == "none"
    assert settled.told == "no sandbox for loop python: your own agent runs with all that you may do"
    mixed = settle("auto", (), a_suite(), [*own("python"), replace(own()[0], name="w")])
    assert (mixed.level, mixed.sandbox == PLAIN) == (
        ("bubblewrap, your own agent outside", False) if not probe() else ("none", True)
    )


@held
def test_a_program_of_ones_own_is_held_and_what_it_sees_is_told(tmp_path: Path) -> None:
    program = tmp_path / "tool" / "agent.sh"
    program.parent.mkdir()
    program.write_text("true")
    suite = tmp_path / "suite"
    suite.mkdir()
    for asked in ("auto", "require", "bubblewrap"):
        settled = settle(asked, (), a_suite(), own(base=str(suite), run=["sh", str(program)], network=asked != "auto"))
        assert (settled.sandbox.kind, settled.level) == ("bubblewrap", "bubblewrap")
        assert f"reads {program.parent} and the system's programs" in settled.told
        assert ("reaches no network" in settled.told) == (asked == "auto")
    settled = settle("none", (), a_suite(), own())
    assert settled.told == "no sandbox for loop command: your own agent runs with all that you may do"
    assert (settled.sandbox, settled.level) == (PLAIN, "none")


@held
@pytest.mark.parametrize("readable", [".", "graders", "graders/check.py", "mine.yaml", "..", "out/earlier", "link"])
def test_an_agent_that_would_see_what_decides_is_refused(tmp_path: Path, readable: str) -> None:
    base = tmp_path / "suite"
    for file in ("graders/check.py", "mine.yaml", "out/earlier/run.json", "agent/main.py"):
        (base / file).parent.mkdir(parents=True, exist_ok=True)
        (base / file).touch()
    (base / "link").symlink_to(base / "graders")
    task = replace(a_suite()[0].tasks[0], base=str(base), files={"graders/check.py": "0"})
    suites = [Suite(name="s", tasks=(task,), source=str(base / "mine.yaml"))]
    folder = base / "out" / "earlier"
    settle("auto", (), suites, own(base=str(base), run="true", readable=["agent"]), folder)
    options: dict[str, Any]
    for options in ({"readable": [readable]}, {"files": [readable]}):
        with pytest.raises(ConfigurationError, match="variant v, loop command: the agent would see"):
            settle("auto", (), suites, own("command", str(base), run="true", **options), folder)
    settle("none", (), suites, own(base=str(base), run="true", readable=[readable]), folder)


def test_without_a_sandbox_an_agent_of_ones_own_runs_plain_and_is_told(tmp_path: Path) -> None:
    """Also what its graders run, because a sandbox for what it wrote would keep nothing from it."""
    suite = lay(tmp_path)
    (tmp_path / "config.yaml").write_text(
        "version: 1\nvariants:\n  mine: {caps: {seconds: 30s}, loop: {kind: command, run: /bin/echo x > seen}}\n"
    )
    code, told = without(tmp_path, "run", suite, "-o", "out", "--no-report")
    assert code == 0, told
    assert "no sandbox for loop command (bubblewrap is not installed" in told
    assert settings(tmp_path / "out")[RECORD] == ["none"]
    code, told = without(tmp_path, "run", suite, "-o", "more", "--sandbox", "require")
    assert (code, "there is no sandbox for" in told, (tmp_path / "more").exists()) == (2, True, False)


@held
def test_a_part_that_starts_processes_is_found_wherever_it_stands() -> None:
    command = Spec(kind="command", options={"run": "true"})
    for task in ({"environment": Spec(kind="workspace")}, {"checks": (command,)}, {"graders": (command,)}):
        assert settle("auto", (), a_suite(**task), SCRIPTED).sandbox.kind == "bubblewrap"


@held
def test_folders_to_show_have_to_be_there(tmp_path: Path) -> None:
    shown = a_suite(environment=Spec(kind="workspace"))
    assert settle("auto", (str(tmp_path),), shown, SCRIPTED).sandbox.show == (str(tmp_path),)
    for wrong in ("tools", str(tmp_path / "none")):
        with pytest.raises(ConfigurationError, match="no path from the root"):
            settle("auto", (wrong,), shown, SCRIPTED)
    with pytest.raises(ConfigurationError, match="would show other processes"):
        settle("auto", ("/proc",), shown, SCRIPTED)


def test_a_run_that_goes_on_at_another_level_says_so_and_keeps_both() -> None:
    assert going_on({RECORD: ["none"]}, "none") == (["none"], "")
    levels, told = going_on({RECORD: ["none"]}, "bubblewrap")
    assert levels == ["none", "bubblewrap"]
    assert "not all held alike: none, then bubblewrap" in told
    assert going_on({RECORD: [UNUSED]}, "bubblewrap") == ([UNUSED, "bubblewrap"], "")
    assert going_on({RECORD: "damaged"}, "none") == (["none"], "")
