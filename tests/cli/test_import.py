"""`evalkit import` end to end: files in, a run folder out, on which every other command works."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from import_makers import lines

from evalkit.cli import import_
from evalkit.cli.adopt import adopt
from evalkit.cli.main import main
from evalkit.cli.reading import open_run
from evalkit.cli.survey import Choices, Survey
from evalkit.core.errors import ConfigurationError, EvalkitError, RunInvalid

HOSTILE = "=cmd|' /C calc'!A0\x1b[2J\u202e<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def take(*words: str) -> int:
    """Import."""
    return import_.run(import_.COMMAND.parse(words))


def results(name: str, passes: dict[str, list[bool | None]], **more: Any) -> str:
    """Write JSON Lines: of each task, what its trials came to."""
    rows = [
        {"task_id": task, "trial": number, "passed": passed, "turns": 3, "usd": 0.01, "stop": "finished", **more}
        for task, trials in passes.items()
        for number, passed in enumerate(trials)
    ]
    return str(lines(Path(name), *rows))


def tau(name: str, *rewards: float) -> str:
    """Write tau-bench's results: one task, one trial a reward."""
    row = {"task_id": 0, "info": {"task": {"instruction": "i"}}, "traj": []}
    Path(name).write_text(
        json.dumps([{**row, "reward": reward, "trial": trial} for trial, reward in enumerate(rewards)])
    )
    return name


def test_files_of_two_variants_make_one_run_for_every_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = results("good.jsonl", {"a": [True] * 4, "b": [True, True, True, False]})
    bad = results("bad.jsonl", {"a": [True, False, True, True], "b": [False] * 4})
    assert take(good, bad, "-o", "run", "--baseline", "good") == 0
    out = capsys.readouterr().out
    assert "good.jsonl: jsonl, its name ends with .jsonl" in out
    assert "taken: 16 trials of 2 tasks of suite imported: 10 passed, 6 failed, 0 errors" in out
    assert "stops: finished 16" in out
    assert "not told by the files: tokens (unknown), seconds (unknown)" in out
    assert "run folder: run" in out
    assert main(["show", "run", "--no-color"]) == 0
    assert main(["show", "run", "a"]) == 0
    assert main(["show", "run", "a", "2", "--variant", "bad"]) == 0
    assert main(["compare", "run", "--json"]) == 0
    assert main(["report", "run"]) == 0
    assert main(["gate", "run", "--min", "pass^4[good]>=0.9"]) in (1, 3)
    assert main(["gate", "run", "--min", "pass@1[bad]>=0.99"]) == 1
    shown = capsys.readouterr().out
    assert "good" in shown
    assert "#2: failed, finished, 3 turns, $0.0100" in shown
    page = (here / "run" / "report.html").read_text()
    assert "evalkit import" in page


def test_the_run_is_the_folders_alone(here: Path) -> None:
    assert take(results("a.jsonl", {"a": [True, False]}), "-o", "deep/run") == 0
    (here / "a.jsonl").unlink()
    with open_run("deep/run").store as store:
        manifest = store.manifest
        assert [(one.outcome, one.key.index, one.nature) for one in store.records()] == [
            ("passed", 1, "live"),
            ("failed", 2, "live"),
        ]
    assert manifest.natures == {"a": "live"}
    assert manifest.settings["imported"]["formats"] == ["jsonl"]
    assert manifest.settings["imported"]["untold"] == ["input_tokens", "seconds"]
    assert sorted(path.name for path in (here / "deep").iterdir()) == ["run"]


def test_without_a_folder_one_is_made_under_reports(here: Path) -> None:
    assert take(tau("gpt.json", 1.0, 0.0)) == 0
    (folder,) = (here / "reports").iterdir()
    assert "-tau-bench-" in folder.name
    assert main(["gate", "latest", "--min", "pass@1>=0.01", "--rule", "point"]) == 0


