"""Loop designs as text: what each is made of, and how often a failed call may be tried in all.

Invariant: the worst case that is printed is the product of the layers that multiply; layers that do not are told apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evalkit.core.message import JSON
from evalkit.core.plan import Variant
from evalkit.report.clean import clean_line, clean_name

TOO_MANY = 9
"""Tries of one failed call from which on an outage is made worse by its own retries."""


def variants_text(variants: Sequence[Variant], baseline: str | None) -> str:
    """Write each variant: its settings that are not the default's, then its retries."""
    return "\n\n".join(_variant_text(variant, baseline=variant.name == baseline) for variant in variants)


def _variant_text(variant: Variant, *, baseline: bool) -> str:
    """Write one variant."""
    lines = [clean_name(variant.name) + (" (baseline)" if baseline else "")]
    default = Variant(name="", provider=variant.provider).content()
    for name, value in variant.content().items():
        if name in ("provider", "loop", "context", "caps") or value != default[name]:
            lines.append(f"  {name:<12} {clean_line(_shown(value))}")
    return "\n".join([*lines, *_pyramid(variant)])


def _pyramid(variant: Variant) -> list[str]:
    """Draw the layers at which a failed call is tried again."""
    retries = variant.retries
    lines = [
        "  retries of one failed call, worst case:",
        f"    model call   {retries.model} tries, passing faults only, in the session (the SDK's own retries are off)",
        f"    tool call    {retries.tool} tries, passing faults only, in the dispatcher, unseen by the model",
        "    trial        up to --retries attempts, only where our own world broke; never for its outcome",
    ]
    worst = max(retries.model, retries.tool)
    if worst > TOO_MANY:
        lines.append(
            f"  warning: {worst} tries of one call; more than {TOO_MANY} prolong an outage instead of riding it out"
        )
    return lines


def _shown(value: JSON) -> str:
    """Write a setting on one line: a part as its kind and options, other values as JSON."""
    if isinstance(value, Mapping) and set(value) == {"kind", "options"}:
        options = ", ".join(f"{name}: {json.dumps(inner)}" for name, inner in value["options"].items())
        return f"{value['kind']}" + (f" {{{options}}}" if options else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(inner)}" for name, inner in value.items() if inner is not None) or "none"
    return json.dumps(value)
