"""Files that parts use: found, hashed, refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from load_parts import complaints, installed

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Task
from evalkit.load import files as hashing
from evalkit.load.suite import load_suite


@pytest.fixture(autouse=True)
def _parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suites").mkdir()
    monkeypatch.chdir(tmp_path / "suites")


def task(options: str) -> Task:
    """Load a task whose grader has some options."""
    grader = f"graders: [{{kind: looks, {options}}}]"
    Path("s.yaml").write_text(f"version: 1\nsuite: desk\ntasks:\n- id: a\n  prompt: do\n  {grader}\n")
    return load_suite(Path("s.yaml")).tasks[0]


def told(options: str) -> list[str]:
    """What is told of a grader's options, without the place."""
    with pytest.raises(ConfigurationError) as caught:
        task(options)
    lines = complaints(caught.value)
    assert all(line.startswith("s.yaml:6:") for line in lines)
    return [line.split(": ", 1)[1] for line in lines]


def hashed(content: bytes) -> str:
    """The digest of some bytes."""
    return sha256(content).hexdigest()


def write(path: str, content: str = "") -> None:
    """Write a file and the folders that it is in."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content)


def test_files_and_folders_are_hashed_by_path_and_bytes() -> None:
    write("one.txt", "1")
    write("tree/b/c.txt", "c")
    write("tree/a.txt", "a")
    write("tree/__pycache__/x.pyc", "x")
    write("../shared/s.sql", "s")
    found = task("file: ./one.txt, more: [tree, ../shared/s.sql]").files
    assert found == {
        "one.txt": hashed(b"1"),
        "tree/a.txt": hashed(b"a"),
        "tree/b/c.txt": hashed(b"c"),
        "../shared/s.sql": hashed(b"s"),
    }


def test_an_edited_file_makes_another_task_wherever_the_suite_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("tree/a.txt", "a")
    before = task("more: [tree]").digest
    write("../elsewhere/tree/a.txt", "a")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert task("more: [tree]").digest == before
    write("tree/a.txt", "b")
    edited = task("more: [tree]").digest
    write("tree/a.txt", "a")
    write("tree/new.txt", "")
    assert len({before, edited, task("more: [tree]").digest}) == 3


def test_a_file_that_no_option_names_as_one_counts_for_nothing() -> None:
    write("one.txt", "1")
    assert task("either: one.txt").files == {}


def test_a_file_is_hashed_once_for_all_tasks() -> None:
    write("one.txt", "1")
    rows = "".join(
        f"- {{id: t{n}, prompt: do, graders: [{{kind: looks, file: {name}}}]}}\n"
        for n, name in enumerate(["one.txt"] * 3 + ["no"] * 2)
    )
    write("s.yaml", f"version: 1\nsuite: desk\ntasks:\n{rows}")
    with pytest.raises(ConfigurationError) as caught:
        load_suite(Path("s.yaml"))
    assert len(complaints(caught.value)) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("file: q.sql", "there is no file 'q.sql' (paths start from the suite's folder)"),
        ("file: oen.txt", "there is no file 'oen.txt' (did you mean 'one.txt'?)"),
        ("file: lost/one.txt", "there is no file 'lost/one.txt' (nor is there a folder 'lost'; paths start from the suite's folder)"),
        ("file: one.txt/x", "one.txt/x cannot be read: not a directory"),
        ("file: link", "link is a symbolic link (put the file itself there)"),
        ("file: dangling", "dangling is a symbolic link (put the file itself there)"),
        ("file: linked", "linked/deep/link is a symbolic link (put the file itself there)"),
        ("file: pipe", "pipe is neither a file nor a folder"),
        ("file: ''", "wants a path, got an empty text"),
        ("file: " + "x" * 300, f"{'x' * 300} cannot be read: file name too long"),
        ("file: odd", "'odd/\\udcff' has a name that is no UTF-8 (rename it)"),
    ],
)  # fmt: skip
def test_paths_that_cannot_be_used(options: str, sentence: str) -> None:
    write("one.txt", "1")
    Path("link").symlink_to("one.txt")
    Path("dangling").symlink_to("nowhere")
    write("linked/deep/file")
    Path("linked/deep/link").symlink_to("file")
    os.mkfifo("pipe")
    Path("odd").mkdir()
    Path(os.fsdecode(b"odd/\xff")).write_text("")
    assert told(options) == [sentence]


def test_a_folder_that_nobody_may_read() -> None:
    write("closed/file")
    Path("closed").chmod(0)
    try:
        if os.access("closed", os.R_OK):
            pytest.skip("this user may read everything")
        assert told("file: closed") == ["closed cannot be read: permission denied"]
    finally:
        Path("closed").chmod(0o700)


def test_a_tree_deeper_than_python_recurses() -> None:
    folders = ["/".join("d" * depth) for depth in range(1, 1201)]
    try:
        for folder in folders:
            Path(folder).mkdir()
        assert task("file: d").files == {}
    finally:
        for folder in reversed(folders):
            Path(folder).rmdir()


def test_a_folder_of_too_many_files_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    big = Path("big")
    big.mkdir()
    with (big / "sparse").open("wb") as file:
        file.truncate(hashing.MOST_BYTES + 1)
    assert told("file: big") == ["big holds more than 10,000 files or 1 GB (name a smaller folder)"]


SOURCE = """
import json
from os import path as where
VALUE: int = 1
a, (b, c) = 1, (2, 3)
if VALUE:
    def inside(): hidden = 1
