"""The user's own agent in a sandbox: what it sees and reaches, as whoever runs the tests and, where that is root, as an ordinary user too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from own_agent_attacks import HELD, KEY, MARK, NAME
from own_agents import play_agent, reported

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Caps, Spec, Variant
from evalkit.core.record import TrialRecord
from evalkit.core.sandbox import PLAIN, Needs, Sandbox
from evalkit.parts import build
from evalkit.parts._sandbox import probe

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
SURROUNDINGS = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE), *(one for one in sys.path if one.endswith("site-packages"))]),
}
FAKE = HERE.parent / "streams" / "fake_claude.py"

held = pytest.mark.skipif(bool(probe()), reason=f"no sandbox: {probe()}")


def starters() -> dict[str, list[str]]:
    """How the hostile trial is started as each user; one that cannot be had here has no words."""
    ordinary: list[str] = []
    if os.geteuid() == 0 and shutil.which("setpriv"):
        for python in (sys.executable, "/usr/bin/python3"):
            seen = [
                *NOBODY,
                python,
                "-c",
                "import own_agent_attacks, evalkit.parts._sandbox as s; assert not s.probe()",
            ]
            if subprocess.run(seen, cwd="/", env=SURROUNDINGS, capture_output=True, check=False).returncode == 0:
                ordinary = [*NOBODY, python]
                break
    return {"the one who tests": [sys.executable], "an ordinary user": ordinary}


@held
@pytest.mark.parametrize("user", ["the one who tests", "an ordinary user"])
def test_an_own_agent_sees_nothing_that_decides_and_reaches_what_it_may(user: str) -> None:
    words = starters()[user]
    if not words:
        pytest.skip("needs root, setpriv and a Python that others may run")
    shown = subprocess.run(
        [*words, str(HERE / "own_agent_attacks.py")],
        cwd="/",
        env=SURROUNDINGS,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(shown.stdout)
    for network in ("True", "False"):
        told = found[network]["told"]
        assert (found[network]["stop"], found[network]["outcome"]) == ("finished", "passed"), told
        assert KEY not in told
        assert NAME not in told
        assert "WROTE /usr" not in told
        assert "WROTE itself" not in told
        assert ("CONNECTED" in told) == (network == "True")
    assert found["planted"] == []
    assert found["endless"]["stop"] == "cap:seconds"
    assert asleep() == 0


def asleep() -> int:
    """How many processes of the machine sleep for so long, once they had a moment to end."""
    found = 1
    for _ in range(200):
        found = sum(MARK.encode() in _words(one) for one in Path("/proc").glob("[0-9]*"))
        if not found:
            break
        time.sleep(0.01)
    return found


def _words(process: Path) -> list[bytes]:
    """The words of a process; none where it is gone."""
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def play(base: Path, run: Any, caps: Caps | None = None, **options: Any) -> TrialRecord:
    """Play a trial in a sandbox."""
    return play_agent("command", {"run": run, **options}, base=base, caps=caps, sandbox=HELD)


def script(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@held
def test_an_agent_works_as_it_does_without(tmp_path: Path) -> None:
    record = play(
        tmp_path, 'cat; echo 42 > answer.txt; echo oops >&2; echo x > "$HOME/x"; echo x > "$TMPDIR/x"; echo " $TMPDIR"'
    )
    assert (record.outcome, record.answer) == ("passed", "Write 42 into answer.txt /tmp"), record.stop
    assert reported(record, "stderr") == ["oops"]
    assert play(tmp_path, ["cat", "{prompt_file}"]).answer == "Write 42 into answer.txt"
    assert play(tmp_path, ["echo", "{prompt}"]).answer == "Write 42 into answer.txt"
    assert play(tmp_path, "exit 3").stop.reason == "agent_error"
    assert play(tmp_path, "kill -9 $$").stop.detail.count("9") == 1
    bare = play_agent("command", {"run": "pwd"}, base=tmp_path, environment="bare", sandbox=HELD)
    assert Path(bare.answer).name == "work"
    assert not Path(bare.answer).exists()


@held
def test_events_and_caps_hold_in_the_sandbox(tmp_path: Path) -> None:
    options = {"run": [sys.executable, str(FAKE), "endless", "{prompt}"], "events": "stream-json"}
    record = play_agent("command", options, base=tmp_path, caps=Caps(seconds=30.0, turns=3), sandbox=HELD)
    assert (record.stop.reason, record.tally.turns) == ("cap:turns", 3)


@held
def test_too_many_processes_are_a_failure_of_the_agent(tmp_path: Path) -> None:
    spread = "import os, time\nfor _ in range(11): os.fork()\ntime.sleep(20)"
    record = play(tmp_path, [sys.executable, "-c", spread])
    assert (record.stop.reason, record.stop.detail) == ("agent_error", "the agent had started too many processes")


@held
def test_a_program_is_found_with_what_lies_beside_it(tmp_path: Path) -> None:
    """Also by a link from elsewhere, and by the interpreter that its first line names; what lies beside the config is not."""
    base = tmp_path / "suite"
    script(base / "own.sh", '. "$(dirname "$0")/secret.sh"; echo mine')
    script(base / "secret.sh", "echo seen")
    tool = script(tmp_path / "tool" / "bin" / "agent", '#!/bin/sh\n. "$(dirname "$(readlink -f "$0")")/../lib/part.sh"')
    script(tmp_path / "tool" / "lib" / "part.sh", "echo part")
    script(tmp_path / "tool" / "data" / "private", "private")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "agent").symlink_to(tool)
    sayer = script(tmp_path / "other" / "bin" / "sayer", "#!/bin/sh\necho said by sayer")
    named = script(tmp_path / "third" / "deep" / "named", f"#!{sayer}\n")
    assert play(base, [str(tool)]).answer == "part"
    assert play(base, [str(tmp_path / "links" / "agent")]).answer == "part"
    assert play(base, [str(named)]).answer == "said by sayer"
    shim = script(tmp_path / "manager" / "shims" / "agent", f"#!/bin/sh\nexec {tmp_path}/manager/versions/1/agent")
    script(tmp_path / "manager" / "versions" / "1" / "agent", "#!/bin/sh\necho version 1")
    assert play(base, [str(shim)]).answer == "version 1"
    assert play(base, f"{tool}; ls {tmp_path}/tool").answer == "part\nbin\nlib"
    for run in (["sh", "{here}/own.sh"], "sh {here}/own.sh", ["sh", str(base / "own.sh")]):
        assert "seen" not in play(base, run).answer
    assert play(base, ["sh", "{here}/own.sh"], files=["secret.sh"]).answer == "seen\nmine"


@held
@pytest.mark.parametrize("place", [".local/bin", "bin"])
def test_a_link_in_a_home_is_followed_and_nothing_else_of_the_home_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    home = tmp_path / "user"
    tool = script(tmp_path / "tool" / "agent", '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/part"; ls -RA "$1"')
    script(tmp_path / "tool" / "part", "part\n")
    script(home / ".local" / "share" / "secret", "secret")
    script(home / place / "other", "other")
    (home / place / "agent").symlink_to(tool)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home / place}:{os.environ['PATH']}")
    base = tmp_path / "suite"
    base.mkdir()
    seen = play(base, ["agent", str(home)]).answer
    assert seen.startswith("part\n")
    assert seen.endswith("agent")
    assert "secret" not in seen
    assert "other" not in seen


@held
def test_a_virtual_environment_is_shown_without_the_project_around_it(tmp_path: Path) -> None:
    base = tmp_path / "suite"
    base.mkdir()
    project = tmp_path / "project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(project / ".venv")], check=True)
    script(project / "secret", "secret")
    agent = script(
        project / ".venv" / "bin" / "agent",
        f"#!{project}/.venv/bin/python\nimport sys, os\nprint(sys.prefix, os.listdir({str(project)!r}))",
    )
    assert play(base, [str(agent)]).answer == f"{project}/.venv ['.venv']"


@pytest.mark.parametrize("sandbox", ["none", pytest.param("bubblewrap", marks=held)])
def test_what_is_readable_under_the_home_is_found_in_the_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Any
) -> None:
    base, home = tmp_path / "suite", tmp_path / "user"
    script(home / ".config" / "agent" / "token", "token")
    script(home / ".config" / "other", "other")
    base.mkdir()
    monkeypatch.setenv("HOME", str(home))
    run = f'cat ~/.config/agent/token; ls ~/.config; [ "$HOME" = {home} ] || echo fresh; echo x 2>/dev/null > ~/.config/agent/token || echo kept'
    options = {"run": run, "readable": ["~/.config/agent", "~/.config/agent/token"]}
    record = play_agent("command", options, base=base, sandbox=HELD if sandbox == "bubblewrap" else type(HELD)())
    assert record.answer.startswith("tokenagent\nfresh")
    assert record.answer.endswith("kept") == (sandbox == "bubblewrap")


def test_a_readable_folder_that_is_not_there_is_told_before_the_run(tmp_path: Path) -> None:
    loop = build("loops", Spec(kind="command", options={"run": "true", "readable": ["~/no-such-folder"]}))
    assert "readable names ~/no-such-folder" in loop.ready(Variant(name="mine", base=str(tmp_path)))
    (tmp_path / "link").symlink_to("/proc/self")
    for place in ("/proc", "/dev/null", "/sys/kernel", "link", "/proc/1/root"):
        loop = build("loops", Spec(kind="command", options={"run": "true", "readable": [place]}))
        assert "other processes" in loop.ready(Variant(name="mine", base=str(tmp_path))), place


def test_programs_are_looked_for_as_whoever_runs_evalkit_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own `python3` comes before the one that runs evalkit, which has other packages."""
    base = tmp_path / "suite"
    base.mkdir()
    script(tmp_path / "mine" / "bin" / "python3", "#!/bin/sh\necho my own")
    monkeypatch.setenv("PATH", f"{tmp_path}/mine/bin:{os.environ['PATH']}")
    for sandbox in (type(HELD)(), HELD) if not probe() else (type(HELD)(),):
        record = play_agent("command", {"run": ["python3", "{prompt}"]}, base=base, sandbox=sandbox)
        assert record.answer == "my own"


