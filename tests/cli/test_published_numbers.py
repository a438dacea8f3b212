"""Published results by their figures alone, written in the shape of the harness that made them: what is known of them must come out.

`published.json` holds, for each, where its figures come from, how each trial went, and the values of pass^k and pass@k worked out by hand as
fractions. No text of the originals is kept. Where the originals themselves lie beside the checkout, `test_import_published.py` reads those.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli import import_
from evalkit.cli.main import main
from evalkit.cli.reading import Run, open_run
from evalkit.measure.estimate import estimate

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
NEAR = 1e-12
ENDS = {
    "u": {"role": "user", "content": "that is all ###STOP###"},
    "t": {"role": "tool", "name": "transfer_to_human_agents", "content": "done"},
    "m": {"role": "user", "content": "go on"},
}


def imported(folder: Path, *words: object) -> Run:
    """Import into a folder and open the run."""
    assert import_.run(import_.COMMAND.parse([*map(str, words), "-o", str(folder / "run")])) == 0
    return open_run(str(folder / "run"))


def holds(run: Run, variant: str, known: dict[str, Any]) -> None:
    """Hold a variant's values against what is known."""
    for name, written in (("pass_hat", "pass^"), ("pass_at", "pass@")):
        for k, value in known[name].items():
            assert estimate(run.table, f"{written}{k}", variant).value == pytest.approx(value, abs=NEAR), (
                f"{written}{k}"
            )


def conversations() -> list[dict[str, Any]]:
    """The trials of tau-bench's airline run of gpt-4o: as many messages of the assistant as there were, and their end."""
    made = []
    for task, trials in FACTS["tau_bench"]["trials"].items():
        for index, told in enumerate(trials.split()):
            turn = [{"role": "assistant", "content": "…"}, {"role": "user", "content": "…"}]
            traj = [*[{"role": "system", "content": "…"}, *(turn * int(told[2:]))][:-1], ENDS[told[1]]]
            info = {"task": {"user_id": task, "instruction": f"task {task}"}, "user_cost": 0.002}
            made.append({"task_id": int(task), "reward": float(told[0]), "info": info, "traj": traj, "trial": index})
    return made


@pytest.fixture
def airline(tmp_path: Path) -> Run:
    """The run of tau-bench, imported from a packed file."""
    path = tmp_path / "gpt-4o-airline.json.gz"
    path.write_bytes(gzip.compress(json.dumps(conversations()).encode()))
    return imported(tmp_path, path, "--name", "gpt-4o")


def test_the_row_that_tau_bench_published_comes_out(airline: Run) -> None:
    known = FACTS["tau_bench"]
    holds(airline, "gpt-4o", known)
    rounded = [round(estimate(airline.table, f"pass^{k}", "gpt-4o").value or 0.0, 3) for k in range(1, 5)]
    assert rounded == known["published"] == [0.42, 0.273, 0.22, 0.2]
    assert estimate(airline.table, "pass^5", "gpt-4o").value is None, "no task has five trials"
    with airline.store:
        rows = list(airline.store.records())
    assert Counter(one.stop.detail for one in rows) == known["stops"]
    assert Counter(one.stop.reason for one in rows) == {"finished": 195, "cap:turns": 5}


def test_it_is_not_the_plug_in_value_nor_one_of_pooled_trials(airline: Run) -> None:
    rate = estimate(airline.table, "pass^1", "gpt-4o").value or 0.0
    found = estimate(airline.table, "pass^4", "gpt-4o").value or 0.0
    assert rate**4 == pytest.approx(0.0311, abs=1e-4)
    shares = (airline.table.passed / airline.table.planned)[:, 0]
    assert float((shares**4).mean()) == pytest.approx(0.23875, abs=1e-9)
    assert found == pytest.approx(0.2, abs=NEAR)


@pytest.mark.parametrize(("rule", "code"), [("pass^4>=0.05", 0), ("pass^4>=0.2", 3), ("pass^4>=0.45", 1)])
def test_a_gate_on_it_says_what_fifty_tasks_can_show(airline: Run, rule: str, code: int) -> None:
    assert main(["gate", str(airline.store.folder), "--min", rule]) == code


def test_tau2_benchs_values_and_cost_come_out(tmp_path: Path) -> None:
    known = FACTS["tau2_bench"]
    simulations = [
        {
            "id": f"{task}-{index}",
            "task_id": task,
            "trial": index,
            "duration": seconds,
            "termination_reason": "agent_stop",
            "agent_cost": usd,
            "user_cost": 0.0,
            "reward_info": {"reward": float(reward)},
            "messages": [],
        }
        for task, trials in known["trials"].items()
        for index, (reward, usd, seconds) in enumerate(trials)
    ]
    info = {
        "num_trials": 4,
        "agent_info": {"implementation": "llm_agent_solo", "llm": "gpt-4.1"},
        "environment_info": {"domain_name": "telecom"},
    }
    path = tmp_path / "results.json"
    tasks = [{"id": task} for task in known["trials"]]
    path.write_text(json.dumps({"info": info, "tasks": tasks, "simulations": simulations}), encoding="utf-8")
    run = imported(tmp_path, path)
    (variant,) = run.table.variants
    holds(run, variant, known)
    assert float(run.table.usd.mean()) == pytest.approx(known["usd"], abs=NEAR)


@pytest.fixture
def terminal(tmp_path: Path) -> list[Path]:
    """The runs of two models on Terminal-Bench, each a folder with the results of the whole run."""
    folders = []
    for number, (model, known) in enumerate(FACTS["terminal_bench"]["models"].items()):
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        results = [
            {"id": f"{task}-{at}", "trial_name": f"{task}.{at}", "task_id": task, "instruction": task}
            | {"is_resolved": at < int(cell.split("/")[0]), "failure_mode": "unset"}
            for task, cell in known["tasks"].items()
            for at in range(int(cell.split("/")[1]))
        ]
        (folder / "results.json").write_text(json.dumps({"id": "x", "results": results}), encoding="utf-8")
        settings = {"run_id": model, "agent_name": "terminus-2", "model_name": model, "dataset_name": "core"}
        (folder / "run_metadata.json").write_text(json.dumps(settings), encoding="utf-8")
        folders.append(folder)
    return folders


def test_terminal_benchs_unequal_trials_are_each_tasks_own(tmp_path: Path, terminal: list[Path]) -> None:
    run = imported(tmp_path, *terminal)
    for model, known in FACTS["terminal_bench"]["models"].items():
        variant = f"terminus-2 {model}"
        place = run.table.find_variant(variant)
        planned = run.table.planned[:, place]
        assert Counter(map(str, planned[planned > 0].tolist())) == known["n"]
        assert (int(planned.sum()), int(run.table.passed[:, place].sum())) == (known["trials"], known["passes"])
        holds(run, variant, known)
        beyond = max(map(int, known["pass_hat"])) + 1
        assert estimate(run.table, f"pass^{beyond}", variant).value is None, "a task has fewer trials"


def test_trials_that_were_lost_are_missing_and_neither_dropped_nor_failed(tmp_path: Path, terminal: list[Path]) -> None:
    run = imported(tmp_path, *terminal, "--planned", "8")
    model, known = next(iter(FACTS["terminal_bench"]["models"].items()))
    for k, value in known["missing_as_failed"].items():
        found = estimate(run.table, f"pass^{k}", f"terminus-2 {model}")
        assert found.value is None
        assert found.worst == pytest.approx(value, abs=NEAR)
        assert found.best is not None
        assert found.best > value
