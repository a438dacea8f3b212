"""Parts as files write them, `{kind: NAME, option: value}`, checked against the classes that they name.

Invariant: a `Spec` that leaves this file can be built: its kind exists and its options fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from evalkit import parts
from evalkit.core.plan import Spec
from evalkit.load.faults import validate
from evalkit.load.node import Node, is_mapping
from evalkit.load.problems import Problems, meant

ONE = {
    "loops": "a loop",
    "providers": "a provider",
    "environments": "an environment",
    "tools": "a tool",
    "checks": "a check",
    "context": "a context policy",
    "detectors": "a detector",
    "guardrails": "a guardrail",
    "streams": "the shape of a program's output",
}
"""A part of each family, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The parts that a task or variant holds: by key, and each one's class with the options that it was given.

    `whole` is False where one of them is wrong.
    """

    specs: Mapping[str, Any]
    used: tuple[tuple[Any, Node], ...]
    whole: bool


def read_parts(origin: type, node: Node, families: Mapping[str, str], problems: Problems) -> Held:
    """Read the parts under some keys, each of a family; the dataclass `origin` says whether a key holds one or a list."""
    specs: dict[str, Any] = {}
    used = []
    for key, family in families.items():
        held = node.step(key)
        if held is None:
            continue
        single = _hints(origin)[key] is Spec
        nodes = (held,) if single else held.items
        made = tuple(_once(one, family, problems) for one in nodes)
        used += [(parts.part(family, spec.kind), one) for one, spec in zip(nodes, made, strict=True) if spec]
        specs[key] = made[0] if single else made
    whole = not any(None in (made if isinstance(made, tuple) else (made,)) for made in specs.values())
    return Held(specs=specs, used=tuple(used), whole=whole)


def _once(node: Node, family: str, problems: Problems) -> Spec | None:
    """Check a part that several tasks or variants may share, the first time."""
    if (node, family) not in problems.checked:
        problems.checked[node, family] = read_part(node, family, problems)
    return problems.checked[node, family]


def read_part(node: Node, family: str, problems: Problems) -> Spec | None:
    """Check a part and name it; None, and problems, where it is wrong."""
    if not is_mapping(node):
        name = node.text if node.text in parts.kinds(family) else "NAME"
        problems.add(node.mark, f"{ONE[family]} wants a mapping, got {node.describe()}", f"write {{kind: {name}}}")
        return None
    kind = node.step("kind")
    if kind is None:
        problems.add(node.mark, f"{ONE[family]} wants a `kind`", meant("", parts.kinds(family)))
        return None
    if kind.text not in parts.kinds(family):
        what = f"{ONE[family]} of kind {kind.text!r}" if kind.text else f"a kind is text, got {kind.describe()}"
        unknown = f"there is no {what.partition(' ')[2]}" if kind.text else what
        problems.add(kind.mark, unknown, meant(kind.text or "", parts.kinds(family)))
        return None
    options = node.without("kind")
    validator = _validator(family, kind, problems)
    if validator is None or validate(validator, options, problems) is None:
        return None
    return Spec(kind=kind.text or "", options=options.json())


@cache
def _hints(origin: type) -> Mapping[str, Any]:
    """The types of a dataclass's fields."""
    return get_type_hints(origin)


def _validator(family: str, kind: Node, problems: Problems) -> Any:
    """Load the validator of a kind; None, and a problem, where another package's part cannot be loaded."""
    try:
        return parts.adapter(family, kind.text or "")
    except (ImportError, AttributeError) as error:
        problems.add(kind.mark, f"the part cannot be loaded: {error}", "is its package installed whole?")
    return None
