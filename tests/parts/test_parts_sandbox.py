"""The sandbox against hostile commands, as whoever runs the tests and, where that is root, as an ordinary user too.

What a plain process may not do is in `test_parts_process`, what file tools may not do in `test_parts_paths`, what an agent may not do to its graders in
`checks/test_command_check`.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sandbox_attacks import KEY, QUIET, asleep

from evalkit.core.sandbox import Sandbox
from evalkit.parts._box import SandboxBroke
from evalkit.parts._bubblewrap import forbids_namespaces, interpreter
from evalkit.parts._process import Finished, Limits, surroundings
from evalkit.parts._sandbox import Boxed, Cell, open_cell, probe

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("sandbox_attacks.py")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

pytestmark = pytest.mark.skipif(bool(probe()), reason=f"no sandbox: {probe()}")

SURROUNDINGS = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join([str(ROOT), *(one for one in sys.path if one.endswith("site-packages"))]),
}
"""What the hostile program needs to find evalkit, also under another interpreter."""

Attacked = dict[str, Any]


def starters() -> dict[str, list[str]]:
    """How the hostile program is started as each user; one that cannot be had here has no words."""
    ordinary: list[str] = []
    if os.geteuid() == 0 and shutil.which("setpriv"):
        for python in (sys.executable, "/usr/bin/python3"):
            words = [*NOBODY, python]
            seen = [*words, "-c", f"import evalkit.parts._sandbox as s; open({str(PROGRAM)!r}); assert not s.probe()"]
            if subprocess.run(seen, cwd="/", env=SURROUNDINGS, capture_output=True, check=False).returncode == 0:
                ordinary = words
                break
    return {"the one who tests": [sys.executable], "an ordinary user": ordinary}


STARTERS = starters()


def started(words: list[str], what: str, **more: Any) -> subprocess.Popen[str]:
    """Start the hostile program."""
    if not words:
        pytest.skip("needs root, setpriv and a Python that others may run")
    return subprocess.Popen(
        [*words, str(PROGRAM), what],
        cwd="/",
        env=SURROUNDINGS,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


@pytest.fixture(scope="module", params=STARTERS)
def attacked(request: pytest.FixtureRequest) -> Attacked:
    """What came of all attacks."""
    with started(STARTERS[request.param], "all") as running:
        shown = running.communicate()[0]
        assert running.returncode == 0
    found: Attacked = json.loads(shown)
    return found


@pytest.mark.parametrize("what", QUIET)
def test_hostile_commands_get_nothing(attacked: Attacked, what: str) -> None:
    (done,) = attacked[what]
    assert done["ended"] == "itself"
    assert KEY not in done["text"]
    assert "GOT" not in done["text"]
    assert attacked["planted"] == []


@pytest.mark.parametrize(
    "what", ["killing the runner", "killing all", "many processes", "many threads", "a frozen warden"]
)
def test_the_next_command_runs_whatever_the_last_one_did(attacked: Attacked, what: str) -> None:
    assert attacked[what][1]["text"] == "still on\n"


def test_too_many_processes_end_all_of_them(attacked: Attacked) -> None:
    assert [attacked[what][0]["ended"] for what in ("many processes", "many threads")] == ["processes", "processes"]


def test_limits_hold_inside(attacked: Attacked) -> None:
    ended = {what: attacked[what][0]["ended"] for what in ("endless output", "endless loop", "a frozen warden")}
    assert ended == {"endless output": "output", "endless loop": "time", "a frozen warden": "time"}
    assert attacked["endless output"][0]["size"] == 200_000
    assert int(attacked["a huge file"][0]["text"].split("\n")[-2]) <= 1_000_000
    assert "MemoryError" in attacked["much memory"][0]["text"]


def test_daemons_live_through_the_trial_and_not_beyond(attacked: Attacked) -> None:
    assert int(attacked["daemons"][1]["text"]) >= 2
    assert attacked["daemons left"] == 0


def test_no_trial_sees_a_trace_of_another(attacked: Attacked) -> None:
    left, found = attacked["traces"]
    assert left["text"] == "left\n"
    assert "TRACE" not in found["text"]
    assert "sleep" not in found["text"]


@pytest.mark.parametrize("user", STARTERS)
@pytest.mark.parametrize("what", ["linger", "freeze"])
def test_nothing_outlives_a_runner_that_is_killed(user: str, what: str) -> None:
    """Not even where code inside has stopped the warden, which would have ended it."""
    with started(STARTERS[user], what) as running:
        assert running.stdout is not None
        left = running.stdout.readline().strip()
        running.kill()
    assert left
    assert asleep() == 0
    shutil.rmtree(left)


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    """A sandbox with a workspace."""
    with held(tmp_path) as made:
        yield made


def held(place: Path, **more: Any) -> Cell:
    """Make a sandbox with a workspace in a folder."""
    for name in ("home", "temporary"):
        (place / name).mkdir(exist_ok=True)
    sandbox = Sandbox(kind="bubblewrap", show=more.pop("show", ()))
    return open_cell(sandbox, folders=(place / "home",), temporary=place / "temporary", **more)


def sh(cell: Cell, place: Path, command: str, seconds: float = 20.0) -> Finished:
    """Run a shell command in it."""
    home = place / "home"
    variables = surroundings(home, place / "temporary")
    return cell.run(("/bin/sh", "-c", command), folder=home, variables=variables, limits=Limits(seconds=seconds))


def test_a_command_works_as_it_does_without(cell: Cell, tmp_path: Path) -> None:
    done = sh(cell, tmp_path, "echo out; echo err >&2; echo $HOME; pwd; cat; exit 3")
    home = tmp_path / "home"
    assert (done.code, done.ended, done.text) == (3, "itself", f"out\nerr\n{home}\n{home}\n")
    assert sh(cell, tmp_path, "kill -9 $$").code == -9
    found = sh(cell, tmp_path, "python -c 'import sys, pydantic; print(sys.executable)'").text
    assert Path(found.strip()).parent == Path(sys.executable).parent
    assert sh(cell, tmp_path, "echo kept > file; echo kept > $TMPDIR/file").code == 0
    assert (home / "file").read_text() == (tmp_path / "temporary" / "file").read_text() == "kept\n"
    variables = surroundings(home, tmp_path / "temporary")
    assert cell.run(("no-such-program",), folder=home, variables=variables, limits=Limits(seconds=9.0)).code == 127


def test_what_a_command_leaves_is_there_for_the_next(cell: Cell, tmp_path: Path) -> None:
    serve = "python -m http.server 8123 --bind 127.0.0.1 > log 2>&1 & echo $! > pid; echo hello > page"
    fetch = "import time, urllib.request as u\nfor _ in range(500):\n try: print(u.urlopen('http://127.0.0.1:8123/page').read()); break\n except OSError: time.sleep(.02)"
    assert sh(cell, tmp_path, serve).code == 0
    assert sh(cell, tmp_path, f'python -c "{fetch}"').text == "b'hello\\n'\n"
    assert sh(cell, tmp_path, "kill $(cat pid)").code == 0


def test_a_closed_cell_can_be_used_anew(cell: Cell, tmp_path: Path) -> None:
    sh(cell, tmp_path, "sleep 60 & echo before > file")
    cell.close()
    cell.close()
    assert sh(cell, tmp_path, "cat file; ps ax | grep -c '[s]leep 60'").text == "before\n0\n"


def test_commands_may_run_side_by_side_and_from_threads_that_end(cell: Cell, tmp_path: Path) -> None:
    """A sandbox outlives the thread that started it."""
    first = threading.Thread(target=sh, args=(cell, tmp_path, "sleep 60 & echo $! > pid"))
    first.start()
    first.join()
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda one: sh(cell, tmp_path, f"sleep 0.05; kill -0 $(cat pid) && echo {one}").text, range(8))
        )
    assert found == [f"{one}\n" for one in range(8)]


@pytest.mark.parametrize(
    ("words", "error"),
    [(("a\0b",), ValueError), (("\ud800",), UnicodeEncodeError), (("echo", "x" * 3_000_000), OSError)],
)
def test_what_no_program_can_be_given_is_an_error(
    cell: Cell, tmp_path: Path, words: tuple[str, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        cell.run(words, folder=tmp_path / "home", variables={}, limits=Limits(seconds=9.0))
    assert sh(cell, tmp_path, "echo on").text == "on\n"


def test_a_folder_that_is_not_shown_is_an_error(cell: Cell, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cell.run(("true",), folder=ROOT / "tests", variables={}, limits=Limits(seconds=9.0))


def test_what_is_shown_can_be_read_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "one").write_text("shown")
    (tmp_path / "given").write_text("given")
    with held(tmp_path, show=(str(tmp_path / "tools"),), read=(tmp_path / "given",)) as cell:
        done = sh(cell, tmp_path, f"cd {tmp_path}; cat tools/one given; echo x > tools/one; echo x > given; ls")
    assert done.text.startswith("showngiven")
    assert done.text.endswith("given\nhome\ntools\n")
    assert (tmp_path / "tools" / "one").read_text() == "shown"
    assert (tmp_path / "given").read_text() == "given"


def test_a_part_may_ask_for_the_network_and_for_nothing_else(tmp_path: Path) -> None:
    """The name servers of the machine are known then, its interfaces are seen, and its processes are not."""
    look = f"ls /sys /proc/{os.getpid()}; cat /etc/resolv.conf > resolved; cat /proc/net/dev | wc -l"
    with held(tmp_path, network=True) as cell:
        done = sh(cell, tmp_path, look)
    here = len(Path("/proc/net/dev").read_text().splitlines())
    assert done.text.splitlines()[-1] == str(here)
    assert done.text.count("cannot access") == 2
    assert (tmp_path / "home" / "resolved").exists() == Path("/etc/resolv.conf").exists()


def test_only_programs_and_packages_of_the_interpreter_are_shown() -> None:
    for path in interpreter():
        assert not ROOT.is_relative_to(path), path
        assert not (path / "run.json").exists()


def test_a_program_that_is_no_bubblewrap_is_found_out(tmp_path: Path) -> None:
    """The probe runs what it finds: its name is not enough."""
    program = "from evalkit.parts._sandbox import probe; print(probe())"
    for text, words in (
        ("exit 1", "does not work here"),
        ('while [ $1 != -- ]; do shift; done; shift; exec "$@"', "hold"),
    ):
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bwrap").chmod(0o755)
        environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
        shown = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
        assert words in shown.stdout
    environ["PATH"] = str(tmp_path / "empty")
    shown = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert "not installed" in shown.stdout


def test_a_sandbox_is_data(make_trial: Callable[..., Any]) -> None:
    """It travels with a trial to any worker, and is no part of what the trial is."""
    trial = make_trial()
    sandbox = Sandbox(kind="bubblewrap", show=("/opt",))
    sent = pickle.loads(pickle.dumps(sandbox))  # noqa: S301  # our own bytes
    assert sent == sandbox
    assert "sandbox" not in trial.key.__slots__


def test_bystanders_live(cell: Cell, tmp_path: Path) -> None:
    """Whatever a trial does to its folders, nothing that works elsewhere, or in them from outside, is ended."""
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path / "home") as bystander:
        sh(cell, tmp_path, "cd /; rm -rf $HOME/* $HOME; ln -s / $HOME/link; kill -9 -1")
        cell.close()
        assert bystander.poll() is None
        bystander.send_signal(signal.SIGKILL)


@pytest.mark.skipif(not forbids_namespaces(), reason="bubblewrap cannot forbid namespaces here")
def test_nothing_inside_has_a_namespace_of_its_own(cell: Cell, tmp_path: Path) -> None:
    """In one it could mount memory as files, which no bound would count; as root the read-only /proc would not keep it from one."""
    enter = "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))"
    assert sh(cell, tmp_path, f"python -c '{enter}'").text == "-1\n"


def test_a_bubblewrap_that_cannot_forbid_namespaces_is_used_without(tmp_path: Path) -> None:
    old = f'#!/bin/sh\nfor one; do [ "$one" = --disable-userns ] && exit 1; done\nexec {shutil.which("bwrap")} "$@"\n'
    (tmp_path / "bwrap").write_text(old)
    (tmp_path / "bwrap").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    program = "from evalkit.parts._sandbox import probe; print(probe())"
    shown = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert shown.stdout == "\n"


def test_a_sandbox_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    cell = Boxed(words=("/bin/sh", "-c", "echo forbidden here >&2; exit 1"))
    with pytest.raises(SandboxBroke, match="did not start: forbidden here"):
        sh(cell, tmp_path, "true")
    cell.close()