def test_json_is_one_object_and_talk_goes_to_stderr(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert take(tau("gpt.json", 1.0, 0.0), "--json", "-o", "run") == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["variants"]["gpt"]["passed"] == 1
    assert "tau_bench" in streams.err


def test_a_simulated_run_is_badged(here: Path) -> None:
    take(tau("gpt.json", 1.0, 0.0), "--nature", "simulated", "-o", "run")
    assert open_run("run").about.natures == ("simulated",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.json"], r"absent\.json: no such file"),
        (["a.json", "--name", "x", "--name", "y"], r"--name: 2 names for 1 files"),
        (["a.json", "--task-id", "id"], r"--task-id: is for csv and jsonl, not for tau_bench"),
        (["a.json", "--scorer", "x"], r"--scorer: is for harbor and inspect_log, not for tau_bench"),
        (["a.json", "--format", "tau2_bench"], r"a\.json: character 0: is no valid JSON: expected {"),
        (["a.json", "--baseline", "gpt5"], r"--baseline gpt5: is no variant of these files .there are: a"),
        (["a.json", "-o", "full"], r"full: is not empty"),
        (["a.json", "-o", "a.json"], r"a\.json: is not empty"),
        (["a.json", "--planned", "1"], r"task '0': has 2 trials under a, but 1 were planned"),
        (["odd.txt"], r"odd\.txt: is of no format .*--format which it is: csv, harbor, inspect_log"),
        (["full"], r"full: is of no format"),
        (["half.json"], r"half\.json: result 2: the reward 0\.5 is neither 0 nor 1"),
        (["empty.jsonl"], r"empty\.jsonl: is empty"),
        (["plain.json"], r"a JSON list of plain rows is jsonl"),
    ],
)
def test_what_cannot_be_imported_is_a_sentence_and_nothing_is_written(
    here: Path, words: list[str], message: str
) -> None:
    tau("a.json", 1.0, 0.0)
    tau("half.json", 1.0, 0.5)
    Path("plain.json").write_text('[{"task": 1, "ok": true}]')
    for name in ("odd.txt", "empty.jsonl"):
        Path(name).write_text("")
    (here / "full").mkdir()
    (here / "full" / "x").write_text("")
    before = sorted(path.name for path in here.rglob("*"))
    with pytest.raises(ConfigurationError, match=message):
        take(*words)
    assert sorted(path.name for path in here.rglob("*")) == before


def test_a_format_that_could_be_several_is_asked_for(here: Path) -> None:
    log = {"version": 1, "status": "x", "eval": {"task": 1}, "info": {"agent_info": {}, "num_trials": 1}}
    Path("a.json").write_text(json.dumps(log))
    with pytest.raises(
        ConfigurationError, match=r"could be several formats: inspect_log, tau2_bench .say which with --format"
    ):
        take("a.json")


def test_an_import_that_breaks_off_leaves_no_folder(here: Path) -> None:
    path = results("a.jsonl", {"a": [True], "b": [True]})
    values = import_.COMMAND.parse([path, "-o", "run"])
    sources = import_._sources(values)
    survey = Survey(choices=Choices())
    survey.take(sources)
    found = adopt(survey)
    manifest = import_._manifest(here / "run", sources, survey, found, values)
    results("a.jsonl", {"a": [True], "b": [False]})
    with pytest.raises(RunInvalid, match=r"changed while"):
        import_._write(here / "run", manifest, sources, survey, found, "live")
    assert [one.name for one in here.iterdir()] == ["a.jsonl"]


