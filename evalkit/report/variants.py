"""Loop designs as text: what each is made of, and how often a failed call may be tried in all.

Invariant: the worst case that is printed is the product of the layers that multiply; layers that do not are told apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evalkit.core.message import JSON
from evalkit.core.plan import Variant
from evalkit.report.clean import clean_line, clean_name
from evalkit.report.layout import entry, wrap

TOO_MANY = 9
"""Tries of one failed call from which on an outage is made worse by its own retries."""


def variants_text(variants: Sequence[Variant], baseline: str | None, width: int = 80) -> str:
    """Write each variant: its settings that are not the default's, then its retries."""
    return "\n\n".join(_variant_text(variant, width, baseline=variant.name == baseline) for variant in variants)


def _variant_text(variant: Variant, width: int, *, baseline: bool) -> str:
    """Write one variant."""
    lines = [clean_name(variant.name) + (" (baseline)" if baseline else "")]
    default = Variant(name="", provider=variant.provider).content()
    for name, value in variant.content().items():
        if name in ("provider", "loop", "context", "caps") or value != default[name]:
            lines += entry(f"  {name:<12} ", clean_line(_shown(value)), width)
    return "\n".join([*lines, *_pyramid(variant, width)])


def retry_warnings(variants: Sequence[Variant]) -> list[str]:
    """A sentence for each variant in which one failed call may be tried more than `TOO_MANY` times before its trial is over."""
    return [
        f"{clean_name(variant.name)}: {what} may be tried {worst} times: {layers}; more than {TOO_MANY} prolong an outage "
        "instead of riding it out"
        for variant in variants
        for what, worst, layers in _layers(variant)
        if worst > TOO_MANY
    ]


def _layers(variant: Variant) -> list[tuple[str, int, str]]:
    """What may be tried, how often in one attempt at a trial in the worst case, and the layers that multiply to that.

    A provider's fault ends the trial once its own tries are used up, so nothing multiplies them but a new attempt at the trial. A tool's
    fault goes back to the model; a loop that tries a subtask again and a ladder that has work corrected each come to the same call anew.
    """
    retries, again = variant.retries, _attempts(variant.loop.options)
    rounds = 1 + (variant.verify.self_correct if variant.verify else 0)
    factors = [f"{retries.tool} tries in the dispatcher"]
    factors += [f"{again} attempts at a subtask by the loop"] if again > 1 else []
    factors += [f"{rounds} rounds of self-correction"] if rounds > 1 else []
    return [
        ("a model call", retries.model, f"{retries.model} tries in the session"),
        ("a tool call", retries.tool * again * rounds, " × ".join(factors)),
    ]


def _attempts(options: JSON) -> int:
    """The most `attempts` that a loop's options give to any of its agents."""
    if not isinstance(options, Mapping):
        return 1
    own = options.get("attempts")
    return max([own if isinstance(own, int) else 1, *map(_attempts, options.values())])


def _pyramid(variant: Variant, width: int) -> list[str]:
    """Draw the layers at which a failed call is tried again, with the worst case of each."""
    (_, model, by_model), (_, tool, by_tool) = _layers(variant)
    layers = {
        "    model call   ": f"{model:>4} = {by_model}; passing faults only (the SDK's own retries are off)",
        "    tool call    ": f"{tool:>4} = {by_tool}; passing faults only, unseen by the model",
        "    trial        ": "up to --retries attempts, only where our own world broke, never for its outcome; they come after the run's "
        "other trials, and each is an attempt of its own",
    }
    lines = wrap("retries of one failed call, worst case of one attempt at a trial:", width, "  ")
    lines += [line for head, text in layers.items() for line in entry(head, text, width)]
    return [*lines, *(line for one in retry_warnings([variant]) for line in entry("  warning: ", one, width))]


def _shown(value: JSON) -> str:
    """Write a setting on one line: a part as its kind and options, other values as JSON."""
    if isinstance(value, Mapping) and set(value) == {"kind", "options"}:
        options = ", ".join(f"{name}: {json.dumps(inner)}" for name, inner in value["options"].items())
        return f"{value['kind']}" + (f" {{{options}}}" if options else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(inner)}" for name, inner in value.items() if inner is not None) or "none"
    return json.dumps(value)
