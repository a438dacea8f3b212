"""Planning from the command line: counts, costs, what could be shown, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_makers import CONFIG, SUITE, write

from evalkit.cli.main import main
from evalkit.cli.plan import COMMAND, plan_text, run
from evalkit.core.errors import ConfigurationError, EvalkitError, RunInvalid
from evalkit.measure.power import assumed, beta_law

CAPPED = CONFIG.replace("{kind: simulated}}", "{kind: simulated}, caps: {usd: 0.5}}").replace(
    "[/provider]", "[/provider, /caps]"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a small suite."""
    write(tmp_path, suite=SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Plan and read the JSON."""
    capsys.readouterr()
    assert run(COMMAND.parse(["suite.yaml", "--json", *words])) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_plan_counts_trials_and_forecasts_from_assumptions(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--mean", "0.8", "--spread", "0.2")
    assert (found["tasks"], found["trials"], found["trials_per_task"]) == (2, 16, [4, 4])
    assert [size["n"] for size in found["sizes"]] == [4, 8, 12, 16]
    prospect = assumed(beta_law(0.8, 0.2), 4, 0.1, "broken")
    assert found["sizes"][1]["tasks_needed"]["broken"] == prospect.tasks_needed(8)
    assert found["sizes"][1]["power"]["broken"] == prospect.power(2, 8)
    assert (found["worst_usd"], found["expected_usd"], found["law"]["source"]) == (None, None, "assumed")
    assert not (here / "reports").exists(), "a plan runs and writes nothing"


def test_more_trials_need_fewer_tasks_and_k_is_a_question_of_its_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = planned(capsys, "-n", "16", "-k", "8")["sizes"]
    assert [size["n"] for size in sizes] == [8, 12, 16]
    needed = [size["tasks_needed"]["diffuse"] for size in sizes]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > needed[-1]


def test_caps_bound_the_cost_and_a_pilot_tells_the_expected_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "config.yaml").write_text(CAPPED)
    assert main(["run", "suite.yaml", "--no-report", "--progress", "none", "-o", "pilot"]) == 0
    spent = json.loads((here / "pilot" / "summary.json").read_text())["variants"]["good"]["usd"]["per_trial"]
    found = planned(capsys, "--pilot", "pilot", "-n", "8", "-k", "4")
    good, bad = found["variants"]["good"], found["variants"]["bad"]
    assert (good["worst_usd"], bad["worst_usd"], found["worst_usd"]) == (0.5 * 16, None, None)
    assert good["expected_usd"] == pytest.approx(16 * spent)
    assert bad["expected_usd"] is found["expected_usd"] is None, "the script has no price"
    assert good["in_pilot"]
    assert found["law"]["source"] == "pilot"
    assert (found["law"]["variant"], found["law"]["mean"]) == ("good", pytest.approx(4.5 / 5))
    assert set(found["sizes"][0]["power"]) == {"diffuse", "broken", "pilot"}
    text = plan_text(found)
    assert "from good in pilot" in text
    assert "as in the pilot" in text
    assert "prices are not all known" in " ".join(text.split())


def test_a_variant_that_the_pilot_lacks_costs_what_its_mean_trial_did(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "config.yaml").write_text(CAPPED)
    assert main(["run", "suite.yaml", "--no-report", "--progress", "none", "-o", "pilot", "--variant", "good"]) == 0
    found = planned(capsys, "--pilot", "pilot")
    assert found["variants"]["bad"]["expected_usd"] == found["variants"]["good"]["expected_usd"] > 0.0
    assert not found["variants"]["bad"]["in_pilot"]
    assert set(found["sizes"][0]["power"]) == {"diffuse", "broken"}
    assert "as the pilot's mean trial" in " ".join(plan_text(found).split())


def test_the_text_says_all_of_it_within_its_width(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys)
    found["variants"]["good"] |= {"worst_usd": 4.0, "cap_usd": 0.5}
    found |= {"worst_usd": 4.0, "expected_usd": 1.5}
    for columns in (60, 80, 120):
        text = plan_text(found, columns)
        assert max(map(len, text.splitlines())) <= columns
        joined = " ".join(text.split())
        assert "2 tasks under 2 variants, 4 trials each: 16 trials" in joined
        assert "good: 8 trials, at most $4.00 and one reply a trial" in joined
        assert "in all at most $4.00, $1.50 expected" in joined
        assert "some tasks break" in joined
        assert "with fewer than 6 tasks no paired test can reach 5%" in joined
        assert "None" not in text
    assert "\x1b[" in plan_text(found, color=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--drop", "0.95"), "cannot drop"),
        (("--drop", "0"), "is no drop"),
        (("--power", "0.3"), "power"),
        (("--mean", "1"), "mean"),
        (("--spread", "0.9"), "spread"),
        (("--pilot", "nowhere", "--mean", "0.8"), "beside --mean"),
        (("--pilot", "nowhere", "--spread", "0.1"), "beside --mean"),
        (("--task", "three"), "matches nothing"),
    ],
)
def test_nonsense_is_refused(here: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        run(COMMAND.parse(["suite.yaml", *words]))


def test_a_pilot_without_a_measured_trial_is_refused(here: Path) -> None:
    (here / "config.yaml").write_text(
        CONFIG.replace("{kind: simulated}", "{kind: scripted, script: [{fault: permanent}]}")
    )
    assert main(["run", "suite.yaml", "--no-report", "--progress", "none", "--retries", "1", "-o", "pilot"]) == 4
    with pytest.raises(RunInvalid, match="no trial of good"):
        run(COMMAND.parse(["suite.yaml", "--pilot", "pilot"]))


def test_a_pilot_that_is_not_there_is_told(here: Path) -> None:
    with pytest.raises(EvalkitError):
        run(COMMAND.parse(["suite.yaml", "--pilot", "nowhere"]))
