"""A workspace: its tools as a model uses them, what they refuse, and what is left after it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ConfigurationError, MalformedArgs, ToolFailed
from evalkit.core.message import ToolCall
from evalkit.core.plan import Spec
from evalkit.core.sandbox import Sandbox
from evalkit.engine.arguments import complaint, example
from evalkit.engine.ground import TrialGround
from evalkit.parts import build, faults
from evalkit.parts._process import end_all
from evalkit.parts._sandbox import probe
from evalkit.parts.environments._file_tools import MOST_ENTRIES, MOST_MATCHES, MOST_TEXT
from evalkit.parts.environments.workspace import Workspace, WorkspaceWorld

Open = Callable[..., WorkspaceWorld]
CROWD = "import threading as t, time; t.stack_size(65536)\nfor _ in range(1100): t.Thread(target=time.sleep, args=(9,)).start()"
FILES = {"src/main.py": "def main():\n    return 1\n", "notes.txt": "one\ntwo\nthree\n"}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite's folder with a template in it."""
    made = tmp_path / "suite"
    (made / "template" / "pkg" / "__pycache__").mkdir(parents=True)
    (made / "template" / "pkg" / "a.py").write_text("a = 1\n")
    (made / "template" / "pkg" / "__pycache__" / "a.pyc").write_text("old")
    (made / "template" / "run.sh").write_text("echo ran\n")
    (made / "template" / "run.sh").chmod(0o755)
    return made


@pytest.fixture
def ground(suite: Path) -> Iterator[TrialGround]:
    """The ground of one trial."""
    with TrialGround(suite) as made:
        yield made


@pytest.fixture
def open_(ground: TrialGround) -> Iterator[Open]:
    """A maker of workspaces, closed afterwards."""
    worlds: list[WorkspaceWorld] = []

    def opened(**options: Any) -> WorkspaceWorld:
        world: WorkspaceWorld = build("environments", Spec(kind="workspace", options=options)).open(ground)
        worlds.append(world)
        return world

    yield opened
    for world in worlds:
        end_all(world.home)


def use(world: WorkspaceWorld, tool: str, **arguments: Any) -> str:
    """Call a tool as the dispatcher does: its schema is asked first."""
    spec = {one.name: one for one in world.tools()}[tool]
    assert complaint(spec, arguments) is None
    return world.call(ToolCall(id="1", name=tool, input=arguments))


def test_each_trial_starts_from_a_copy_of_its_own(open_: Open, suite: Path) -> None:
    first = open_(folder="template", files={"run.sh": "echo mine\n", "new/x.txt": "x"})
    second = open_(folder="template")
    use(first, "write_file", path="pkg/a.py", content="changed")
    assert use(second, "read_file", path="pkg/a.py") == "a = 1"
    assert (suite / "template" / "pkg" / "a.py").read_text() == "a = 1\n"
    assert use(first, "read_file", path="run.sh") == "echo mine"
    assert sorted(second.state()) == ["pkg/a.py", "run.sh"]
    assert use(second, "run_command", command="./run.sh") == "exit status 0\nran"


def test_a_template_that_is_not_there_is_a_mistake_in_the_suite(open_: Open) -> None:
    with pytest.raises(ConfigurationError, match="none"):
        open_(folder="none")
    with pytest.raises(ConfigurationError, match="leads upwards"):
        open_(files={"../x": ""})


