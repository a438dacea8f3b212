"""Suite files: what they become, and every way in which they are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from load_parts import complaints, installed

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Spec, Suite, Task
from evalkit.load.forms import TASK
from evalkit.load.suite import load_suite


@pytest.fixture(autouse=True)
def _parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(text: str) -> Suite:
    """Write a suite file and load it."""
    Path("s.yaml").write_text(text)
    return load_suite(Path("s.yaml"))


def refused(text: str) -> list[str]:
    """Write a suite file and give what is told of it."""
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    return complaints(caught.value)


HEAD = "version: 1\nsuite: desk\ntasks:\n"
TASKS = HEAD + "  - {id: a, prompt: do, graders: [{kind: looks}]}\n"


def test_a_small_suite_gets_the_defaults_of_core() -> None:
    suite = load(TASKS)
    usual = Task(suite="desk", id="a", prompt="do", graders=(Spec(kind="looks"),), base=str(Path.cwd()))
    assert suite == Suite(name="desk", tasks=(usual,), source="s.yaml")


def test_everything_that_a_task_may_hold() -> None:
    Path("c.yaml").write_text("version: 1")
    Path("f.sql").write_text("x")
    suite = load(
        """# yaml-language-server: $schema=../evalkit/load/suite.schema.json
version: 1
suite: desk
configs: [c.yaml]
tasks:
  - id: refund
    prompt: |
      My order arrived broken.
    tags: [refund, hard]
    trials: 3
    count_capped: graded
    environment: {kind: world, folder: f.sql}
    tools: [{kind: hammer}]
    checks: [{kind: looks, wait: 90s}]
    graders:
      - {kind: looks, either: 1.5, inner: [{word: x}]}
    simulate: {steps: [{tool: hammer, args: {at: 1}}], answer: done}
"""
    )
    (task,) = suite.tasks
    assert suite.configs == ("c.yaml",)
    assert (task.prompt, task.tags, task.trials, task.count_capped) == (
        "My order arrived broken.\n",
        ("refund", "hard"),
        3,
        "graded",
    )
    assert task.environment == Spec(kind="world", options={"folder": "f.sql"})
    assert task.checks == (Spec(kind="looks", options={"wait": "90s"}),)
    assert task.graders == (Spec(kind="looks", options={"either": 1.5, "inner": [{"word": "x"}]}),)
    assert task.simulate == {"steps": [{"tool": "hammer", "args": {"at": 1}}], "answer": "done"}
    assert list(task.files) == ["f.sql"]


def test_a_task_replaces_defaults_whole_and_joins_tags() -> None:
    suite = load(
        """version: 1
suite: desk
defaults:
  trials: 4
  tags: [all, b]
  environment: {kind: world, folder: ''}
  graders: [{kind: looks, either: usual}]
  simulate: {steps: [], answer: usual}
tasks:
  - {id: one, prompt: do}
  - {id: two, prompt: do, trials: 2, tags: [b, own], environment: {kind: bare}, graders: [{kind: looks}], simulate: {steps: [], answer: own}}
