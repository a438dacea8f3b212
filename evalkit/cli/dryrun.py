"""What `run --dry-run` says: the trials that would be played, and what they may cost at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from evalkit.cli.output import width
from evalkit.core.plan import Suite, Trial, Variant
from evalkit.report.layout import wrap
from evalkit.report.numbers import times
from evalkit.store.runstore import RunStore


def described(variants: Sequence[Variant], suites: Sequence[Suite], planned: Iterable[Trial], folder: Path) -> str:
    """Say what would be run; trials that the folder holds already are not left to do."""
    done: frozenset[str] = frozenset()
    if (folder / "run.json").exists():
        with RunStore.open(folder, write=False) as store:
            done = store.done()
    trials = [(trial.key.variant, trial.key.digest in done) for trial in planned]
    counts = Counter(variant for variant, is_done in trials if not is_done)
    tasks = sum(len(suite.tasks) for suite in suites)
    lines = [
        f"{times(tasks, 'task')} under {times(len(variants), 'variant')}: {times(len(trials), 'trial')}, {counts.total()} of them left"
    ]
    for variant in variants:
        cap = variant.caps.usd
        most = "no dollar cap" if cap is None else f"at most ${cap * counts[variant.name]:.2f} and one reply a trial"
        lines.append(f"  {variant.name}: {times(counts[variant.name], 'trial')}, {variant.provider.kind}, {most}")
    capped = [cap * counts[one.name] for one in variants if (cap := one.caps.usd) is not None]
    free = len(variants) - len(capped)
    most = (
        f"at most ${sum(capped):.2f} and one reply a trial"
        if not free
        else f"no bound on dollars ({free} of {times(len(variants), 'variant')} without one)"
    )
    lines = [
        piece for line in (*lines, f"in all: {times(counts.total(), 'trial')}, {most}") for piece in wrap(line, width())
    ]
    return "\n".join([*lines, f"run folder: {folder}"])
