"""A run folder as numbers: what `show`, `report`, `compare`, `gate` and the end of `run` all begin with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evalkit.core.errors import RunInvalid
from evalkit.core.message import JSON
from evalkit.core.sandbox import RECORD
from evalkit.measure.arrays import Ints
from evalkit.measure.table import Table
from evalkit.report.about import About
from evalkit.run.schedule import in_order
from evalkit.store.disk import exists
from evalkit.store.folder import newest
from evalkit.store.manifest import Manifest
from evalkit.store.runstore import RunStore

REPORTS = Path("reports")
LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An open run: its folder's store, its numbers, and the facts about it."""

    store: RunStore
    table: Table
    about: About


def find(reference: str) -> Path:
    """The folder that a reference names: a path, a name under reports/, or `latest`, the run there that was begun last.

    Raises `RunInvalid` where there is none yet, `StoreError` where reports/ cannot be read.
    """
    if reference == LATEST:
        found = newest(REPORTS)
        if found is None:
            mend = "make one with `evalkit run`, or name the folder that --out gave to one"
            raise RunInvalid(f"there is no run under reports/ yet that you may read: {mend}")
        return found
    path = Path(reference)
    return REPORTS / reference if not exists(path) and exists(REPORTS / reference) else path


def open_run(reference: str) -> Run:
    """Open a run for reading; close its `store` when done. Raises `StoreError` for a folder that cannot be read."""
    return numbers(RunStore.open(find(reference), write=False))


def held_run(stack: ExitStack, reference: str) -> Run:
    """Open a run for reading, and close its store when the stack ends."""
    found = open_run(reference)
    stack.enter_context(found.store)
    return found


def numbers(store: RunStore) -> Run:
    """Put a store's numbers and facts together; the store stays open."""
    return Run(store=store, table=table_of(store), about=about(store.manifest))


def table_of(store: RunStore) -> Table:
    """Read the run's numbers; no record and no trace is decoded."""
    plan, found, early = store.manifest.plan, store.columns(), early_of(store.manifest)
    lacking = len(found) < store.manifest.trials
    variants = tuple(variant.name for variant in store.manifest.variants)
    return Table.of(
        tasks=[(task.suite, task.task) for task in plan],
        variants=variants,
        planned=[[task.trials.get(name, 0) for name in variants] for task in plan],
        suite=found.suite,
        task=found.task,
        variant=found.variant,
        index=found.index,
        outcome=found.outcome,
        graded=found.graded,
        stop=found.stop,
        turns=found.turns,
        tokens=found.tokens,
        usd=found.usd,
        seconds=found.seconds,
        baseline=store.manifest.baseline,
        first_failure=lacking and bool(early.get("first_failure")),
        curtailed=lacking and bool(early.get("curtailed")),
        order=_order(store.manifest),
    )


def _order(run: Manifest) -> Ints:
    """The rank of each planned task in the order of play."""
    ranks = {(task.suite, task.id): rank for rank, task in enumerate(in_order(run.suites, run.seed))}
    return np.array([ranks.get((task.suite, task.task), len(ranks)) for task in run.plan], dtype=np.int64)


def early_of(manifest: Manifest) -> Mapping[str, JSON]:
    """How a run was cut short on purpose, as its `run.json` says: `first_failure` true, `curtailed` with the verdict that stood."""
    found = manifest.settings.get("early")
    return found if isinstance(found, Mapping) else {}


def _sandbox(manifest: Manifest) -> str:
    """What held the processes of the trials; runs that do not say were imported, or are of an evalkit that had none."""
    levels = manifest.settings.get(RECORD)
    return ", then ".join(map(str, levels)) if isinstance(levels, list) and levels else "not recorded"


def about(manifest: Manifest) -> About:
    """The facts that a report tells of a run."""
    found = manifest.origin
    return About(
        run=manifest.run,
        suites=tuple(suite.name for suite in manifest.suites),
        variants=manifest.variants,
        natures=tuple(sorted(set(manifest.natures.values()))),
        created=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(manifest.created)),
        baseline=manifest.baseline,
        gates=manifest.gates,
        seed=manifest.seed,
        commit=found.commit or "",
        dirty=bool(found.dirty),
        versions={"evalkit": found.evalkit, "python": found.python, **found.packages},
        machine={"system": found.system, "cpus": str(found.cpus), "sandbox": _sandbox(manifest)},
        command=found.command,
    )
