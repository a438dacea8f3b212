"""Several files as one plan, and the promise that bad files give one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from load_parts import complaints, installed

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Config, Gate, Suite
from evalkit.load import load
from evalkit.load.config import load_config
from evalkit.load.suite import load_suite


@pytest.fixture(autouse=True)
def _parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def suite(name: str, rest: str = "", task: str = "t") -> Path:
    """Write a suite file of one task."""
    path = Path(f"{name}.yaml")
    path.write_text(
        f"version: 1\nsuite: {name}\ntasks: [{{id: {task}, prompt: do, graders: [{{kind: looks}}]}}]\n{rest}"
    )
    return path


def config(name: str, variants: str = "{a: }", rest: str = "") -> Path:
    """Write a config file."""
    path = Path(f"{name}.yaml")
    path.write_text(f"version: 1\ncommon: {{provider: {{kind: free}}}}\nvary: [/caps]\nvariants: {variants}\n{rest}")
    return path


def told(suites: list[Path], configs: list[Path]) -> list[str]:
    """What is told of some files."""
    with pytest.raises(ConfigurationError) as caught:
        load(suites, configs)
    return complaints(caught.value)


def test_suites_bring_their_own_configs_where_none_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("deep").mkdir()
    config("deep/own", "{own: }")
    suites = (suite("deep/one", "configs: [own.yaml]"), suite("two"))
    suites[0].write_text(suites[0].read_text().replace("deep/one", "one"))
    monkeypatch.chdir(tmp_path / "deep")
    read, found = load([Path("one.yaml"), Path("../two.yaml")], [])
    assert [one.name for one in read] == ["one", "two"]
    assert ([variant.name for variant in found.variants], found.source) == (["own"], "own.yaml")
    _, found = load([Path("one.yaml")], [config("../given", "{given: }")])
    assert [variant.name for variant in found.variants] == ["given"]


def test_without_any_config_it_says_so() -> None:
    assert told([suite("one")], []) == [
        "one.yaml: no variants to run: the suite names no `configs`, and none were given (add `configs: [PATH]` to the suite, or name a config with -c)"
    ]
    assert told([], []) == ["suites: no suite file was given (name at least one, such as suites/my.yaml)"]


def test_configs_are_merged() -> None:
    first = config("c", "{a: , b: {caps: {turns: 1}}}", "gates: [{min: 0.5}, {variant: z, min: 0.5}]\nbaseline: z")
    second = config("d", "{z: {caps: {turns: 2}}, a: }", "gates: [{min: 0.5}, {min: 0.6}]\nbaseline: z")
    _, found = load([suite("one")], [first, second, Path("./c.yaml")])
    assert [(variant.name, variant.source) for variant in found.variants] == [
        ("a", "c.yaml"),
        ("b", "c.yaml"),
        ("z", "d.yaml"),
    ]
    assert found.baseline == "z"
    assert found.gates == (Gate(min=0.5), Gate(variant="z", min=0.5), Gate(min=0.6))
    assert found.source == "c.yaml, d.yaml"


def test_configs_that_contradict_each_other() -> None:
    first = config("c", "{a: {caps: {turns: 1}}}", "baseline: a")
    second = config("d", "{a: {caps: {turns: 2, tokens: 3}}, b: {caps: {turns: 2}}}", "baseline: b")
    assert told([suite("one")], [first, second]) == [
        "d.yaml:4:12: the variant 'a' differs in /caps/tokens, /caps/turns from that in c.yaml (rename one of them)",
        "d.yaml:5:11: the baseline is 'a' in c.yaml (name one baseline)",
    ]


def test_names_are_checked_over_all_files() -> None:
    first = config(
        "c", "{a: }", "gates: [{variant: b, min: 0.5}, {variant: c, min: 0.5}, {task: tt, min: 0.5}]\nbaseline: d"
    )
    second = config("d", "{b: {caps: {turns: 1}}}")
    assert told([suite("one")], [first, second]) == [
        "c.yaml:5:43: there is no variant 'c' (there are: a, b)",
        "c.yaml:5:64: there is no task 'tt' (did you mean 't'?)",
        "c.yaml:6:11: the baseline 'd' is no variant (there are: a, b)",
    ]


def test_suites_of_one_name_are_refused_and_one_file_named_twice_is_read_once() -> None:
    one, other = suite("one", "configs: [c.yaml]"), suite("other", "configs: [c.yaml]")
    config("c")
    other.write_text(other.read_text().replace("suite: other", "suite: one"))
    assert told([one, other], []) == [
        "other.yaml: the suite is called 'one', as that in one.yaml is (rename one of them)"
    ]
    read, _ = load([one, Path("../") / Path.cwd().name / "one.yaml"], [])
    assert len(read) == 1


def test_all_problems_of_all_files_are_told_at_once() -> None:
    suites = [suite("one", "x: 1"), suite("two", "y: 010"), Path("none.yaml")]
    configs = [config("c", "{a: {caps: {turns: 0}}}", "gates: [{}]"), config("d", "{b: {loop: {kind: no}}}")]
    assert [line.split(": ")[0] for line in told(suites, configs)] == [
        "one.yaml:4:1",
        "two.yaml:4:1",
        "two.yaml:4:4",
        "none.yaml",
        "c.yaml:4:30",
        "c.yaml:5:9",
        "d.yaml:4:29",
    ]


def test_a_config_that_a_suite_names_and_that_is_not_there_is_told_once() -> None:
    assert told([suite("one", "configs: [no.yaml]")], []) == [
        "one.yaml:4:11: there is no file 'no.yaml' (paths start from the suite's folder)"
    ]


KEYS = st.sampled_from(
    [
        "version",
        "suite",
        "tasks",
        "configs",
        "defaults",
        "id",
        "prompt",
        "graders",
        "checks",
        "environment",
        "tools",
        "tags",
        "simulate",
        "trials",
        "count_capped",
        "kind",
        "file",
        "by",
        "inner",
        "either",
        "wait",
        "steps",
        "answer",
        "tool",
        "args",
        "extends",
        "baseline",
        "vary",
        "common",
        "variants",
        "matrix",
        "gates",
        "provider",
        "loop",
        "context",
        "caps",
        "retries",
        "errors",
        "max_tokens",
        "turns",
        "tokens",
        "seconds",
        "usd",
        "metric",
        "variant",
        "task",
        "min",
        "max",
        "max_drop",
        "a",
        "/caps/turns",
        "/loop",
        "/caps",
        "model",
        "script",
        "usd_price",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 10)
    | st.sampled_from([0.5, 1.5, -1.0])
    | st.sampled_from(
        ["looks", "free", "scripted", "react", "bare", "world", "hammer", "full", "window", "90s", "pass^8", "a"]
    )
    | st.sampled_from(["/loop", "/caps/turns", "f.yaml", "s.py:x", ".", "..", "failed", "verbatim", "", "x\n", "\x07"])
)
TREES = st.recursive(
    LEAVES, lambda under: st.lists(under, max_size=3) | st.dictionaries(KEYS, under, max_size=5), max_leaves=25
)
PARTS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["looks", "free", "scripted", "react", "window", "world"])},
    optional={"file": LEAVES, "turns": LEAVES, "inner": TREES, "script": TREES},
)
ROUGH_TASK = st.fixed_dictionaries(
    {"id": LEAVES, "prompt": LEAVES, "graders": st.lists(PARTS, max_size=2)},
    optional={"tags": TREES, "trials": LEAVES, "environment": PARTS, "simulate": TREES},
)
ROUGH_SUITE = st.fixed_dictionaries(
    {"version": st.just(1), "suite": LEAVES, "tasks": st.lists(ROUGH_TASK | TREES, max_size=3) | TREES},
    optional={"defaults": TREES, "configs": TREES},
)
ROUGH_VARIANT = st.fixed_dictionaries(
    {}, optional={"provider": PARTS, "loop": PARTS, "context": PARTS, "caps": TREES, "retries": TREES, "errors": LEAVES}
)
ROUGH_CONFIG = st.fixed_dictionaries(
    {"version": st.just(1), "variants": st.dictionaries(KEYS, ROUGH_VARIANT | TREES, max_size=3) | TREES},
    optional={"common": ROUGH_VARIANT, "vary": TREES, "matrix": st.dictionaries(KEYS, st.lists(TREES, max_size=3) | TREES, max_size=3), "gates": st.lists(TREES, max_size=3), "baseline": LEAVES, "extends": LEAVES},
)  # fmt: skip
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def attempt(loader: Callable[[Path], Any]) -> Any:
    """Load the file that was written; give the plan or the error."""
    try:
        return loader(Path("f.yaml"))
    except ConfigurationError as error:
        return error


def outcome(text: str) -> tuple[Any, Any]:
    """Load a text as a suite and as a config; each gives a plan or a `ConfigurationError` that says where."""
    Path("f.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    found = attempt(load_suite), attempt(load_config)
    for one in found:
        if isinstance(one, ConfigurationError):
            assert one.problems
            assert all(problem.what and problem.where.startswith("f.yaml") for problem in one.problems)
    return found


@QUIET
@given(TREES | ROUGH_SUITE)
def test_any_tree_is_a_suite_or_a_configuration_error(tree: object) -> None:
    found, _ = outcome(json.dumps(tree))
    assert isinstance(found, Suite | ConfigurationError)
    if isinstance(found, Suite):
        assert all(task.digest for task in found.tasks)


@QUIET
@given(TREES | ROUGH_CONFIG)
def test_any_tree_is_a_config_or_a_configuration_error(tree: object) -> None:
    _, found = outcome(json.dumps(tree))
    assert isinstance(found, Config | ConfigurationError)
    if isinstance(found, Config):
        assert all(variant.digest for variant in found.variants)


@QUIET
@given(st.text(max_size=80).map(lambda text: f"version: 1\n{text}"))
def test_any_text_is_a_plan_or_a_configuration_error(text: str) -> None:
    suite_of, config_of = outcome(text)
    assert isinstance(suite_of, Suite | ConfigurationError)
    assert isinstance(config_of, Config | ConfigurationError)
