"""The commands end to end, as a person types them: what they print, what they write, what they give as exit codes."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from cli_makers import CONFIG, SUITE, run, start, write

from evalkit.cli.main import main

SLOW = CONFIG.replace("{kind: simulated}", "{kind: simulated, latency: 200ms}")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a small suite."""
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evalkit(*words: str) -> int:
    """Run a command in this process."""
    return main(list(words))


def measured(*words: str) -> int:
    """Run the small suite without a report."""
    return evalkit("run", "suite.yaml", "--no-report", "--progress", "none", *words)


def outcomes(folder: Path) -> list[tuple[str, str, str, str]]:
    """Task, variant, outcome and key of every record of a run."""
    with sqlite3.connect(folder / "trials.sqlite") as connection:
        return sorted(connection.execute("select task, variant, outcome, key from trial").fetchall())


def test_a_run_shows_pass_hat_stops_and_the_path_of_its_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evalkit("run", "suite.yaml", "-o", "out") == 0
    out = capsys.readouterr().out
    assert "pass^4" in out
    assert "finished 8 (8)" in out
    assert "report: out/report.html" in out
    assert "Simulated model" in out
    assert json.loads((here / "out" / "summary.json").read_text())["completeness"] == {
        "planned": 16, "measured": 16, "errors": 0, "missing": 0, "skipped": 0,
    }  # fmt: skip