def test_errors_are_told_and_make_the_value_a_range(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = results("a.jsonl", {"a": [True, None], "b": [True, True]})
    assert take(path, "-o", "run") == 0
    out = capsys.readouterr().out
    assert "1 trial broke, counted as error" in out
    assert "1 × the file says neither passed nor failed" in out
    assert main(["gate", "run", "--min", "pass^2>=0.1", "--max-error-rate", "0.5"]) == 3
    assert take(path, "-o", "strict", "--errors", "fail") == 0
    assert open_run("strict").table.errors.sum() == 0
    assert "counted as failed" in capsys.readouterr().out


def test_missing_trials_are_shown_where_they_were_planned(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = results("a.jsonl", {"a": [True, True, True], "b": [True]})
    assert take(path, "-o", "run", "--planned", "max") == 0
    assert "3 trials a task (1 task), 1 trial a task (1 task); 2 planned trials missing" in capsys.readouterr().out
    table = open_run("run").table
    assert table.missing.tolist() == [[0], [2]]


def test_one_task_and_one_trial_is_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert take(tau("gpt.json", 1.0), "-o", "run") == 0
    assert "one trial a task: pass^k and pass@k are defined for k = 1 only" in capsys.readouterr().out
    assert main(["show", "run"]) == 0


def test_hostile_names_reach_no_terminal_and_no_page_as_they_are(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"task_id": HOSTILE, "passed": True, "variant": HOSTILE, "suite": HOSTILE, "stop": HOSTILE, "answer": HOSTILE}
    lines(
        Path("a.jsonl"),
        {**row, "trial": HOSTILE},
        {**row, "passed": False, "error": HOSTILE},
        {**row, "task_id": "x" * 5000},
    )
    assert take("a.jsonl", "-o", "run") == 0
    assert main(["show", "run"]) == 0
    assert main(["report", "run"]) == 0
    assert main(["show", "run", "x" * 5000, "1"]) == 0
    assert main(["gate", "run", "--min", "pass@1>=0.1"]) in (0, 3, 4)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    page = (here / "run" / "report.html").read_text()
    assert "<script>alert" not in page


def test_strange_names_are_kept_apart_and_found_again(here: Path) -> None:
    names = [
        "a\x00b",
        "a b",
        " a b",
        "\ud800",
        "\u00e9",
        "e\u0301",
        "CON",
        "../../x",
        "a" * 5000,
        "a" * 4999,
        "0",
        "00",
        "=1",
    ]
    Path("a.jsonl").write_text("".join(json.dumps({"task_id": name, "passed": True}) + "\n" for name in names))
    assert take("a.jsonl", "-o", "run") == 0
    found = open_run("run")
    assert len(found.table.tasks) == len(names)
    assert found.table.missing.sum() == 0


def test_it_can_be_told_by_the_environment_and_says_where_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_THRESHOLD", "0.5")
    values = import_.COMMAND.parse(["a.json"])
    assert (values.threshold, values.origins["threshold"]) == (0.5, "EVALKIT_THRESHOLD")


@pytest.mark.parametrize(
    "words", [["--threshold", "nan"], ["--threshold", "x"], ["--planned", "0"], ["--planned", "most"]]
)
def test_flags_that_do_not_fit_end_with_the_usage_code(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        import_.COMMAND.parse(["a.json", *words])
    assert caught.value.code == 2


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv", "a.eval", "a.json.gz"])
def test_truncated_files_are_a_sentence(here: Path, name: str) -> None:
    whole = json.dumps(
        [{"task_id": n, "reward": 1.0, "info": {}, "traj": [], "passed": True} for n in range(50)]
    ).encode()
    data = gzip.compress(whole) if name.endswith(".gz") else whole
    (here / name).write_bytes(data[: len(data) // 2])
    for words in ([], ["--format", "tau_bench"]):
        with pytest.raises(EvalkitError, match=r"^a\.(json|jsonl|csv|eval)"):
            take(name, *words)


def test_a_run_that_was_imported_is_not_gone_on_with(here: Path) -> None:
    from cli_makers import write as write_suite  # noqa: PLC0415  # of this test alone

    write_suite(here)
    assert take(tau("gpt.json", 1.0), "-o", "run") == 0
    assert main(["run", "suite.yaml", "-o", "run", "--progress", "none"]) == 2
    with sqlite3.connect(here / "run" / "trials.sqlite") as connection:
        assert connection.execute("select count(*) from trial").fetchone() == (1,)


def test_what_a_file_does_not_tell_is_unknown_in_every_view(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"task_id": task, "trial": trial, "passed": trial > 0, "variant": name, "stop": "finished"}
        for task in "ab"
        for trial in range(2)
        for name in ("good", "bad")
    ]
    assert take(str(lines(Path("rows.jsonl"), *rows)), "-o", "run") == 0
    assert "not told by the files: turns (unknown), tokens (unknown), dollars (unknown)" in capsys.readouterr().out
    assert main(["show", "run", "--json"]) == 0
    for variant in json.loads(capsys.readouterr().out)["variants"].values():
        assert [variant[meter][end] for meter in ("turns", "tokens") for end in ("p50", "p95")] == [None] * 4
    assert main(["show", "run", "a"]) == 0
    assert "turns unknown" in capsys.readouterr().out
    assert main(["export", "run", "-o", "trials.csv"]) == 0
    with Path("trials.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            assert (row["turns"], row["tokens"], row["tool_calls"], row["usd"]) == ("", "", "", "")
    capsys.readouterr()
    assert main(["whatif", "run", "--cap", "turns=1"]) == 2
    assert "the turns of 4 trials are not known" in " ".join(capsys.readouterr().err.split())
    assert main(["compare", "run"]) == 0
    assert main(["report", "run"]) == 0
    assert "so they are unknown" in (here / "run" / "report.html").read_text()


def test_a_count_that_is_told_as_0_is_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"task_id": "a", "trial": 0, "passed": True, "turns": 0, "tokens": 0}
    assert take(str(lines(Path("rows.jsonl"), row)), "-o", "run") == 0
    capsys.readouterr()
    assert main(["show", "run", "--json"]) == 0
    (variant,) = json.loads(capsys.readouterr().out)["variants"].values()
    assert (variant["turns"]["p50"], variant["tokens"]["p50"]) == (0, 0)
