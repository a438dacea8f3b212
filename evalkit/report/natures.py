"""What a run's replies are: the badge and the sentence of each nature, the same on every surface.

Invariant: only replies of a live model go without a caveat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evalkit.core.message import Nature

BADGES: dict[Nature, str] = {
    "live": "● Live model",
    "local": "◍ Local model",
    "external": "◇ Own agent, its model not seen",
    "simulated": "◌ Simulated model",
    "replayed": "↻ Replayed trials",
}
"""What the page shows."""

_CAVEATS: dict[Nature, str] = {
    "local": "Local model: a server on this machine answered, so the numbers are those of the model that it holds.",
    "external": "Own agent: it asked a model of its own out of evalkit's sight, so which one answered is its own word.",
    "simulated": "Simulated model: the numbers show the method at work and say nothing about a real model.",
    "replayed": "Replayed trials: recorded replies were played again, which is no new evidence about any model.",
}


def nature_caveats(natures: Iterable[str]) -> Iterator[str]:
    """What a reader must know of where replies came from, a sentence a nature; none for a live model."""
    given = set(natures)
    return (sentence for nature, sentence in _CAVEATS.items() if nature in given)
