"""Processes: what they see, what bounds them, and that nothing of them stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalkit.parts._process import Finished, Limits, end_all, run, surroundings

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found through /proc")

ROOT = Path(__file__).parents[2]
SECOND = Limits(seconds=20.0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder to run in."""
    made = tmp_path / "home"
    made.mkdir()
    return made


def sh(home: Path, command: str, limits: Limits = SECOND, *, linger: bool = False) -> Finished:
    """Run a shell command."""
    variables = surroundings(home, home)
    return run(("/bin/sh", "-c", command), folder=home, variables=variables, limits=limits, linger=linger)


def is_alive(home: Path, name: str = "pid") -> bool:
    """Whether the process that wrote its number to a file still runs, once it had a moment to end."""
    number = int((home / name).read_text())
    for _ in range(200):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.01)
    return True


def wait_for(path: Path) -> None:
    """Wait until a file has text in it."""
    for _ in range(1_000):
        if path.exists() and path.read_text().strip():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} was never written")


def test_output_comes_in_order_with_the_status(home: Path) -> None:
    done = sh(home, "echo out; echo err >&2; echo out again; exit 3")
    assert (done.code, done.ended, done.text) == (3, "itself", "out\nerr\nout again\n")


def test_a_process_that_kills_itself_has_a_negative_code(home: Path) -> None:
    assert sh(home, "kill -9 $$").code == -9


def test_variables_are_a_short_list_and_keys_are_not_in_it(home: Path) -> None:
    program = "from evalkit.parts._process import *; from pathlib import Path; import sys; home = Path(sys.argv[1]);"
    program += (
        "print(run(('/usr/bin/env',), folder=home, variables=surroundings(home, home), limits=Limits(seconds=9)).text)"
    )
    secret = {**os.environ, "ANTHROPIC_API_KEY": "canary-1234567890", "LD_PRELOAD": "", "PYTHONPATH": str(ROOT)}
    seen = subprocess.run(
        [sys.executable, "-c", program, str(home)], env=secret, capture_output=True, text=True, check=True
    )
    names = {line.partition("=")[0] for line in seen.stdout.split("\n") if line}
    assert names <= {"PATH", "HOME", "TMPDIR", "LANG", "TZ", "PWD", "OLDPWD", "SHLVL", "_"}
    assert "canary" not in seen.stdout


def test_the_runners_interpreter_comes_first_and_relative_folders_are_dropped(home: Path) -> None:
    path = surroundings(home, home)["PATH"].split(":")
    assert path[0] == str(Path(sys.executable).parent)
    assert all(folder.startswith("/") for folder in path)


def test_there_is_no_input_also_where_the_runner_has_some(home: Path) -> None:
    program = "import sys; from pathlib import Path; from evalkit.parts._process import *; home = Path(sys.argv[1]);"
    program += "print(run(('cat',), folder=home, variables=surroundings(home, home), limits=Limits(seconds=9)))"
    words = [sys.executable, "-c", program, str(home)]
    seen = subprocess.run(words, cwd=ROOT, input="typed", capture_output=True, text=True, check=True)
    assert seen.stdout == "Finished(code=0, output=b'', ended='itself')\n"


def test_at_its_time_the_whole_session_is_killed(home: Path) -> None:
    done = sh(
        home,
        "trap '' TERM; (trap '' TERM; echo $$ > /dev/null; sleep 60) & echo $! > pid; sleep 60",
        Limits(seconds=0.3),
    )
    assert done.ended == "time"
    assert not is_alive(home)


def test_at_its_output_limit_a_process_is_killed(home: Path) -> None:
    done = sh(home, "yes", Limits(seconds=20.0, output=100_000))
    assert (done.ended, len(done.output)) == ("output", 100_000)
    line = sh(home, "head -c 300000 /dev/zero", Limits(seconds=20.0, output=100_000))
    assert line.ended == "output"


def test_output_up_to_the_limit_is_kept_whole(home: Path) -> None:
    done = sh(home, "head -c 100000 /dev/zero", Limits(seconds=20.0, output=100_000))
    assert (done.ended, len(done.output)) == ("itself", 100_000)


def test_output_that_is_no_text_is_shown_as_such(home: Path) -> None:
    assert sh(home, r"printf '\377a\000'").text == "\ufffda\0"


