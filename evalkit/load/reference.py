"""`docs/parts.md`: every part with its options, made from the classes themselves.

Invariant: nothing is written about an option that its class does not say; `python -m evalkit.load.reference` writes the page anew, and a
test compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from evalkit import parts
from evalkit.load.specs import ONE
from evalkit.parts.providers._profile import Profile
from evalkit.parts.providers._simulate import Simulate, Step

PAGE = Path(__file__).parents[2] / "docs" / "parts.md"

HEAD = """\
# Parts

What a `kind` may be, and its options. This page is made from the classes (`python -m evalkit.load.reference`); editors complete the same
from the JSON Schemas. A type `a | null` may be left out; durations want a unit (`90s`). Paths start from the suite's folder.
"""

SIMULATION = """\
## How the simulated model solves a task

The key `simulate` of a task, read by `provider: {kind: simulated}`. A complete one:

```yaml
simulate:
  steps:
    - {tool: find_member, args: {card: K-1187}, shows: [M07], wrong: {card: K-1188}}
    - {tool: list_loans, args: {member: M07}, needs: [M07]}
  answer: Two books are on loan.
```
"""

SHAPES: tuple[tuple[str, type[Any]], ...] = (
    ("`simulate`", Simulate),
    ("A step", Step),
    ("The `profile` of the provider", Profile),
)


def page() -> str:
    """Write the page."""
    lines = [HEAD]
    for family in (one for one in parts.FAMILIES if parts.kinds(one)):
        lines.append(f"## {family.capitalize()}: {ONE.get(family, 'a fragment')}\n")
        for kind in parts.kinds(family):
            lines += [f"### `{kind}`\n", *_described(parts.part(family, kind))]
    lines.append(SIMULATION)
    for title, shape in SHAPES:
        lines += [f"### {title}\n", *_described(shape)]
    return "\n".join(lines)


def _described(kind: type[Any]) -> Iterator[str]:
    """A class's words and its fields."""
    yield (inspect.getdoc(kind) or "") + "\n"
    if is_dataclass(kind) and fields(kind):
        hints = get_type_hints(kind)
        yield "| option | type | default |\n|---|---|---|"
        for one in fields(kind):
            yield f"| `{one.name}` | `{_type(hints[one.name])}` | {_default(one)} |"
        yield ""


def _type(hint: Any) -> str:
    """A type as people write it."""
    text = hint.__name__ if isinstance(hint, type) and not getattr(hint, "__args__", None) else str(hint)
    for old, new in (("None", "null"), ("typing.", ""), ("collections.abc.", ""), ("NoneType", "null")):
        text = text.replace(old, new)
    while "evalkit." in text:
        before, _, after = text.partition("evalkit.")
        name = after.split("[")[0].split("]")[0].split(",")[0].split(" ")[0].split(">")[0]
        text = before + name.rpartition(".")[2] + after[len(name) :]
    return text.replace("|", "\\|")


def _default(one: Field[Any]) -> str:
    """A default as people write it."""
    if one.default is MISSING and one.default_factory is MISSING:
        return "required"
    value = one.default_factory() if one.default_factory is not MISSING else one.default
    if is_dataclass(value):
        return "its defaults"
    return "none" if value in (None, "", (), {}) else f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