def test_the_same_command_again_runs_nothing_and_more_trials_only_the_new_ones(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured() == 0
    (folder,) = (here / "reports").iterdir()
    first = outcomes(folder)
    assert measured() == 0
    assert "16 of 16 trials are done already" in capsys.readouterr().err
    assert measured("-n", "6") == 0
    assert "16 of 24 trials are done already" in capsys.readouterr().err
    assert set(first) < set(outcomes(folder))
    assert len(list((here / "reports").iterdir())) == 1
    assert measured("--new") == 0
    assert len(list((here / "reports").iterdir())) == 2


def test_an_edited_task_alone_is_run_anew_and_old_records_are_never_mixed_in(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured("-o", "out")
    write(here, SUITE.replace("Say two.", "Say the number two."))
    capsys.readouterr()
    assert measured("-o", "out") == 0
    told = capsys.readouterr()
    assert "edited since: two: of it only trials of what it is now count" in told.err
    assert "8 of 16 trials are done already" in told.err
    assert len(outcomes(here / "out")) == 24
    evalkit("show", "out", "--json")
    assert json.loads(capsys.readouterr().out)["completeness"]["measured"] == 16


def test_a_folder_of_another_suite_is_refused_and_left_as_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured("-o", "out")
    before = (here / "out" / "run.json").read_bytes()
    write(here, SUITE.replace("suite: small", "suite: other"))
    assert measured("-o", "out") == 2
    assert "holds a run of other suites" in capsys.readouterr().err
    assert (here / "out" / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--min", "pass^4[good]>=0.1"), 0),
        (("--min", "pass^4[bad]>=0.9"), 1),
        (("--min", "nonsense>=0.9"), 2),
        (("--min", "pass^4[nobody]>=0.9"), 2),
        ((), 2),
        (("--min", "pass^4[good]>=0.9"), 3),
        (("--min", "pass^8[good]>=0.9"), 3),
        (("--min", "pass^4[good]>=0.9", "--on-inconclusive", "fail"), 1),
        (("--min", "pass^4[good]>=0.9", "--on-inconclusive", "pass"), 0),
        (("--min", "pass^4[good]>=0.9", "--on-inconclusive", "warn"), 0),
        (("--max", "cap_rate(turns)<=0.9"), 0),
        (("--min", "cap_rate(turns)<=0.9"), 2),
        (("--baseline", "good"), 3),
    ],
)
def test_the_gate_in_its_situations(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int
) -> None:
    measured("-o", "out")
    capsys.readouterr()
    assert evalkit("gate", "out", *words) == code
    assert "Traceback" not in capsys.readouterr().err


def test_the_gate_of_a_run_that_lacks_trials_is_invalid(here: Path) -> None:
    measured("-o", "out")
    with sqlite3.connect(here / "out" / "trials.sqlite") as connection:
        connection.execute("delete from trial where task = 'two'")
    assert evalkit("gate", "out", "--min", "pass^4[good]>=0.1") == 4


def test_gates_of_the_config_are_judged_at_the_end_and_count_where_asked(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, config=CONFIG + "gates: [{metric: pass^4, variant: bad, min: 0.9}]\n")
    assert measured("-o", "out") == 0
    assert "gate: FAIL" in capsys.readouterr().out
    assert measured("-o", "out", "--gate") == 1
    assert evalkit("gate", "out") == 1


def test_json_is_one_object_on_stdout(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured("-o", "out", "--json")
    run_json = json.loads(capsys.readouterr().out)
    assert run_json["variants"]["good"]["pass_hat"]["4"]["value"] == 1.0
    for words in (("show", "out"), ("compare", "out"), ("gate", "out", "--min", "pass^4>=0.5")):
        evalkit(*words, "--json")
        assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_show_of_a_task_and_of_a_trial(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured("-o", "out")
    capsys.readouterr()
    assert evalkit("show", "out", "one") == 0
    told = capsys.readouterr().out
    assert "good #1: passed, finished, 1 turn," in told
    assert "bad #1: failed, finished, 1 turn, –\n    " in told, "why it failed stands below"
    assert "a trial's trace: evalkit show out one TRIAL --variant VARIANT" in told
    assert evalkit("show", "out", "one", "1", "--variant", "bad") == 0
    trace = capsys.readouterr().out
    assert "three" in trace
    assert "expected" in trace
    assert evalkit("show", "out", "one", "1") == 2
    assert "add --variant" in capsys.readouterr().err
    assert evalkit("show", "out", "one", "9", "--variant", "bad") == 2
    assert evalkit("show", "out", "one", "x") == 2
    assert evalkit("show", "out", "tow") == 2
    assert evalkit("show", "latest") == 4


def test_show_variant_draws_the_retries(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evalkit("show", "variant", "config.yaml") == 0
    out = capsys.readouterr().out
    assert "good (baseline)" in out
    assert "model call      5 = 5 tries" in out
    assert evalkit("show", "variant", "config.yaml", "--variant", "nobody") == 2


def test_validate_and_schema(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evalkit("validate", "suite.yaml", "config.yaml") == 0
    assert capsys.readouterr().out.count("fine") == 2
    write(here, SUITE.replace("prompt: Say one.", "promt: Say one."), CONFIG.replace("kind: scripted", "kind: scriptd"))
    assert evalkit("validate", "suite.yaml", "config.yaml") == 2
    err = capsys.readouterr().err
    assert "suite.yaml:7:5" in err
    assert "config.yaml:6:26" in err
    for kind in ("suite", "config"):
        assert evalkit("schema", kind) == 0
        assert json.loads(capsys.readouterr().out)["$schema"].startswith("http://json-schema.org/draft-07")
    assert evalkit("schema", "nonsense") == 2


def test_validate_warns_of_retries_that_multiply(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = "  deep: {provider: {kind: simulated}, retries: {tool: 5}, verify: {self_correct: 1}}\n"
    write(here, SUITE, CONFIG.replace("vary: [/provider]", "vary: [/provider, /retries, /verify]") + deep)
    assert evalkit("validate", "config.yaml") == 0
    assert "config.yaml: warning: deep: a tool call may be tried 10 times" in capsys.readouterr().out


def test_dry_run_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--dry-run") == 0
    told = capsys.readouterr().out
    assert "2 tasks under 2 variants: 16 trials, 16 of them left" in told
    assert "in all: 16 trials, no bound on dollars (2 of 2 variants without one)" in told
    assert not (here / "reports").exists()
    config = here / "config.yaml"
    capped = (
        config.read_text().replace("good: {", "good: {caps: {usd: 0.25}, ").replace("[/provider]", "[/provider, /caps]")
    )
    config.write_text(capped)
    assert measured("--dry-run", "--variant", "good") == 0
    assert "in all: 8 trials, at most $2.00 and one reply a trial" in capsys.readouterr().out


BAD: list[tuple[tuple[str, ...], int, str]] = [
    (("run", "nowhere.yaml"), 2, "nowhere.yaml"),
    (("run", "suite.yaml", "-c", "nowhere.yaml"), 2, "nowhere.yaml"),
    (("run", "suite.yaml", "--task", "ome"), 2, "did you mean one"),
    (("run", "suite.yaml", "--variant", "god"), 2, "did you mean good"),
    (("run", "suite.yaml", "--task", "one", "--tag", "slow"), 4, "nothing is selected"),
    (("show", "nowhere"), 4, "nowhere"),
    (("report", "nowhere"), 4, "nowhere"),
    (("gate", "."), 4, "is no run"),
    (("compare", "nowhere"), 4, "nowhere"),
    (("rum", "suite.yaml"), 2, "did you mean run"),
]


@pytest.mark.parametrize(("words", "code", "message"), BAD, ids=lambda value: str(value)[:40])
def test_a_mistake_is_one_clear_message_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, message: str
) -> None:
    before = sorted(here.rglob("*"))
    assert evalkit(*words) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "x"), ("-j", "0"), ("--max-usd", "0"), ("--backend", "gpus")])
def test_options_that_mean_nothing_are_usage_errors(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as caught:
        measured(*words)
    assert caught.value.code == 2
    assert not (here / "reports").exists()
    capsys.readouterr()


LIVE = "version: 1\nvariants: {live: {provider: {kind: anthropic, model: MODEL}, caps: {usd: 1.0}}}\n"


def test_no_key_and_no_price_are_told_before_anything_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    write(here, config=LIVE.replace("MODEL", "claude-sonnet-4-5"))
    assert measured() == 2
    err = capsys.readouterr().err
    assert "ANTHROPIC_API_KEY" in err
    assert "simulated" in err
    write(here, config=LIVE.replace("MODEL", "nobody-knows-it"))
    assert measured() == 2
    assert "usd_price" in capsys.readouterr().err
    assert not (here / "reports").exists()


def test_the_budget_of_the_run_ends_it_and_raising_it_goes_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("-o", "out", "--variant", "good", "--max-usd", "0.0000001", "-j", "1") == 4
    assert "stopped by --max-usd" in capsys.readouterr().err
    assert measured("-o", "out", "--variant", "good") == 0


def test_an_unreadable_run_is_told_as_such(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured("-o", "out")
    (here / "out" / "trials.sqlite").write_bytes(b"not a database at all, but long enough to be taken for one")
    assert evalkit("show", "out") == 4
    (here / "out" / "run.json").write_text("{")
    assert evalkit("show", "out") == 4
    assert "Traceback" not in capsys.readouterr().err


def test_a_moved_folder_gives_the_same_numbers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured("-o", "out")
    shutil.move("out", "elsewhere")
    capsys.readouterr()
    evalkit("show", "elsewhere", "--json")
    assert json.loads(capsys.readouterr().out) == json.loads((here / "elsewhere" / "summary.json").read_text())


def test_processes_give_the_same_outcomes_as_threads(here: Path) -> None:
    measured("-o", "threads")
    measured("-o", "processes", "--backend", "processes", "-j", "2")
    assert outcomes(here / "threads") == outcomes(here / "processes")


def wait_for_records(folder: Path, count: int) -> None:
    """Wait until a run has so many records."""
    for _ in range(400):
        time.sleep(0.05)
        if not (folder / "trials.sqlite").exists():
            continue
        try:
            if len(outcomes(folder)) >= count:
                return
        except sqlite3.OperationalError:
            continue
    raise AssertionError("the run makes no progress")


def test_an_interrupt_saves_and_tells_how_to_go_on(tmp_path: Path) -> None:
    write(tmp_path, config=SLOW)
    process = start("run", "suite.yaml", "-o", "out", "--no-report", "-j", "1", folder=tmp_path)
    wait_for_records(tmp_path / "out", 1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "evalkit run suite.yaml -o out" in err
    saved = outcomes(tmp_path / "out")
    assert 1 <= len(saved) < 16
    done = run("run", "suite.yaml", "-o", "out", "--no-report", folder=tmp_path)
    assert done.returncode == 0
    assert f"{len(saved)} of 16 trials are done already" in done.stderr
    assert set(saved) < set(outcomes(tmp_path / "out"))


def test_a_killed_run_loses_no_finished_trial_and_goes_on(tmp_path: Path) -> None:
    write(tmp_path, config=SLOW)
    process = start("run", "suite.yaml", "-o", "out", "--no-report", "-j", "2", folder=tmp_path)
    wait_for_records(tmp_path / "out", 3)
    process.kill()
    process.communicate(timeout=60)
    saved = outcomes(tmp_path / "out")
    assert len(saved) >= 3
    assert run("run", "suite.yaml", "-o", "out", "--no-report", folder=tmp_path).returncode == 0
    after = outcomes(tmp_path / "out")
    assert len(after) == len({key for *_, key in after}) == 16
    assert set(saved) <= set(after)


def test_two_runners_on_one_folder_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path, config=SLOW.replace("200ms", "2s"))
    process = start("run", "suite.yaml", "-o", "out", "--no-report", "-j", "1", folder=tmp_path)
    wait_for_records(tmp_path / "out", 1)
    second = run("run", "suite.yaml", "-o", "out", "--no-report", folder=tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert second.returncode == 4
    assert str(process.pid) in second.stderr


def test_a_closed_pipe_is_never_an_error(here: Path) -> None:
    measured("-o", "out")
    process = start("gate", "out", "--min", "pass^4[good]>=0.1", folder=here)
    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=60)
    assert process.returncode == 0


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert evalkit("--help") == 0
    out = capsys.readouterr().out
    assert all(f"  {code} " in out for code in (0, 1, 2, 3, 4, 130))
    assert evalkit("--version") == 0
    assert evalkit() == 2


@pytest.mark.parametrize("command", ["run", "show", "report", "compare", "gate", "validate", "schema", "serve-sim"])
def test_every_command_has_help_and_tells_its_configuration(
    here: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as caught:
        evalkit(command, "--help")
    assert caught.value.code == 0
    assert f"usage: evalkit {command}" in capsys.readouterr().out
    monkeypatch.setenv("EVALKIT_JSON", "yes")
    words: list[Any] = [command, "x", "--print-config"]
    assert evalkit(*words) == 0
    if command in ("run", "show", "compare", "gate"):
        assert "json = True  (EVALKIT_JSON)" in capsys.readouterr().out


def test_results_for_ci_are_written_where_a_ci_looks(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(here / "outputs.txt"))
    write(here, config=CONFIG + "gates: [{metric: pass^4, variant: bad, min: 0.9}]\n")
    assert measured("-o", "out", "--gate", "--junit", "junit.xml", "--github") == 1
    assert "<testcase" in (here / "junit.xml").read_text()
    assert "verdict" in (here / "outputs.txt").read_text()
    assert "pass" in (here / "summary.md").read_text()
    assert "::error" in capsys.readouterr().out
    assert evalkit("gate", "out", "--junit", "again.xml") == 1
    assert (here / "again.xml").exists()
    assert evalkit("gate", "out", "--junit", str(here)) == 2


def test_what_detectors_did_is_in_the_summary_and_in_what_is_shown(tmp_path: Path) -> None:
    watched = "  good: {provider: {kind: simulated}, detectors: [{kind: repeat_calls}]}"
    write(
        tmp_path,
        config=CONFIG.replace("  good: {provider: {kind: simulated}}", watched).replace(
            "[/provider]", "[/provider, /detectors]"
        ),
    )
    made = run("run", "suite.yaml", "-o", "out", "--no-report", "--progress", "none", folder=tmp_path)
    assert "detector repeat_calls of good fired in 0 of 8 trials" in " ".join(made.stdout.split())
    shown = json.loads(run("show", "out", "--json", folder=tmp_path).stdout)
    assert shown == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert shown["variants"]["good"]["detectors"]["repeat_calls"]["trials"] == 8
    assert shown["variants"]["bad"]["detectors"] == {}


def test_one_variant_of_a_run_is_shown_alone_and_another_name_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured("-o", "r") == 0
    capsys.readouterr()
    assert evalkit("show", "r", "--variant", "good", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown["variants"]) == ["good"]
    assert shown["completeness"]["planned"] == shown["variants"]["good"]["trials"] == 8
    for words in (("show", "r"), ("show", "r", "one"), ("show", "r", "one", "1")):
        assert evalkit(*words, "--variant", "god") == 2
        assert "did you mean good" in capsys.readouterr().err


def test_flags_that_would_do_nothing_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--dry-run", "--json") == 2
    assert measured("-o", "") == 2
    assert measured("-o", "suite.yaml") == 2
    assert measured("-o", "r") == 0
    capsys.readouterr()
    assert evalkit("show", "r", "--full") == 2
    assert evalkit("export", "r", "--replies", "--events") == 2
    assert capsys.readouterr().err.count("does nothing") == 2


def test_a_call_that_chooses_less_than_its_folder_plans_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("-o", "r") == 0
    assert "are chosen" not in capsys.readouterr().err
    assert measured("-o", "r", "--task", "one") == 0
    assert "8 trials are chosen of the 16 that this folder plans" in capsys.readouterr().err
