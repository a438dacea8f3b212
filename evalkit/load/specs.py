"""Parts as files write them, `{kind: NAME, option: value}`, checked against the classes that they name.

Invariant: a `Spec` that leaves this file can be built: its kind exists and its options fit.
"""

from __future__ import annotations

from typing import Any

from evalkit import parts
from evalkit.core.errors import ConfigurationError
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
}
"""A part of each family, in words."""


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


def part_class(family: str, node: Node) -> Any:
    """The class of a part that is known to be right."""
    return parts.part(family, node.entries["kind"].text or "")


def _validator(family: str, kind: Node, problems: Problems) -> Any:
    """Load the validator of a kind; None, and a problem, where another package's part cannot be loaded."""
    try:
        return parts.adapter(family, kind.text or "")
    except (ImportError, AttributeError) as error:
        problems.add(kind.mark, f"the part cannot be loaded: {error}", "is its package installed whole?")
    except ConfigurationError as error:
        problems.add(kind.mark, "; ".join(problem.what for problem in error.problems))
    return None
