"""Results that others published, imported and measured: every number that is known of them must come out.

They lie in `shared/data` beside the checkout, with what is known of them in `expected.json`; without them these tests are skipped.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalkit.cli import import_
from evalkit.cli.reading import Run, open_run
from evalkit.measure.estimate import estimate
from evalkit.measure.passing import pass_at_k, pass_hat_k
from evalkit.measure.table import Table

DATA = Path(__file__).parents[3] / "shared" / "data"
TAU, TAU2, INSPECT, TERMINAL = (
    DATA / name
    for name in (
        "taubench_gpt4o_airline",
        "tau2_telecom_nouser_5x4",
        "inspect_streaming_2epochs",
        "terminalbench_terminus2_2025-09",
    )
)
NEAR = 1e-9
COUNTS = ("tasks", "trials", "passes")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published results are not beside the checkout")

TABLE = ["--stop", "termination", "--turns", "n_turns"]
IMPORTS: dict[str, list[list[Any]]] = {
    "taubench_gpt4o_airline": [
        [TAU / "native_full.json.gz"],
        [TAU / "native_trimmed.json.gz"],
        [TAU / "results.csv", *TABLE],
    ],
    "tau2_telecom_nouser_5x4": [
        [TAU2 / "native_full.json.gz"],
        [TAU2 / "native_trimmed.json"],
        [TAU2 / "results.csv", *TABLE, "--usd", "cost", "--seconds", "duration_s"],
    ],
    "inspect_streaming_2epochs": [
        [INSPECT / "log_streaming.eval"],
        [INSPECT / "results.csv", *TABLE, "--tokens", "total_tokens"],
    ],
}
ONE = [(name, place) for name, ways in IMPORTS.items() for place in range(len(ways))]


@cache
def expected(folder: Path) -> dict[str, Any]:
    """What is known of a folder's results."""
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return found


def imported(folder: Path, *words: object) -> Run:
    """Import into a folder and open the run."""
    assert import_.run(import_.COMMAND.parse([*map(str, words), "-o", str(folder / "run")])) == 0
    return open_run(str(folder / "run"))


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Terminal-Bench's trials of sixteen models."""
    return imported(tmp_path_factory.mktemp("terminal"), TERMINAL / "results.csv", "--seconds", "duration_s")


def holds(run: Run, variant: str, known: dict[str, Any]) -> None:
    """Hold a variant's numbers against what is known."""
    table, place = run.table, run.table.find_variant(variant)
    mask = table.planned[:, place] > 0
    n, c = table.planned[mask, place], table.passed[mask, place]
    assert table.errors.sum() == table.missing.sum() == 0
    assert [int(mask.sum()), int(n.sum()), int(c.sum())] == [known[name] for name in COUNTS]
    assert {str(size): count for size, count in Counter(n.tolist()).items()} == known["n_per_task"]
    held = Counter(f"{passes}/{trials}" for passes, trials in zip(c.tolist(), n.tolist(), strict=True))
    assert dict(held) == known["c_histogram"]
    assert c.sum() / n.sum() == pytest.approx(known["micro_pass_rate"]["float"], abs=NEAR)
    for name, written, per_task in (("pass_hat", "pass^", pass_hat_k), ("pass_at", "pass@", pass_at_k)):
        for k, value in known[name].items():
            values = np.asarray(per_task(n, c, int(k)))
            assert np.isfinite(values).sum() == value["tasks_used"]
            assert np.nanmean(values) == pytest.approx(value["float"], abs=NEAR)
            found = estimate(table, f"{written}{k}", variant)
            assert (found.value is not None) == value["min_n_ok"]
            if found.value is not None:
                assert found.value == pytest.approx(value["float"], abs=NEAR)
    for k, value in known["naive_plugin_p_to_k"].items():
        assert float(((c / n) ** int(k)).mean()) == pytest.approx(value, abs=NEAR)
    if "terminalbench_stderr_formula" in known:
        within = (c / n) * (1 - c / n) / (n - 1)
        assert math.sqrt(within.sum()) / len(n) == pytest.approx(known["terminalbench_stderr_formula"], abs=NEAR)


def counts_missing_as_failed(table: Table, model: str, known: dict[str, Any]) -> None:
    """Hold the worse reading of a model's missing trials against what is known."""
    for k, value in known["pass_hat_missing_as_fail"].items():
        found = estimate(table, f"pass^{k}", model)
        assert (found.value if found.worst is None else found.worst) == pytest.approx(value["float"], abs=NEAR)