def test_a_process_that_closes_its_output_is_still_waited_for(home: Path) -> None:
    assert sh(home, "exec >&- 2>&-; sleep 0.2; echo x > late; exit 4").code == 4
    assert (home / "late").exists()


def test_one_that_stays_behind_with_the_pipe_is_not_waited_for_and_killed(home: Path) -> None:
    done = sh(home, "sleep 60 & echo $! > pid; echo ready")
    assert (done.ended, done.text) == ("itself", "ready\n")
    assert not is_alive(home)


def test_one_that_may_linger_lives_until_all_are_ended(home: Path) -> None:
    sh(home, "sleep 60 > /dev/null 2>&1 & echo $! > pid", linger=True)
    os.kill(int((home / "pid").read_text()), 0)
    assert end_all(home) == 1
    assert not is_alive(home)
    assert end_all(home) == 0


DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open("pid", "w").write(str(os.getpid()))
{}
time.sleep(60)
"""


@pytest.mark.parametrize(
    "more",
    [
        "",
        "os.chdir('/')",
        "os.execve('/bin/sleep', ['sleep', '60'], {})",
        "os.makedirs('a/b'); os.chdir('a/b'); os.execve('/bin/sleep', ['sleep', '60'], {})",
    ],
)
def test_a_daemon_is_found_by_its_variables_or_by_its_folder(home: Path, more: str) -> None:
    (home / "daemon.py").write_text(DAEMON.format(more))
    sh(home, f"{sys.executable} daemon.py", linger=True)
    wait_for(home / "pid")
    assert end_all(home) >= 1
    assert not is_alive(home)


def test_processes_that_fork_on_are_all_ended(home: Path) -> None:
    sh(
        home,
        "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'for j in 1 2 3; do sleep 60 & done; wait' &) ; done",
        linger=True,
    )
    time.sleep(0.2)
    end_all(home)
    assert end_all(home) == 0


def test_a_process_elsewhere_is_left_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "home2").mkdir()
    other = subprocess.Popen(["sleep", "60"], cwd=tmp_path / "home2", env={"HOME": f"{home}2"})
    try:
        assert end_all(home) == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_link_in_the_place_of_a_home_ends_nothing_elsewhere(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    home.rmdir()
    home.symlink_to(tmp_path / "elsewhere")
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path / "elsewhere", env={}) as other:
        assert end_all(home) == 0
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("place", ["/", "/srv", "home", "/srv/x/../.."])
def test_a_folder_that_others_may_work_in_is_no_home(place: str) -> None:
    with pytest.raises(ValueError, match="belongs to one trial alone"):
        end_all(Path(place))
    with pytest.raises(ValueError, match="belongs to one trial alone"):
        surroundings(Path(place), Path(place))


def test_what_is_older_than_the_runner_is_left_alone(home: Path) -> None:
    program = "import sys; from pathlib import Path; from evalkit.parts._process import end_all; print(end_all(Path(sys.argv[1])))"
    with subprocess.Popen(["sleep", "60"], cwd=home, env={"HOME": str(home)}) as older:
        time.sleep(0.05)
        seen = subprocess.run(
            [sys.executable, "-c", program, str(home)], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert (seen.stdout, older.poll()) == ("0\n", None)
        older.kill()


def test_a_file_cannot_grow_beyond_its_limit(home: Path) -> None:
    done = sh(home, "head -c 3000000 /dev/zero > big; echo $?", Limits(seconds=20.0, file=1_000_000))
    assert done.text.strip().splitlines()[-1] != "0"
    assert (home / "big").stat().st_size <= 1_000_000


def test_memory_is_bounded(home: Path) -> None:
    done = sh(home, f"{sys.executable} -c 'bytearray(1_500_000_000)'", Limits(seconds=20.0, memory=1_000_000_000))
    assert done.code != 0
    assert "MemoryError" in done.text


def test_processor_time_is_bounded_for_what_escapes(home: Path) -> None:
    shown = sh(home, "ulimit -t", Limits(seconds=2.0)).text
    assert int(shown) == 2 * (os.cpu_count() or 1) + 1


def test_a_program_that_is_not_there_has_the_shells_status(home: Path) -> None:
    variables = surroundings(home, home)
    assert run(("no-such-program",), folder=home, variables=variables, limits=SECOND).code == 127


def test_a_folder_that_is_not_there_is_an_error(home: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sh(home / "none", "true")
