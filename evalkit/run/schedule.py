"""Which trials, in which order.

Invariant: tasks come in a seeded random order, and all trials of one task under all variants stand together, the
variants taking turns. So a run that was cut short holds whole tasks, and an outage hurts all variants alike.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from evalkit.core.plan import Suite, Task, Trial, Variant, trial_key, trial_seed
from evalkit.core.sandbox import PLAIN, Sandbox


def schedule(
    suites: Sequence[Suite], variants: Sequence[Variant], run_seed: int, sandbox: Sandbox = PLAIN
) -> Iterator[Trial]:
    """Yield every planned trial: `task.trials` attempts of each task under each variant."""
    tasks: list[Task] = [task for suite in suites for task in suite.tasks]
    random.Random(run_seed).shuffle(tasks)
    digests = [(variant, variant.digest, variant.design_digest) for variant in variants]
    for task in tasks:
        task_digest = task.digest
        for index in range(1, task.trials + 1):
            for variant, variant_digest, design_digest in digests:
                key = trial_key(task, task_digest, variant, variant_digest, index)
                seed = trial_seed(key, design_digest, run_seed)
                yield Trial(key=key, task=task, variant=variant, seed=seed, sandbox=sandbox)
