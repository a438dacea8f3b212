"""What all processes of a trial may use together, at both levels and as two users: more is ended, told by its name, and can be cleared up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bounds_attacks import ATTACKS, BOXED, HARMLESS
from test_parts_sandbox import STARTERS, SURROUNDINGS

from evalkit.parts._bounds import Bounds, Watch
from evalkit.parts._process import Limits, run, surroundings
from evalkit.parts._sandbox import probe
from evalkit.parts._warden import Disk, held, weigh

PROGRAM = Path(__file__).with_name("bounds_attacks.py")
LEVELS = ["none", *([] if probe() else ["bubblewrap"])]
BOUND = {"processes": "processes", "processes in sessions of their own": "processes", "threads": "processes",
         "memory": "memory", "memory that is shared": "memory"}  # fmt: skip
"""Which bound an attack meets; the others meet that of the disk."""

Attacked = dict[str, list[dict[str, str]]]


@pytest.fixture(scope="module", params=[(user, level) for user in STARTERS for level in LEVELS], ids=str)
def attacked(request: pytest.FixtureRequest) -> Attacked:
    """What came of all attacks, with the level under `level`."""
    user, level = request.param
    if not STARTERS[user]:
        pytest.skip("needs root, setpriv and a Python that others may run")
    words = [*STARTERS[user], str(PROGRAM), level]
    done = subprocess.run(words, cwd="/", env=SURROUNDINGS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Attacked = json.loads(done.stdout)
    return {**found, "level": [{"ended": level}]}


@pytest.mark.parametrize("what", [*ATTACKS, *BOXED])
def test_more_than_all_may_use_is_ended_and_can_be_cleared_up(attacked: Attacked, what: str) -> None:
    if what not in attacked:
        pytest.skip("without a sandbox /dev/shm is the machine's")
    done, cleared, left = attacked[what]
    assert done["ended"] == BOUND.get(what, "disk"), done
    assert (cleared["ended"], cleared["text"].splitlines()[-1]) == ("itself", "still on")
    assert int(left["left"]) == 0


@pytest.mark.parametrize("what", HARMLESS)
def test_what_stays_within_is_left_alone(attacked: Attacked, what: str) -> None:
    assert (attacked[what][0]["ended"], attacked[what][0]["text"]) == ("itself", "fine\n")


def test_a_file_counts_once_by_the_room_that_it_takes_and_links_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(bytes(100_000))
    os.link(tmp_path / "one", tmp_path / "two")
    (tmp_path / "up").symlink_to("/usr")
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(10**10)
    size = sum(Disk([str(tmp_path)], 10**9).sizes([]))
    assert 100_000 <= size <= 140_000


def test_a_walk_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for name in range(2500):
        (tmp_path / str(name)).touch()
    disk = Disk([str(tmp_path)], 4096 * 2400)
    assert [disk.is_over([]) for _ in range(3)] == [False, False, True]
    disk.settle()
    assert [disk.is_over([]) for _ in range(3)] == [False, False, False]


def test_what_is_held_once_counts_once() -> None:
    own = [str(os.getpid())]
    assert held(own) <= weigh(own)[1]
    assert weigh(["no such process"]) == (0, 0)


def test_looking_costs_a_tenth_of_the_time_at_most(tmp_path: Path) -> None:
    watch = Watch(folders=(tmp_path,), bounds=Bounds())
    assert watch.look() is None
    first = watch.due
    assert watch.look() is None
    assert watch.due == first


def test_a_process_without_bounds_is_not_watched(tmp_path: Path) -> None:
    variables: dict[str, Any] = surroundings(tmp_path, tmp_path)
    done = run((sys.executable, "-c", "print(1)"), folder=tmp_path, variables=variables, limits=Limits(seconds=20.0))
    assert (done.ended, done.text) == ("itself", "1\n")
