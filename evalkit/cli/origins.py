"""Where a run's replies came from, held to what its records say.

Invariant: `run.json` never claims more than the records do. A provider says before the run what it is; where an answer says less
of itself (a server that simulates, reached through the SDK), that is written down with the first record that tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evalkit.core.message import least
from evalkit.core.record import TrialRecord
from evalkit.store.runstore import RunStore


def watched(store: RunStore, told: Callable[[TrialRecord], None]) -> Callable[[TrialRecord], None]:
    """Wrap `told`: a record of a lesser nature than its variant was said to have is written into the run's manifest first."""

    def tell(record: TrialRecord) -> None:
        """See where a record came from, then tell of it."""
        known, name = store.manifest.natures, record.key.variant
        found = least((record.nature, known.get(name, record.nature)))
        if known.get(name) != found:
            store.update_plan(replace(store.manifest, natures={**known, name: found}))
        told(record)

    return tell
