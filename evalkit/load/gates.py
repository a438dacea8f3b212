"""Gates in a config file: bounds that make sense for their metric.

Invariant: a gate that is returned has a bound, and one that its metric can both meet and miss.
"""

from __future__ import annotations

from dataclasses import asdict

from evalkit.core.plan import Gate
from evalkit.load.faults import adapter_of, validate
from evalkit.load.forms import GATE
from evalkit.load.node import Node, is_mapping
from evalkit.load.problems import Problems

DOLLARS = "usd_per_reliable_success"
"""The one metric that is no share."""

BOUNDS = ("min", "max", "max_drop")
"""The fields that are compared with the metric's value."""


def read_gate(node: Node, problems: Problems) -> Gate | None:
    """Read one gate; None, and problems, where it is wrong."""
    form = validate(adapter_of(GATE), node, problems) if is_mapping(node) else None
    if form is None:
        return None
    gate = Gate(**asdict(form))
    if (gate.baseline is None) != (gate.max_drop is None):
        given, lacking = ("baseline", "max_drop") if gate.max_drop is None else ("max_drop", "baseline")
        problems.add(node.key_mark(given), f"`{given}` without `{lacking}`", "give both, or neither")
    elif gate.min is None and gate.max is None and gate.baseline is None:
        problems.add(node.mark, "a gate without a bound", "give `min`, `max`, or `baseline` with `max_drop`")
    if gate.baseline is not None and gate.baseline == gate.variant:
        problems.add(node.find(["baseline"]).mark, "a variant compared with itself", "name another baseline")
    if gate.rule == "anytime" and (wrong := _not_anytime(gate)):
        problems.add(node.find(["rule"]).mark, f"{wrong} cannot be judged at any time", "leave `rule` away")
    beyond = [name for name in BOUNDS if (getattr(gate, name) or 0) > 1] if gate.metric != DOLLARS else []
    for name in beyond:
        value = getattr(gate, name)
        what = f"`{name}` wants a share from 0 to 1, since {gate.metric} is one, got {value:g}"
        problems.add(
            node.find([name]).mark, what, f"write {value / 100:g}" if 2 <= value <= 100 else "1 is all, 0.9 nine in ten"
        )
    if not beyond and gate.min is not None and gate.max is not None and gate.min > gate.max:
        problems.add(node.find(["min"]).mark, f"`min` {gate.min:g} is over `max` {gate.max:g}", "swap them")
    return gate


def _not_anytime(gate: Gate) -> str:
    """Say what keeps a gate from being judged by evidence that may be looked at all the time; empty where nothing does."""
    if gate.baseline is not None:
        return "a drop from a baseline"
    if gate.metric == DOLLARS:
        return f"{DOLLARS}, which is no share,"
    if gate.task is not None:
        return "a single task"
    edge = next((bound for bound in (gate.min, gate.max) if bound in (0.0, 1.0)), None)
    return "" if edge is None else f"a bound of {edge:g}, of which no evidence can show both sides,"