""".replace(", folder: ''", "")
    )
    one, two = suite.tasks
    assert (one.trials, one.tags, one.environment.kind, one.simulate["answer"]) == (4, ("all", "b"), "world", "usual")
    assert one.graders == (Spec(kind="looks", options={"either": "usual"}),)
    assert (two.trials, two.tags, two.environment.kind, two.simulate["answer"]) == (
        2,
        ("all", "b", "own"),
        "bare",
        "own",
    )
    assert two.graders == (Spec(kind="looks"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("version: 1\ntasks: []", ["s.yaml:1:1: the key 'suite' is missing (name the suite: `suite: my-suite`)", "s.yaml:2:8: `tasks` wants a length of at least 1, got an empty list"]),
        ("suite: x\ntasks: {a: b}", ["s.yaml:1:1: the key 'version' is missing (begin with `version: 1`)", "s.yaml:2:8: `tasks` wants a list, got a mapping (write it as [ … ], or one line each behind a dash)"]),
        (HEAD.replace("desk", "' x'") + "  - 3", ["s.yaml:2:8: `suite`: a name has no blanks around it, no line breaks and no control characters", "s.yaml:4:5: `tasks` wants a mapping, got the number 3"]),
        (TASKS + "taks: 1", ["s.yaml:5:1: unknown key 'taks' (did you mean 'tasks'?)"]),
        (TASKS + "other: 1", ["s.yaml:5:1: unknown key 'other' (there are: configs, defaults, suite, tasks, version)"]),
        (TASKS.replace("id: a", "id: 7"), ["s.yaml:4:10: `id` wants text, got the number 7 (write it in quotes: '7')"]),
        (TASKS.replace("id: a", "id: true"), ["s.yaml:4:10: `id` wants text, got true (write it in quotes: 'true')"]),
        (TASKS.replace("id: a", "id: ''"), ["s.yaml:4:10: `id`: a name is a text of at least one letter or digit"]),
        (TASKS.replace("id: a", 'id: "a\\nb"'), ["s.yaml:4:10: `id`: a name has no blanks around it, no line breaks and no control characters"]),
        (TASKS.replace("id: a", "id: " + "x" * 201), ["s.yaml:4:10: `id`: a name has at most 200 characters, this one has 201"]),
        (TASKS.replace("id: a, ", ""), ["s.yaml:4:5: the key 'id' is missing (name the task)"]),
        (TASKS.replace("prompt: do", "prompt: ' '"), ["s.yaml:4:21: `prompt`: the agent is asked nothing (write a text)"]),
        (TASKS.replace("prompt: do", "prompt: [do]"), ["s.yaml:4:21: `prompt` wants text, got a list"]),
        (TASKS.replace("prompt", "promt"), ["s.yaml:4:5: the key 'prompt' is missing (say what the agent is asked)", "s.yaml:4:13: unknown key 'promt' (did you mean 'prompt'?)"]),
        (TASKS.replace("kind: looks", "kind: look"), ["s.yaml:4:42: there is no check of kind 'look' (did you mean 'looks'?)"]),
        (TASKS.replace("{kind: looks}", "looks"), ["s.yaml:4:35: a check wants a mapping, got the text 'looks' (write {kind: looks})"]),
        (TASKS.replace("kind: looks", "kind: 3"), ["s.yaml:4:42: a kind is text, got the number 3 (there are: {checks})"]),
        (TASKS.replace("{kind: looks}", "{file: x}"), ["s.yaml:4:35: a check wants a `kind` (there are: {checks})"]),
        (TASKS.replace("[{kind: looks}]", "{kind: looks}"), ["s.yaml:4:34: `graders` wants a list, got a mapping (write it as [ … ], or one line each behind a dash)"]),
        (TASKS.replace(", graders: [{kind: looks}]", ""), ["s.yaml:4:5: the key 'graders' is missing (say what decides the trial, in the task or in `defaults`)"]),
        (TASKS.replace("[{kind: looks}]", "[]"), ["s.yaml:4:34: `graders` wants a length of at least 1, got an empty list"]),
        (TASKS.replace("looks", "lost"), ["s.yaml:4:42: the part cannot be loaded: No module named 'evalkit_no_such_module' (is its package installed whole?)"]),
        (TASKS.replace("looks", "nameless"), ["s.yaml:4:42: the part cannot be loaded: module 'evalkit_test_parts' has no attribute 'Nameless' (is its package installed whole?)"]),
        (TASKS.replace("looks", "looks, wiat: 3s"), ["s.yaml:4:49: unknown key 'wiat' (did you mean 'wait'?)"]),
        (TASKS.replace("looks", "looks, wait: 30"), ["s.yaml:4:55: `wait`: a duration wants a unit (write 30s, 30m or 30h)"]),
        (TASKS.replace("looks", "looks, wait: soon"), ["s.yaml:4:55: `wait`: not a duration (write a number and a unit, such as 500ms, 90s, 5m or 1h)"]),
        (TASKS.replace("looks", "looks, wait: 0s"), ["s.yaml:4:55: `wait` wants more than 0, got the text '0s'"]),
        (TASKS.replace("looks", "looks, wait: 9000h"), ["s.yaml:4:55: `wait`: a duration of more than a year (write a shorter one)"]),
        (TASKS.replace("looks", "looks, either: [1]"), ["s.yaml:4:57: `either` wants text or a number or nothing, got a list".replace(" or nothing", "")]),
        (TASKS.replace("looks", "looks, either: wrong"), ["s.yaml:4:57: `either` is wrong (write right)"]),
        (TASKS.replace("looks", "looks, either: worse"), ["s.yaml:4:35: either is worse (write better)"]),
        (TASKS.replace("looks", "looks, inner: [{wird: x}]"), ["s.yaml:4:57: the key 'word' is missing", "s.yaml:4:58: unknown key 'wird' (did you mean 'word'?)"]),
        (TASKS.replace("looks", "looks, inner: [{word: x, often: 1.5}]"), ["s.yaml:4:74: `often` wants a whole number, got the number 1.5"]),
        (TASKS.replace("looks", "looks, inner: [{word: x}, {word: y}]"), ["s.yaml:4:75: `word`: one is enough"]),
        (TASKS.replace("looks", "looks, mixed: 3"), ["s.yaml:4:56: `mixed` wants a mapping or text, got the number 3 (write it in quotes: '3')"]),
        (TASKS.replace("looks", "looks, mixed: {word: 3}"), ["s.yaml:4:63: `word` wants text, got the number 3 (write it in quotes: '3')"]),
        (TASKS.replace("looks", "looks, mixed: {wird: x}"), ["s.yaml:4:56: the key 'word' is missing", "s.yaml:4:57: unknown key 'wird' (did you mean 'word'?)"]),
        (TASKS.replace("looks", "looks, inner: {word: x}"), ["s.yaml:4:56: `inner` wants a list, got a mapping (write it as [ … ], or one line each behind a dash)"]),
        (TASKS.replace("do,", "do, trials: 0,"), ["s.yaml:4:33: `trials` wants at least 1, got the number 0"]),
        (TASKS.replace("do,", "do, trials: 10001,"), ["s.yaml:4:33: `trials` wants at most 10000, got the number 10001"]),
        (TASKS.replace("do,", "do, trials: eight,"), ["s.yaml:4:33: `trials` wants a whole number, got the text 'eight'"]),
        (TASKS.replace("do,", "do, trials: 2.5,"), ["s.yaml:4:33: `trials` wants a whole number, got the number 2.5"]),
        (TASKS.replace("do,", "do, count_capped: fail,"), ["s.yaml:4:39: `count_capped` wants 'failed' or 'graded', got the text 'fail' (did you mean 'failed'?)"]),
        (TASKS.replace("do,", "do, tags: [a, 3],"), ["s.yaml:4:35: `tags` wants text, got the number 3 (write it in quotes: '3')"]),
        (TASKS.replace("do,", "do, tags: a,"), ["s.yaml:4:31: `tags` wants a list, got the text 'a' (write it as [ … ], or one line each behind a dash)"]),
        (TASKS.replace("do,", "do, environment: bare,"), ["s.yaml:4:38: an environment wants a mapping, got the text 'bare' (write {kind: bare})"]),
        (TASKS.replace("do,", "do, environment: {kind: bare, x: 1},"), ["s.yaml:4:51: unknown key 'x' (there are none)"]),
        (TASKS.replace("do,", "do, tools: [{kind: hamer}],"), ["s.yaml:4:40: there is no tool of kind 'hamer' (did you mean 'hammer'?)"]),
        (TASKS.replace("do,", "do, simulate: {steps: [], answr: x},"), ["s.yaml:4:35: the key 'answer' is missing", "s.yaml:4:47: unknown key 'answr' (did you mean 'answer'?)"]),
        (TASKS.replace("do,", "do, simulate: {steps: [{tool: a, needs: [x]}], answer: b},"), ["s.yaml:4:61: `needs`: 'x' is shown by no earlier turn; name it in the `shows` of the step that brings it"]),
        (TASKS + "  - {id: a, prompt: do, graders: [{kind: looks}]}", ["s.yaml:5:10: the id 'a' again (the task at s.yaml:4:10 has it)"]),
        (TASKS + "configs: [no.yaml]", ["s.yaml:5:11: there is no file 'no.yaml' (paths start from the suite's folder)"]),
        (TASKS + "configs: no.yaml", ["s.yaml:5:10: `configs` wants a list, got the text 'no.yaml' (write it as [ … ], or one line each behind a dash)"]),
        (TASKS + "defaults: {id: x}", ["s.yaml:5:12: unknown key 'id' (did you mean 'tags'?)".replace("did you mean 'tags'?", "there are: checklist, checks, count_capped, environment, graders, simulate, tags, tools, trials")]),
        (TASKS + "defaults: {trials: many}", ["s.yaml:5:20: `trials` wants a whole number, got the text 'many'"]),
        (TASKS + "defaults: {environment: {kind: wrld}}", ["s.yaml:5:32: there is no environment of kind 'wrld' (did you mean 'world'?)"]),
        (TASKS + "defaults: [trials]", ["s.yaml:5:11: `defaults` wants a mapping, got a list"]),
        (TASKS.replace("looks", "looks, file: no.txt"), ["s.yaml:4:55: there is no file 'no.txt' (paths start from the suite's folder)"]),
        (TASKS.replace("looks", "looks, more: [s.yaml, s.yml]"), ["s.yaml:4:64: there is no file 's.yml' (did you mean 's.yaml'?)"]),
    ],
    ids=lambda value: value[0][7:60] if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_mend(text: str, told: list[str]) -> None:
    from evalkit.parts import kinds  # noqa: PLC0415  # the kinds there are while the test's parts are installed

    assert refused(text) == [line.replace("{checks}", ", ".join(kinds("checks")[:20])) for line in told]


def test_all_tasks_are_checked_and_a_wrong_default_is_told_once() -> None:
    told = refused(
        HEAD
        + "  - {id: a, prompt: do}\n  - {id: b, prompt: do}\n  - {id: c, prompt: do, trials: x}\n"
        + "defaults: {graders: [{kind: looks, wait: 3}], tags: [1]}\n"
    )
    assert [line.split(": ")[0] for line in told] == ["s.yaml:6:33", "s.yaml:7:42", "s.yaml:7:54"]


def test_a_value_that_cannot_be_read_is_told_once() -> None:
    assert len(refused(TASKS.replace("do,", "do, trials: 010,"))) == 1
    assert len(refused(TASKS.replace("id: a", "id: on"))) == 1


def test_a_sentence_about_a_long_text_is_cut() -> None:
    (told,) = refused(TASKS + f"? {'x' * 100_000}\n: 1\n")
    assert len(told) < 700
    (told,) = refused(TASKS + f"configs: [{'x' * 100_000}]\n")
    assert len(told) < 700


def test_the_base_is_the_folder_of_the_suite_wherever_it_is_loaded_from(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "s.yaml").write_text(TASKS)
    assert load_suite(Path("deep/s.yaml")).tasks[0].base == str(tmp_path / "deep")
    assert load_suite(Path("deep/../deep/s.yaml")).tasks[0].base == str(tmp_path / "deep")


def test_the_form_of_a_task_has_core_s_fields() -> None:
    assert {one.name for one in fields(Task)} - {one.name for one in fields(TASK)} == {"suite", "base", "files"}
