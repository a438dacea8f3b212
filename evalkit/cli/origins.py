"""Where a run's replies came from, held to what its records say.

Invariant: `run.json` never claims more than the records do. A provider says before the run what it is; where an answer says less
of itself (a server that simulates, reached through the SDK), or where an agent that might ask the provider asks a model of its own, that is
written down with the first record that tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from evalkit import parts
from evalkit.core.message import least
from evalkit.core.record import TrialRecord
from evalkit.store.runstore import RunStore


def watched(store: RunStore, told: Callable[[TrialRecord], None]) -> Callable[[TrialRecord], None]:
    """Wrap `told`: a record of a lesser nature than its variant was said to have is written into the run's manifest first."""
    before = store.columns()
    decided = {name for name, outcome in zip(before.variant, before.outcome, strict=True) if outcome != "error"}
    if free := decided & set(_free(store)):
        seen = [(one.key.variant, one.nature) for one in store.records() if one.outcome != "error"]
        found = {name: least(nature for of, nature in seen if of == name) for name in free}
        store.update_plan(replace(store.manifest, natures={**store.manifest.natures, **found}))

    def tell(record: TrialRecord) -> None:
        """See where a record came from, then tell of it; what was said before the run gives way to the first record that decides."""
        known, name = store.manifest.natures, record.key.variant
        counts = record.outcome != "error"
        first = counts and name not in decided
        found = record.nature if first else least((record.nature, known.get(name, record.nature)))
        decided.update([name] if counts else [])
        if known.get(name) != found:
            store.update_plan(replace(store.manifest, natures={**known, name: found}))
        told(record)

    return tell


def _free(store: RunStore) -> Iterator[str]:
    """The variants whose agent may ask the provider or a model of its own, so that what was said before the run proves nothing."""
    for variant in store.manifest.variants:
        if getattr(parts.part("loops", variant.loop.kind), "MODEL", "asked") == "may_ask":
            yield variant.name
