"""Metrics are found by name: `pass_hat.py` holds the class `PassHat`, and nothing is registered anywhere.

Invariant: a text names exactly one metric or is refused with what was probably meant.
"""

from __future__ import annotations

import pkgutil
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from evalkit.core.errors import ConfigurationError
from evalkit.measure.metric import Metric


@cache
def kinds() -> tuple[type[Metric], ...]:
    """All metrics that there are: one class a file of this folder, in the order of the files' names."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))
    return tuple(getattr(import_module(f"{__name__}.{name}"), name.title().replace("_", "")) for name in names)


def forms() -> tuple[str, ...]:
    """Examples of how each metric is written."""
    return tuple(form for kind in kinds() for form in kind.forms())


def metric(text: str) -> Metric:
    """Read a metric as people write it: `pass^8`, `pass@1`, `cap_rate(turns)`; a `ConfigurationError` says what was wrong."""
    for kind in kinds():
        found = kind.parse(text.strip())
        if found is not None:
            return found
    near = get_close_matches(text.strip().lower(), forms(), 1, 0.5)
    raise ConfigurationError.of(
        f"metric {text}",
        "there is no such metric",
        f"did you mean {near[0]}?" if near else f"write one of: {', '.join(forms())}",
    )