@pytest.mark.parametrize(("name", "way"), ONE, ids=[f"{name}-{way}" for name, way in ONE])
def test_every_known_value_comes_out_of_every_file(tmp_path: Path, name: str, way: int) -> None:
    run = imported(tmp_path, *IMPORTS[name][way])
    (variant,) = run.table.variants
    holds(run, variant, expected(DATA / name)[name])


def test_the_published_row_of_tau_bench(tmp_path: Path) -> None:
    run = imported(tmp_path, TAU / "native_full.json.gz", "--name", "gpt-4o")
    known = expected(TAU)["taubench_gpt4o_airline"]
    for k, value in known["published"]["pass_hat"].items():
        assert round(estimate(run.table, f"pass^{k}", "gpt-4o").value or 0, 3) == value
    assert float(run.table.passed.sum() / run.table.planned.sum()) == pytest.approx(
        known["avg_reward_author_formula"], abs=NEAR
    )
    with run.store:
        rows = list(run.store.records())
    assert dict(Counter(one.stop.detail for one in rows)) == known["termination_counts"]
    told = Counter(f"{one.stop.detail}|{int(one.outcome == 'passed')}" for one in rows)
    assert dict(told) == known["termination_by_pass"]


def test_costs_and_stops_of_tau2_bench(tmp_path: Path) -> None:
    run = imported(tmp_path, TAU2 / "native_full.json.gz")
    known = expected(TAU2)["tau2_telecom_nouser_5x4"]
    with run.store:
        rows = list(run.store.records())
    assert dict(Counter(one.stop.detail for one in rows)) == known["termination_counts"]
    assert float(run.table.usd.mean()) == pytest.approx(known["avg_agent_cost"], abs=NEAR)


def test_the_accuracy_and_standard_error_that_inspect_itself_wrote(tmp_path: Path) -> None:
    run = imported(tmp_path, INSPECT / "log_streaming.eval")
    known = expected(INSPECT)["inspect_streaming_2epochs"]["published"]
    means = (run.table.passed / run.table.planned)[:, 0]
    assert float(means.mean()) == pytest.approx(known["accuracy"], abs=NEAR)
    assert float(means.std(ddof=1) / math.sqrt(len(means))) == pytest.approx(known["stderr"], abs=NEAR)
    assert int(run.table.planned.sum()) == known["total_samples"] == known["completed_samples"]


MODELS = [name for name in (expected(TERMINAL) if DATA.is_dir() else {}) if not name.startswith("_")]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_terminal_bench(terminal: Run, model: str) -> None:
    known = expected(TERMINAL)[model]
    holds(terminal, model, known)
    published = known["published"]
    assert (known["passes"], known["trials"]) == (published["successful_trials"], published["total_trials"])
    assert known["micro_pass_rate"]["float"] == pytest.approx(published["success_rate_micro"], abs=NEAR)
    full = np.broadcast_to(terminal.table.planned.max(axis=0), terminal.table.planned.shape)
    counts_missing_as_failed(replace(terminal.table, planned=full), model, known)


def test_terminal_bench_has_as_many_cells_as_its_authors_counted(terminal: Run) -> None:
    known = expected(TERMINAL)["_checks"]
    assert int((terminal.table.planned > 0).sum()) == known["per_model_task_cells"]
    assert len(terminal.table.tasks) == known["tasks"]


def test_the_authors_own_table_of_two_models_says_the_same(tmp_path: Path) -> None:
    columns = ["--task-id", "task_name", "--trial", "trial_id", "--passed", "success", "--variant", "model_name"]
    run = imported(tmp_path, TERMINAL / "native_trial_token_usage_2models.csv.gz", *columns)
    for model in run.table.variants:
        holds(run, model, expected(TERMINAL)[model])


def test_trials_that_were_lost_are_missing_where_each_task_was_planned_alike(tmp_path: Path) -> None:
    columns = ["--task-id", "task_name", "--trial", "trial_id", "--passed", "success", "--variant", "model_name"]
    run = imported(tmp_path, TERMINAL / "native_trial_token_usage_2models.csv.gz", *columns, "--planned", "max")
    for model in run.table.variants:
        counts_missing_as_failed(run.table, model, expected(TERMINAL)[model])
