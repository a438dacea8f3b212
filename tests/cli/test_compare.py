"""`evalkit compare` within a run and across two: which variants face each other, what is refused, and what is said beside the numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_makers import CONFIG, SUITE, write

from evalkit.cli.main import main

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a small suite."""
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(name: str, *words: str) -> None:
    """Make a run in a folder of this name."""
    main(["run", "suite.yaml", "--no-report", "--progress", "none", "-o", name, *words])


def compared(capsys: Printed, *words: str) -> dict[str, Any]:
    """What `compare --json` prints."""
    capsys.readouterr()
    assert main(["compare", "--json", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: Printed, *words: str) -> tuple[int, str]:
    """The exit code of a comparison that is refused, and what is said."""
    capsys.readouterr()
    code = main(["compare", *words])
    printed = capsys.readouterr()
    assert printed.out == ""
    return code, printed.err


def couples(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Which variants were compared."""
    return list(dict.fromkeys((one["variant"], one["baseline"]) for one in found["comparisons"]))


def imported(name: str, **passes: int) -> None:
    """Import a run of four trials of each task, so many of them passed."""
    rows = [f"{task},{trial},{trial < passed}" for task, passed in passes.items() for trial in range(4)]
    Path(f"{name}.csv").write_text("\n".join(["task_id,trial,passed", *rows]) + "\n")
    assert main(["import", f"{name}.csv", "--name", "agent", "-o", name]) == 0


def test_variants_of_one_name_face_each_other_and_configs_are_told_apart(here: Path, capsys: Printed) -> None:
    made("old")
    (here / "config.yaml").write_text(CONFIG.replace("good: {", "good: {context: {kind: window, turns: 3}, ")
    .replace("[/provider]", "[/provider, /context]"))  # fmt: skip
    made("new")
    found = compared(capsys, "old", "new")
    assert couples(found) == [("good", "baseline:good"), ("bad", "baseline:bad")]
    assert [one["difference"] for one in found["comparisons"]] == [0.0] * 4
    assert found["baseline"] == "old"
    assert found["configs"]["differs"] == ["/context/kind", "/context/options", "/context/options/turns"]
    assert found["runs"]["candidate"] == {"run": "new", "variants": ["good", "bad"], "natures": ["simulated"]}
    assert found["runs"]["tasks"]["compared"] == 2
    assert {tuple(one["n"]) for one in found["comparisons"]} == {(4, 4)}


def test_a_variant_of_each_run_can_be_chosen(here: Path, capsys: Printed) -> None:
    made("old")
    made("new")
    found = compared(capsys, "old", "new", "--variant", "bad", "--baseline", "good")
    assert couples(found) == [("bad", "baseline:good")]
    assert found["baseline"] == "baseline:good"
    first = found["comparisons"][0]
    assert (first["metric"], first["difference"], first["worse"]) == ("pass^4", -1.0, 2)
    assert [one["variation"] for one in found["stops"]] == [0.0]
    code, said = refused(capsys, "old", "new", "--variant", "god")
    assert (code, "did you mean good?" in said) == (2, True)


def test_a_variant_of_another_name_faces_the_baseline_or_the_only_one_and_is_never_guessed(
    here: Path, capsys: Printed
) -> None:
    made("old")
    (here / "config.yaml").write_text(CONFIG.replace("good", "fine"))
    made("new", "--variant", "fine")
    assert couples(compared(capsys, "old", "new")) == [("fine", "baseline:good")]
    made("few", "--variant", "bad")
    assert couples(compared(capsys, "few", "new")) == [("fine", "baseline:bad")]
    (here / "config.yaml").write_text(CONFIG.replace("baseline: good\n", ""))
    made("open")
    code, said = refused(capsys, "open", "new")
    assert code == 2
    assert "variant fine: open has no variant of this name, and several others: good, bad" in said
    assert "--baseline" in said


def test_unlike_tasks_are_refused_with_exit_4_and_shared_ones_compared_where_asked(here: Path, capsys: Printed) -> None:
    made("old")
    write(
        here, suite=SUITE.replace("Say two.", "Say two!") + SUITE[SUITE.index("  - id: two") :].replace("two", "three")
    )
    made("new", "-n", "6")
    code, said = refused(capsys, "old", "new")
    assert code == 4
    for part in (
        "new and old are of unlike tasks",
        "1 task only in new: three",
        "1 task of one name but unlike content: two",
        "1 task with unlike numbers of trials: one (6 trials in new, 4 in old)",
        "--shared compares the 1 task that both have",
    ):
        assert part in said
    found = compared(capsys, "old", "new", "--shared")
    assert [one["tasks"] for one in found["comparisons"]] == [1] * 4
    assert {tuple(one["n"]) for one in found["comparisons"]} == {(4, 4)}
    assert found["notes"][0].startswith(
        "1 shared task compared, of 3 in new and 2 in old: what is said holds for these alone"
    )
    tasks = found["runs"]["tasks"]
    assert tasks["left_out"] == {"only_candidate": ["small/three"], "only_baseline": [], "edited": ["small/two"]}
    assert tasks["cut_to_shared_trials"] == [{"task": "small/one", "candidate": 6, "baseline": 4}]


def test_a_run_is_never_compared_with_its_own_trials(here: Path, capsys: Printed) -> None:
    made("old")
    shutil.copytree(here / "old", here / "copy")
    for other in ("old", "copy"):
        code, said = refused(capsys, "old", other)
        assert code == 2
        assert "is compared with itself: the trials of good, bad stand on both sides" in said
    assert couples(compared(capsys, "old", "copy", "--variant", "bad", "--baseline", "good")) == [
        ("bad", "baseline:good")
    ]


def test_an_incomplete_run_gives_a_range(here: Path, capsys: Printed) -> None:
    made("old", "--variant", "good")
    made("new", "--variant", "good", "--max-usd", "0.0001", "-j", "1")
    found = compared(capsys, "old", "new")
    assert any(note.startswith("new is incomplete: ") and "given as a range" in note for note in found["notes"])
    for one in found["comparisons"]:
        assert (one["difference"], one["low"], one["p"]) == (None, None, None)
        assert one["worst"] < one["best"] == 0.0
        assert "whatever they bring, the difference lies in" in one["sentence"]
    assert main(["compare", "old", "new"]) == 0
    assert "new is incomplete" in capsys.readouterr().out


def test_what_a_simulated_model_makes_doubtful_is_said(here: Path, capsys: Printed) -> None:
    made("old", "--variant", "good")
    made("new", "--variant", "good")
    assert any("draw the same numbers" in note for note in compared(capsys, "old", "new")["notes"])
    made("other", "--variant", "good", "--seed", "7")
    assert compared(capsys, "old", "other")["notes"] == []
    values = json.loads((here / "other" / "run.json").read_text())
    values["natures"] = {"good": "live"}
    (here / "other" / "run.json").write_text(json.dumps(values))
    (note,) = compared(capsys, "old", "other")["notes"]
    assert note.startswith("other was live, old simulated: ")
    assert main(["compare", "old", "other"]) == 0
    assert "other was live, old simulated" in capsys.readouterr().out


def test_imported_runs_are_compared_too(here: Path, capsys: Printed) -> None:
    imported("first", a=4, b=4, c=2)
    imported("second", a=4, b=1, c=0)
    found = compared(capsys, "first", "second")
    assert couples(found) == [("agent", "baseline:agent")]
    hats, rates = found["comparisons"]
    assert (hats["metric"], hats["better"], hats["worse"], hats["equal"]) == ("pass^4", 0, 1, 2)
    assert rates["difference"] == pytest.approx(-5 / 12)
    assert found["configs"]["differs"] == []
    imported("third", a=4, b=4, d=4)
    code, said = refused(capsys, "first", "third")
    assert (code, "only in third: d" in said, "only in first: c" in said) == (4, True, True)


def test_one_run_is_compared_within_itself_as_ever(here: Path, capsys: Printed) -> None:
    made("old")
    assert couples(compared(capsys, "old")) == [("bad", "good")]
    assert couples(compared(capsys, "old", "--baseline", "bad", "--variant", "good")) == [("good", "bad")]
    assert refused(capsys, "old", "--shared")[0] == 2
    assert refused(capsys, "old", "--variant", "good")[0] == 2
    assert refused(capsys, "old", "--baseline", "goof")[0] == 2
    made("few", "--variant", "bad")
    code, said = refused(capsys, "few")
    assert (code, "name a second run" in said) == (4, True)


def test_names_from_outside_are_harmless_in_messages(here: Path, capsys: Printed) -> None:
    imported("first", a=4)
    imported("second", **{"a": 4, "\x1b[31mred": 4})
    code, said = refused(capsys, "first", "second")
    assert code == 4
    assert "\x1b" not in said
    assert "\\e[31mred" in said


def gated(capsys: Printed, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a gate and what `gate --json` prints."""
    capsys.readouterr()
    code = main(["gate", "--json", *words])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == code
    return code, found


def many(name: str, **passes: int) -> None:
    """Import a run of twelve tasks whose trials passed so often, of four."""
    imported(name, **{f"t{place:02d}": passes.get(f"t{place:02d}", 4) for place in range(12)})


BROKEN = {f"t{place:02d}": 0 for place in range(8)}


@pytest.mark.parametrize(
    ("passes", "flags", "code", "word"),
    [
        (BROKEN, [], 1, "fail"),
        (BROKEN, ["--rule", "not-worse"], 1, "fail"),
        ({"t00": 0, "t01": 0}, [], 3, "inconclusive"),
        ({"t00": 0, "t01": 0}, ["--rule", "not-worse"], 0, "pass"),
        ({"t00": 3}, ["--max-drop", "0.5"], 0, "pass"),
        ({"t00": 0}, ["--rule", "point", "--max-drop", "0.01"], 1, "fail"),
        ({"t00": 0, "t01": 0}, ["--on-inconclusive", "pass"], 0, "inconclusive"),
    ],
)
def test_a_run_is_held_to_an_earlier_one(
    here: Path, capsys: Printed, passes: dict[str, int], flags: list[str], code: int, word: str
) -> None:
    many("old")
    many("new", **passes)
    given, found = gated(capsys, "new", "--baseline", "old", *flags)
    assert (given, found["verdict"]) == (code, word)
    assert {(rule["variant"], rule["baseline"]) for rule in found["rules"]} == {("agent", "baseline:agent")}
    assert [rule["metric"] for rule in found["rules"]] == ["pass^4", "pass@1"]
    assert found["runs"]["baseline"]["run"] == "old"


def test_bounds_are_judged_on_the_run_alone_beside_the_drop(here: Path, capsys: Printed) -> None:
    many("old", **BROKEN)
    many("new")
    code, found = gated(capsys, "new", "--baseline", "old", "--min", "pass^4>=0.5")
    assert (code, [rule["rule"] for rule in found["rules"]]) == (
        0,
        [
            "pass^4>=0.5",
            "pass^4[agent] drops at most 0.1 from baseline:agent",
            "pass@1[agent] drops at most 0.1 from baseline:agent",
        ],
    )
    assert gated(capsys, "old", "--baseline", "new", "--min", "pass^4>=0.9")[0] == 1
    assert gated(capsys, "new", "--baseline", "old", "--per-task", "--rule", "point")[0] == 0


def test_a_gate_refuses_unlike_tasks_its_own_trials_and_flags_that_do_nothing(here: Path, capsys: Printed) -> None:
    made("run")
    made("one", "--task", "one")
    for words, code, part in (
        (["run", "--baseline", "one"], 4, "1 task only in run: two. --shared compares"),
        (["run", "--baseline", "run"], 2, "is compared with itself"),
        (["run", "--shared"], 2, "does nothing without --baseline"),
        (["run", "--max-drop", "0.2"], 2, "does nothing without --baseline"),
        (["run", "--variant", "good"], 2, "does nothing without --baseline"),
        (["run", "--baseline", "goof"], 4, "neither a run nor a variant of this one (did you mean good?)"),
        (["run", "--baseline", "good", "--shared"], 2, "good is a variant of the run itself"),
        (["run", "--baseline", "good", "--baseline-variant", "bad"], 2, "good is a variant of the run itself"),
    ):
        capsys.readouterr()
        assert main(["gate", *words]) == code
        assert part in capsys.readouterr().err
    code, found = gated(capsys, "run", "--baseline", "one", "--shared")
    assert (code, found["notes"][0].startswith("1 shared task compared, of 2 in run and 1 in one")) == (3, True)
    assert main(["gate", "run", "--baseline", "one", "--shared"]) == 3
    assert "1 shared task compared" in capsys.readouterr().out


def test_variants_of_a_gate_are_chosen_and_a_name_of_two_things_is_refused(here: Path, capsys: Printed) -> None:
    made("old")
    made("new")
    _, found = gated(capsys, "new", "--baseline", "old", "--variant", "bad", "--baseline-variant", "good")
    assert {(rule["variant"], rule["baseline"]) for rule in found["rules"]} == {("bad", "baseline:good")}
    code, found = gated(capsys, "new", "--baseline", "good", "--variant", "bad")
    assert (code, {rule["variant"] for rule in found["rules"]}) == (3, {"bad"})
    made("good")
    capsys.readouterr()
    assert main(["gate", "new", "--baseline", "good"]) == 2
    assert "is a variant of the run and a run folder too" in capsys.readouterr().err
    assert gated(capsys, "new", "--baseline", str(here / "good"))[1]["runs"]["baseline"]["run"] == "good"


def test_a_baseline_that_is_not_there_is_as_a_run_that_is_not_there(here: Path, capsys: Printed) -> None:
    made("new")
    capsys.readouterr()
    for words in (["nosuch"], ["new", "--baseline", "nosuch"]):
        assert main(["gate", *words, "--min", "pass@1>=0.5"]) == 4, words
        assert "nosuch" in capsys.readouterr().err


def test_a_baseline_that_lacks_trials_leaves_the_gate_without_a_verdict(here: Path, capsys: Printed) -> None:
    made("old", "--variant", "good", "--max-usd", "0.0001", "-j", "1")
    made("new", "--variant", "good", "--seed", "3")
    assert gated(capsys, "new", "--baseline", "old")[0] == 4
    code, found = gated(capsys, "new", "--baseline", "old", "--max-error-rate", "1")
    assert (code, found["verdict"]) == (3, "inconclusive")
    assert "old is incomplete" in found["notes"][0]