def test_what_nobody_may_look_at_leads_in_a_circle_or_has_no_possible_name_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    run = ["/proc/1/root/x", f"{tmp_path}/loop", "x" * 5000, "{here}/loop", "a/../..", ""]
    loop = build("loops", Spec(kind="command", options={"run": ["true", *run], "files": ["loop"]}))
    variant = Variant(name="mine", base=str(tmp_path), caps=Caps(seconds=1.0))
    assert loop.ready(variant) is None
    assert list(loop.doubts(variant)) == []
    assert loop.needs(variant).read == (str(tmp_path / "loop"),)
    with pytest.raises(ConfigurationError, match="NUL"):
        build("loops", Spec(kind="command", options={"run": "true", "readable": ["\0"]}))


def test_programs_of_the_system_need_nothing_more() -> None:
    loop = build("loops", Spec(kind="command", options={"run": "cat | sh -c 'tr a b' | nonsense > x"}))
    assert loop.needs(Variant(name="mine")) == Needs(read=(), network=True)


@pytest.mark.parametrize("sandbox", [pytest.param(HELD, marks=held), PLAIN])
def test_an_agent_has_the_bounds_of_its_workspace(tmp_path: Path, sandbox: Sandbox) -> None:
    """Memory is the loop's own to bound, and is not bounded where it does not say so."""
    fill = "import time\nopen('big', 'wb').write(b'x' * 30_000_000)\ntime.sleep(20)"
    hold = "import os, time\nfor _ in range(2): os.fork()\nheld = bytearray(b'x') * 90_000_000\ntime.sleep(20)"
    for options, program, word in (({"disk_mb": 10}, fill, "written too much"), ({}, hold, "held too much memory")):
        record = play_agent(
            "command",
            {"run": [sys.executable, "-c", program], "memory_mb": 200 if program is hold else None},
            base=tmp_path,
            world=options,
            sandbox=sandbox,
        )
        assert record.stop.reason == "agent_error", record.stop
        assert word in record.stop.detail
