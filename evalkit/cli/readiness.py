"""What keeps a run from being begun at all: a provider that cannot be asked, an agent that cannot be started.

Invariant: it is told before anything is written, each fault once, and what merely will not work as meant is a warning.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalkit import parts
from evalkit.cli.output import tell
from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.plan import Suite, Trial, Variant, trial_key
from evalkit.load import doubts


def check_ready(suites: Sequence[Suite], variants: Sequence[Variant]) -> None:
    """Refuse to begin where a loop or provider says that it cannot, or a simulated model knows nothing of one of the tasks."""
    problems: dict[str, Problem] = {}
    for variant in variants:
        provider, loop = parts.build("providers", variant.provider), parts.build("loops", variant.loop)
        said = {
            f"loop {variant.loop.kind}": loop.ready(variant) if hasattr(loop, "ready") else None,
            f"provider {variant.provider.kind}": provider.ready(),
        }
        for what, missing in said.items():
            if missing is not None:
                problems.setdefault(missing, Problem(where=f"variant {variant.name}, {what}", what=missing))
        if provider.nature == "simulated" and provider.ready() is None:
            for task in (task for suite in suites for task in suite.tasks):
                key = trial_key(task, "", variant, "", 1)
                try:
                    provider.open(Trial(key=key, task=task, variant=variant, seed=0))
                except ConfigurationError as error:
                    problems |= {str(problem): problem for problem in error.problems}
    if problems:
        raise ConfigurationError(*problems.values())
    for doubt in doubts(variants):
        tell(f"warning: {doubt}")
