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
    suites: Sequence[Suite],
    variants: Sequence[Variant],
    run_seed: int,
    sandbox: Sandbox = PLAIN,
    *,
    abreast: int = 1,
) -> Iterator[Trial]:
    """Yield every planned trial: `task.trials` attempts of each task under each variant.

    So many tasks `abreast` take turns, trial by trial: with as many as there are workers, a task's next trial begins when its last has mostly ended,
    which lets a first failure spare the others. A run that is cut short then holds at most so many tasks in part.
    """
    tasks = in_order(suites, run_seed)
    digests = [(variant, variant.digest, variant.design_digest) for variant in variants]
    for start in range(0, len(tasks), abreast):
        block = [(task, task.digest) for task in tasks[start : start + abreast]]
        for index in range(1, max(task.trials for task, _ in block) + 1):
            for task, task_digest in block:
                if index > task.trials:
                    continue
                for variant, variant_digest, design_digest in digests:
                    key = trial_key(task, task_digest, variant, variant_digest, index)
                    seed = trial_seed(key, design_digest, run_seed)
                    yield Trial(key=key, task=task, variant=variant, seed=seed, sandbox=sandbox)


def in_order(suites: Sequence[Suite], run_seed: int) -> list[Task]:
    """All tasks in the order of play."""
    tasks = [task for suite in suites for task in suite.tasks]
    random.Random(run_seed).shuffle(tasks)
    return tasks