else:
    other = 2
class Judge:
    def method(self): ...
async def late(): ...
"""


@pytest.mark.parametrize(
    "name", ["json", "where", "VALUE", "a", "c", "inside", "other", "Judge", "Judge.method", "late"]
)
def test_a_function_is_looked_for_in_its_file_and_the_file_is_hashed(name: str) -> None:
    write("code/judge.py", SOURCE)
    assert task(f'by: "code/judge.py:{name}"').files == {"code/judge.py": hashed(SOURCE.encode())}


def test_a_function_of_a_module_is_taken_at_its_word() -> None:
    assert task('by: "package.module:function"').files == {}


def test_a_star_import_may_define_anything() -> None:
    write("judge.py", "from somewhere import *")
    assert task('by: "judge.py:anything"').files


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("judge.py:jduge", "judge.py defines no 'jduge' (did you mean 'judge'?)"),
        ("judge.py:hidden", "judge.py defines no 'hidden' (there are: judge)"),
        ("jugde.py:judge", "there is no file 'jugde.py' (did you mean 'judge.py'?)"),
        ("judge.py", "the text 'judge.py' names no function (write file.py:name, relative to the suite, or module:name)"),
        (":judge", "the text ':judge' names no function (write file.py:name, relative to the suite, or module:name)"),
        ("judge.py:", "the text 'judge.py:' names no function (write file.py:name, relative to the suite, or module:name)"),
        ("judge.py:a b", "the text 'judge.py:a b' names no function (write file.py:name, relative to the suite, or module:name)"),
        ("a-b:judge", "'a-b' is no module (write file.py:name, or module:name)"),
        ("broken.py:judge", "broken.py is no Python: line 1: invalid syntax"),
        ("./folder:judge", "./folder is no Python: is a directory"),
    ],
)  # fmt: skip
def test_functions_that_are_not_there(value: str, sentence: str) -> None:
    write("judge.py", "def judge():\n    hidden = 1\n")
    write("broken.py", "def (")
    write("folder/file")
    assert told(f'by: "{value}"') == [sentence]


def test_hostile_source_is_no_traceback() -> None:
    for content in (b"x = \0", b"\xff", b"(" * 100_000, b"# coding: nonsense\n", b"x = '\\d'"):
        Path("judge.py").write_bytes(content)
        assert told('by: "judge.py:judge"')[0].startswith("judge.py ")


def test_no_code_is_run_by_loading() -> None:
    write("judge.py", "raise SystemExit('run!')\ndef judge(): ...\n")
    found: Any = task('by: "judge.py:judge"')
    assert "judge.py" in found.files
