"""`evalkit init`: what it writes is fine at once, runs to a report at once, and is written over nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalkit.cli.main import main
from evalkit.load import load
from evalkit.parts._sandbox import probe

KINDS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "command": ("--agent", "command"),
    "python": ("--agent", "python"),
    "a program of one's own": ("--run", f"{sys.executable} -c 'import sys; print(sys.argv[1][:5])' {{prompt}}"),
}


class Done(NamedTuple):
    """What a call of the command line gave."""

    code: int
    out: str
    err: str


Call = Callable[..., Done]


@pytest.fixture
def evalkit(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line in a fresh folder; in this process, because starting one takes a second each time."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Done:
        """Call it once."""
        capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
        return Done(code, *capsys.readouterr())

    return call


def everything(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_fine_at_once_runs_to_a_report_and_can_be_judged(evalkit: Call, kind: str, tmp_path: Path) -> None:
    made = evalkit("init", *KINDS[kind])
    assert (made.code, made.err) == (0, "")
    checked = evalkit("validate", "suite.yaml", "config.yaml")
    assert (checked.code, checked.err, "warning" in checked.out) == (0, "", False), checked
    run = evalkit("run", "suite.yaml", "-n", "2", "--progress", "none")
    assert run.code == 0, run.err
    assert list(tmp_path.glob("reports/*/report.html"))
    shown: dict[str, Any] = json.loads(evalkit("show", "latest", "--json").out)
    assert shown["completeness"]["errors"] == shown["completeness"]["missing"] == 0
    assert kind not in ("plain", "command", "python") or all(one["passed"] for one in shown["variants"].values())
    told = [line.split("#")[0].split() for line in made.out.splitlines() if line.startswith("  evalkit")]
    for words in told[1:]:
        assert evalkit(*words[1:]).code == 0, words
    assert evalkit("gate", "latest", "--min", "pass^2>=0.5").code in (0, 1, 3)


def test_what_is_told_next_can_be_copied_from_where_one_stands(evalkit: Call, tmp_path: Path) -> None:
    made = evalkit("init", "my tries", "--agent", "command")
    assert "evalkit run 'my tries/suite.yaml'" in made.out
    assert (tmp_path / "my tries" / "agent.py").is_file()
    assert os.listdir(tmp_path) == ["my tries"]  # noqa: PTH208  # names alone are wanted


@pytest.mark.parametrize("name", ["suite.yaml", "project", "graders"])
@pytest.mark.parametrize("sort", ["file", "folder", "dangling link"])
def test_nothing_is_written_over_and_nothing_beside_it(evalkit: Call, name: str, sort: str, tmp_path: Path) -> None:
    there = tmp_path / name
    if sort == "file":
        there.write_text("mine")
    elif sort == "folder":
        there.mkdir()
    else:
        there.symlink_to(tmp_path / "nowhere")
    made = evalkit("init")
    assert made.code == 2
    assert f"{name} is there already" in made.err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_where_one_file_cannot_be_written_none_is_left(evalkit: Call, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    for folder in ("taken/in", "/proc/evalkit"):
        made = evalkit("init", folder)
        assert (made.code, "nothing was written" in made.err) == (2, True), made
    (tmp_path / "kept").mkdir()
    words = ("/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh", sys.executable, "-P", "-m", "evalkit", "init", "kept/a/b")
    full = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (full.returncode, "cannot be written: File too large" in full.stderr) == (2, True), full.stderr
    assert everything(tmp_path) == {"taken": b"mine"}
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_program_beside_the_config_is_found_from_a_tasks_folder(evalkit: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("echo web.ini\n")
    (tmp_path / "elsewhere.sh").write_text("echo web.ini\n")
    assert evalkit("init", "--run", 'sh mine.sh "{prompt}"').code == 0
    assert evalkit("init", "in", "--run", "sh ./elsewhere.sh").code == 0
    assert '["sh", "{here}/mine.sh", "{prompt}"]' in (tmp_path / "config.yaml").read_text()
    assert '["sh", "{here}/../elsewhere.sh"]' in (tmp_path / "in" / "config.yaml").read_text()
    run = evalkit("run", "suite.yaml", "-n", "1", "--task", "find-port", "--json")
    assert json.loads(run.out)["variants"]["mine"]["passed"] == 1


def test_a_line_for_the_shell_stays_one_and_events_are_seen(evalkit: Call, tmp_path: Path) -> None:
    odd = "say \x7f\u2028\U000e0001 'é 😀' #"
    assert evalkit("init", "odd", "--run", odd).code == 0
    variant = load([tmp_path / "odd" / "suite.yaml"], [])[1].variants[0]
    assert variant.loop.options == {"run": ["say", "\x7f\u2028\U000e0001", "é 😀", "#"]}
    assert evalkit("init", "line", "--run", 'cat | tee "$HOME/log"').code == 0
    variant = load([tmp_path / "line" / "suite.yaml"], [])[1].variants[0]
    assert variant.loop.options == {"run": 'cat | tee "$HOME/log"'}
    words = '/bin/echo -p "{prompt}" --output-format stream-json'
    assert evalkit("init", "claude", "--run", words).code == 0
    variant = load([tmp_path / "claude" / "suite.yaml"], [])[1].variants[0]
    assert variant.loop.options["events"] == "stream-json"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--run", ""), "is empty"),
        (("--run", "'"), "close all quotes"),
        (("--run", 'cat "{prompt}" | head'), "EVALKIT_PROMPT_FILE"),
        (("--run", "x", "--agent", "python"), "--agent command"),
        (("--agent", "pythn"), "choose from"),
        (("--run", "\udcff"), "--run"),
    ],
)
def test_what_cannot_be_run_is_told_and_nothing_is_written(
    evalkit: Call, words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    made = evalkit("init", *words)
    assert (made.code, told in made.err) == (2, True), made
    assert everything(tmp_path) == {}


def test_a_program_that_is_not_there_is_told_and_may_come_later(evalkit: Call, tmp_path: Path) -> None:
    made = evalkit("init", "--run", 'no-such-agent "{prompt}"')
    assert (made.code, "no program 'no-such-agent'" in made.err) == (0, True)
    assert evalkit("validate", "suite.yaml").code == 0


def test_a_file_beside_the_config_that_would_not_be_found_is_a_warning(evalkit: Call, tmp_path: Path) -> None:
    assert evalkit("init", "--agent", "command").code == 0
    config = tmp_path / "config.yaml"
    config.write_text(config.read_text().replace("{here}/agent.py", "agent.py"))
    assert "write {here}/agent.py" in evalkit("validate", "suite.yaml").out


def test_an_agent_that_never_starts_is_told_with_its_own_words(evalkit: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text('. ./beside.sh || exit 1; . "$(dirname "$0")/beside.sh"\n')
    assert evalkit("init", "--run", "sh mine.sh").code == 0
    words = ("run", "suite.yaml", "-n", "1", "--progress", "none", "--no-report")
    told = evalkit(*words).err
    assert "every trial of mine ended with agent_error" in told
    assert "beside.sh" in told
    assert ("name more under `files` or `readable`" in told) == (not probe())
    assert "name more" not in evalkit(*words, "--new", "--sandbox", "none").err
    (tmp_path / "mine.sh").write_text("echo no\n")
    assert "every trial" not in evalkit(*words, "--new").err


def test_what_a_program_imports_from_beside_it_is_found_and_counts_in_its_identity(
    evalkit: Call, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        'import os, deep.er\nfrom near import ANSWER\nif __name__ == "__main__":\n    print(ANSWER)\n'
    )
    (tmp_path / "near.py").write_text("ANSWER = 'web.ini'\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "er.py").write_text("import far, mine, os.path\n")
    (tmp_path / "far.py").write_text("def broken(:\n")
    (tmp_path / "near.py").write_text("ANSWER = 'web.ini'\n")
    (tmp_path / "aloof.py").write_text("")
    assert evalkit("init", "in", "--run", 'python3 mine.py "{prompt}"').code == 0
    assert 'files: ["../deep", "../far.py", "../near.py"] ' in (tmp_path / "in" / "config.yaml").read_text()
    assert "warning" not in evalkit("validate", "in/suite.yaml").out
    (tmp_path / "far.py").write_text("")
    config = tmp_path / "in" / "config.yaml"
    for files in ('files: ["../deep", "../far.py", "../near.py"]', "files: [../far.py]"):
        config.write_text(config.read_text().replace('files: ["../deep", "../far.py", "../near.py"]', files))
        run = evalkit("run", "in/suite.yaml", "-n", "1", "--task", "find-port", "--json", "--new", "--no-report")
        assert json.loads(run.out)["variants"]["mine"]["passed"] == 1, run.err
    assert "the agent imports ../deep, ../near.py: name that" in evalkit("validate", "in/suite.yaml").out
    config.write_text(config.read_text().replace("{here}/../mine.py", str(tmp_path / "mine.py")))
    assert "write {here}/../mine.py" in evalkit("validate", "in/suite.yaml").out
