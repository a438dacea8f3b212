"""A word to whoever's own agent fails in every trial alike: that is mostly how it was started, and seldom how well it works.

Invariant: it is said beside the numbers and changes none of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from evalkit import parts
from evalkit.core.protocols import RunsInside
from evalkit.core.sandbox import RECORD
from evalkit.report.clean import clean
from evalkit.report.grounds import last_words
from evalkit.store.runstore import RunStore

ERROR = "agent_error"
LONGEST = 300


def stumbled(store: RunStore) -> Iterator[str]:
    """Say of each variant whose trials all ended with the agent's own error what the first of them said, and where to look."""
    found = store.columns()
    for variant in store.manifest.variants:
        own = [place for place, name in enumerate(found.variant) if name == variant.name]
        if not own or any(found.stop[place] != ERROR for place in own):
            continue
        record = store.record(found.key[own[0]])
        said = clean(": ".join(filter(None, (record.stop.detail, last_words(record)))))[:LONGEST]
        look = shlex.join(["evalkit", "show", str(store.folder), record.key.task, str(record.key.index)])
        yield f"every trial of {variant.name} ended with {ERROR}, the first with: {said}\n  more: {look} --variant {shlex.quote(variant.name)}"
        levels = store.manifest.settings.get(RECORD)
        if (
            isinstance(parts.build("loops", variant.loop), RunsInside)
            and isinstance(levels, list)
            and "bubblewrap" in str(levels[-1:])
        ):
            yield "  in its sandbox it sees only what was told above: name more under `files` or `readable`; --sandbox none shows if that is why"