def test_the_suite_chooses_the_tools(open_: Open) -> None:
    every = ["read_file", "write_file", "edit_file", "list_files", "search", "run_command"]
    assert [tool.name for tool in open_().tools()] == every
    assert [tool.name for tool in open_(commands=False).tools()] == every[:-1]
    assert [tool.name for tool in open_(tools=["search", "read_file"]).tools()] == ["search", "read_file"]
    assert {tool.name for tool in open_().tools() if tool.writes} == {"write_file", "edit_file", "run_command"}
    with pytest.raises(MalformedArgs, match="no tool named"):
        open_().call(ToolCall(id="1", name="other", input={}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tools": ["run_command"], "commands": False}, "commands allows none"),
        ({"commands": ["/bin/sh"]}, "by name"),
        ({"timeout": 5}, "unit"),
        ({"timeout": "0s"}, "greater than 0"),
        ({"tools": ["shell"]}, "Input should be"),
        ({"fold": "x"}, "Unexpected"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_words(options: dict[str, Any], words: str) -> None:
    (told,) = {what for _, what in faults("environments", "workspace", options)} or {""}
    assert words in told


def test_every_tool_is_described_and_its_own_example_is_right(open_: Open) -> None:
    for tool in open_().tools():
        assert len(tool.description) > 60
        assert all(one["description"] for one in tool.input_schema["properties"].values())
        assert complaint(tool, example(tool.input_schema)) is None


def test_reading_goes_on_where_it_stopped(open_: Open) -> None:
    world = open_(files={**FILES, "long.txt": "".join(f"line {number}\n" for number in range(1, 10_001))})
    assert use(world, "read_file", path="notes.txt") == "one\ntwo\nthree"
    assert use(world, "read_file", path="notes.txt", offset=2, limit=1) == (
        "two\n[lines 2 to 2 of 3; read on with offset 3]"
    )
    whole, offset = [], 1
    while True:
        text, mark, more = use(world, "read_file", path="long.txt", offset=offset).partition("\n[lines ")
        whole += text.split("\n")
        if not mark:
            break
        offset = int(more.rpartition(" ")[2].rstrip("]"))
    assert whole == [f"line {number}" for number in range(1, 10_001)]
    with pytest.raises(ToolFailed, match="has 3 lines"):
        use(world, "read_file", path="notes.txt", offset=9)
    assert use(world, "read_file", path="notes.txt", offset=1.0, limit=1.0).startswith("one")


def test_what_is_shown_of_a_file_is_bounded(open_: Open) -> None:
    world = open_(files={"wide.txt": "x" * 400_000, "high.txt": ("y" * 1_000 + "\n") * 500, "empty.txt": ""})
    assert len(use(world, "read_file", path="wide.txt")) < MOST_TEXT
    assert len(use(world, "read_file", path="high.txt")) < MOST_TEXT + 1_000
    assert use(world, "read_file", path="empty.txt") == "[the file is empty]"
    with (world.home / "huge.bin").open("wb") as file:
        file.truncate(20_000_000_000)
    with pytest.raises(ToolFailed, match="more than"):
        use(world, "read_file", path="huge.bin")
    (world.home / "some.bin").write_bytes(b"a\0b")
    with pytest.raises(ToolFailed, match="no text"):
        use(world, "read_file", path="some.bin")


def test_writing_and_editing_change_exactly_what_they_say(open_: Open) -> None:
    world = open_(files=FILES)
    assert use(world, "write_file", path="new/é.txt", content="é") == "new/é.txt: 2 bytes written"
    assert use(world, "edit_file", path="src/main.py", old="return 1", new="return 2").endswith(
        "1 replacement at line 2"
    )
    assert use(world, "edit_file", path="notes.txt", old="two\n", new="").endswith("line 2")
    assert use(world, "read_file", path="notes.txt") == "one\nthree"
    assert use(world, "read_file", path="src/main.py") == "def main():\n    return 2"


def test_an_edit_that_cannot_be_made_teaches_how(open_: Open) -> None:
    world = open_(files={**FILES, "twice.txt": "x = 1\ny\nx = 1\n"})
    with pytest.raises(ToolFailed, match=r"2 matches \(lines 1, 3\)"):
        use(world, "edit_file", path="twice.txt", old="x = 1", new="x = 2")
    with pytest.raises(ToolFailed, match=r"0 matches.*Line 2 is '    return 1'"):
        use(world, "edit_file", path="src/main.py", old="\treturn 1", new="")
    with pytest.raises(ToolFailed, match="0 matches"):
        use(world, "edit_file", path="src/main.py", old="nowhere", new="")
    with pytest.raises(MalformedArgs, match="empty"):
        use(world, "edit_file", path="src/main.py", old="", new="x")
    with pytest.raises(MalformedArgs, match="same as old"):
        use(world, "edit_file", path="src/main.py", old="1", new="1")
    for field in ({"content": "\ud800"}, {"path": "\ud800"}):
        with pytest.raises(MalformedArgs):
            use(world, "write_file", **{"path": "x", "content": "", **field})
    assert world.state() == open_(files={**FILES, "twice.txt": "x = 1\ny\nx = 1\n"}).state()


def test_windows_line_ends_are_kept(open_: Open) -> None:
    world = open_()
    (world.home / "w.txt").write_bytes(b"a\r\nb\r\n")
    use(world, "edit_file", path="w.txt", old="a\nb", new="c\nd")
    assert (world.home / "w.txt").read_bytes() == b"c\r\nd\r\n"


def test_a_file_that_is_no_utf8_is_read_but_not_edited(open_: Open) -> None:
    world = open_()
    (world.home / "l.txt").write_bytes(b"caf\xe9 x")
    assert use(world, "read_file", path="l.txt") == "caf\ufffd x"
    with pytest.raises(ToolFailed, match="not UTF-8"):
        use(world, "edit_file", path="l.txt", old="x", new="y")


def test_files_are_listed(open_: Open) -> None:
    world = open_(files={**FILES, ".git/config": "", "many/x": ""})
    assert use(world, "list_files").split("\n") == [
        "many/",
        "many/x  0 bytes",
        "notes.txt  14 bytes",
        "src/",
        "src/main.py  25 bytes",
    ]
    assert use(world, "list_files", path="src") == "src/main.py  25 bytes"
    for number in range(MOST_ENTRIES + 5):
        (world.home / "many" / f"{number}").touch()
    assert use(world, "list_files", path="many").endswith("name a folder in path to see its own]")
    with pytest.raises(ToolFailed, match="there is no none"):
        use(world, "list_files", path="none")


def test_lines_are_found_as_text_and_as_patterns(open_: Open) -> None:
    world = open_(files={**FILES, "many.txt": "same\n" * 150})
    assert use(world, "search", pattern="main(") == "src/main.py:1: def main():"
    assert use(world, "search", pattern=r"t\w+", path="notes.txt", regex=True) == "notes.txt:2: two\nnotes.txt:3: three"
    assert use(world, "search", pattern="t.o") == "[no matches]"
    assert use(world, "search", pattern="same").endswith(
        f"[{150 - MOST_MATCHES} more matches; narrow the pattern or name a path]"
    )
    with pytest.raises(MalformedArgs, match="regular expression"):
        use(world, "search", pattern="(", regex=True)
    with pytest.raises(MalformedArgs, match="empty"):
        use(world, "search", pattern="")
    with pytest.raises(ToolFailed, match="there is no"):
        use(world, "search", pattern="x", path="none.txt")


def test_searching_and_listing_follow_no_links(open_: Open, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    world = open_()
    (world.home / "link.txt").symlink_to(tmp_path / "secret.txt")
    (world.home / "folder").symlink_to(tmp_path)
    assert use(world, "search", pattern="secret") == "[no matches]"
    assert use(world, "search", pattern="secret", regex=True) == "[no matches]"
    assert "secret" not in use(world, "list_files")


def test_a_command_gives_its_status_and_output(open_: Open) -> None:
    world = open_(files=FILES)
    assert use(world, "run_command", command="cat notes.txt; exit 3") == "exit status 3\none\ntwo\nthree"
    assert use(world, "run_command", command="true") == "exit status 0, no output"
    assert use(world, "run_command", command="no-such-program").startswith("exit status 127\n")
    assert use(world, "run_command", command="kill -9 $$") == "ended by signal 9, no output"
    assert use(world, "run_command", command="echo $HOME") == f"exit status 0\n{world.home}"


def test_a_long_output_keeps_its_beginning_and_its_end(open_: Open) -> None:
    text = use(open_(), "run_command", command="seq 1 20000")
    assert text.startswith("exit status 0\n1\n2\n")
    assert text.endswith("\n19999\n20000")
    assert "characters left out" in text
    assert len(text) < 31_000


def test_a_command_without_an_end_is_ended_and_says_so(open_: Open) -> None:
    world = open_(timeout="300ms")
    with pytest.raises(ToolFailed, match=r"ended after 0\.3 seconds(.|\n)*so far:\nhere"):
        use(world, "run_command", command="echo here; while true; do :; done")
    with pytest.raises(ToolFailed, match="wrote more than"):
        use(open_(), "run_command", command="yes")


def test_no_variable_of_the_runner_reaches_a_command(open_: Open) -> None:
    shown = use(open_(), "run_command", command="env").split("\n")[1:]
    assert {line.partition("=")[0] for line in shown} <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "TZ",
        "PYTHONDONTWRITEBYTECODE",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    }


def test_only_listed_programs_run_and_no_shell(open_: Open) -> None:
    world = open_(commands=["echo"])
    assert use(world, "run_command", command="echo 'a b' && id; $(id) > x") == "exit status 0\na b && id; $(id) > x"
    for command in ("id", "/bin/echo x", "", "./echo", "ECHO=1 echo"):
        with pytest.raises(MalformedArgs, match="begin with one of echo"):
            use(world, "run_command", command=command)
    with pytest.raises(MalformedArgs, match="quotes"):
        use(world, "run_command", command="echo 'a")
    assert "one of echo" in world.tools()[-1].description


@pytest.mark.parametrize("command", ["a\0b", "\ud800", "echo " + "x" * 3_000_000])
def test_a_command_that_no_program_can_be_given_is_refused(open_: Open, command: str) -> None:
    with pytest.raises(MalformedArgs, match="command: "):
        use(open_(), "run_command", command=command)


def test_what_runs_in_the_background_lives_through_the_trial_and_not_beyond(open_: Open) -> None:
    world = open_()
    use(world, "run_command", command="(trap '' TERM HUP; setsid sleep 60 > /dev/null 2>&1 & echo $! > pid)")
    number = int((world.home / "pid").read_text())
    assert use(world, "run_command", command=f"kill -0 {number} && echo alive").endswith("alive")
    world.close()
    assert end_all(world.home) == 0
    world.close()


def test_the_temporary_folder_is_the_trials_own_and_goes_with_it(suite: Path) -> None:
    with TrialGround(suite) as ground:
        world: WorkspaceWorld = Workspace().open(ground)
        use(world, "run_command", command="mktemp; echo x > $TMPDIR/left")
        temporary = world.scratch
        assert temporary is not None
        assert sorted(world.state()) == []
        assert (temporary / "left").exists()
    assert not temporary.exists()


def test_the_state_tells_every_change_and_works_after_the_end(open_: Open) -> None:
    world = open_(files=FILES)
    before = world.state()
    assert before == open_(files=FILES).state()
    use(world, "run_command", command="echo four >> notes.txt; ln -s notes.txt l; mkfifo p")
    world.close()
    after = world.state()
    assert {path for path in after if after[path] != before.get(path)} == {"notes.txt", "l", "p"}


def test_an_export_is_a_copy_that_holds_no_way_out(open_: Open, tmp_path: Path) -> None:
    (tmp_path / "expected").write_text("the answer")
    world = open_(files=FILES)
    use(
        world,
        "run_command",
        command=f"ln -s {tmp_path}/expected answer.txt; ln -s .. up; mkfifo pipe; chmod 000 notes.txt",
    )
    world.close()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        world.export(tmp_path / name)
        assert not os.path.lexists(tmp_path / name / "answer.txt")
        assert not os.path.lexists(tmp_path / name / "up")
        assert (tmp_path / name / "src" / "main.py").read_text() == FILES["src/main.py"]
    (tmp_path / "one" / "src" / "main.py").write_text("spoiled")
    assert (tmp_path / "two" / "src" / "main.py").read_text() == FILES["src/main.py"]


@pytest.mark.parametrize("then", ["", "; ln -s / $HOME", "; ln -s $HOME/.. $HOME", "; echo x > $HOME"])
def test_an_agent_that_removes_or_replaces_the_workspace_itself_reaches_nothing(
    open_: Open, tmp_path: Path, then: str
) -> None:
    """Neither does a file tool follow what stands there now, nor does the end of the trial end processes that work there."""
    world = open_(files=FILES)
    with subprocess.Popen(["sleep", "60"], cwd="/") as bystander:
        try:
            use(world, "run_command", command=f"cd /; rm -rf $HOME{then}")
            with pytest.raises(ToolFailed):
                use(world, "read_file", path="etc/passwd")
            with pytest.raises(ToolFailed):
                use(world, "write_file", path="x", content="")
            with pytest.raises(ToolFailed):
                use(world, "list_files")
            world.close()
            assert bystander.poll() is None
        finally:
            bystander.kill()
    assert world.state() == {}
    (tmp_path / "into").mkdir()
    world.export(tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []


def test_a_command_after_the_workspace_is_gone_says_so(open_: Open) -> None:
    world = open_()
    use(world, "run_command", command="cd /; rm -rf $HOME")
    with pytest.raises(ToolFailed, match="gone"):
        use(world, "run_command", command="true")


def test_searches_of_one_turn_can_run_side_by_side(open_: Open) -> None:
    world = open_(files=FILES)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: use(world, "search", pattern="t.o", path="notes.txt", regex=True), range(16)))
    assert set(found) == {"notes.txt:2: two"}


def test_two_parts_of_the_same_options_are_the_same(open_: Open) -> None:
    part: Workspace = build("environments", Spec(kind="workspace", options={"files": FILES, "timeout": "2s"}))
    assert replace(part, timeout=60.0) == Workspace(files=FILES)
    assert sys.getsizeof(part) > 0


@pytest.mark.skipif(bool(probe()), reason=f"no sandbox: {probe()}")
def test_in_a_sandbox_commands_see_the_workspace_and_not_the_suite(suite: Path) -> None:
    """What was started in the background stays for the next command, and the file tools see the same files."""
    with TrialGround(suite, Sandbox(kind="bubblewrap")) as ground:
        world: WorkspaceWorld = Workspace(folder="template").open(ground)
        look = f"cat pkg/a.py; ls {suite} || echo hidden; sleep 60 & echo $! > pid"
        shown = use(world, "run_command", command=look)
        assert shown.startswith("exit status 0\na = 1\n")
        assert shown.endswith("hidden")
        use(world, "write_file", path="new.txt", content="of a tool")
        assert use(world, "run_command", command="cat new.txt; kill -0 $(cat pid) && echo alive").endswith(
            "of a toolalive"
        )
        with pytest.raises(ToolFailed, match="more than 1,000 processes and threads"):
            use(world, "run_command", command=f"{sys.executable} -c '{CROWD}'")
        assert use(world, "run_command", command="echo on") == "exit status 0\non"
        world.close()
        assert sorted(world.state()) == ["new.txt", "pid", "pkg/a.py", "run.sh"]


FILL = "for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > f$i; done; sleep 20"
HOLD = "import time; held = b'x' * 100_000_000; time.sleep(20)"


@pytest.mark.parametrize("kind", ["none", *([] if probe() else ["bubblewrap"])])
@pytest.mark.parametrize(
    ("key", "most", "command", "told"),
    [
        ("processes", 30, f"{sys.executable} -c '{CROWD}'", "there were more than 30 processes and threads; let it"),
        (
            "memory_mb",
            180,
            f'{sys.executable} -c "{HOLD}" & {sys.executable} -c "{HOLD}"',
            "more than 180 MB of memory",
        ),
        ("disk_mb", 4, FILL, "held more than 4 MB; remove what is not needed"),
    ],
)
def test_each_bound_is_a_key_and_the_model_is_told_which_it_met(
    suite: Path, kind: Any, key: str, most: int, command: str, told: str
) -> None:
    with TrialGround(suite, Sandbox(kind=kind)) as ground:
        world: WorkspaceWorld = Workspace(**{key: most}).open(ground)  # type: ignore[arg-type]  # each is a whole number
        with pytest.raises(ToolFailed, match=told):
            use(world, "run_command", command=command)
        assert use(world, "run_command", command="rm -f f*; echo on") == "exit status 0\non"
        world.close()
