"""Config files: the loop designs to compare, and the rules that they must meet.

Invariant: a config that is returned can be run: its parts exist and fit, its variants differ only as declared, a dollar cap
stands only where dollars can be counted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from evalkit import parts
from evalkit.core.plan import (
    Caps,
    Config,
    Gate,
    Retries,
    Spec,
    ToolOutput,
    ToolStyle,
    Variant,
    Verify,
    WrapUp,
)
from evalkit.load.document import is_file, read_document
from evalkit.load.faults import adapter_of, validate
from evalkit.load.files import Files
from evalkit.load.forms import CONFIG, VARIANT
from evalkit.load.gates import read_gate
from evalkit.load.node import Mark, Node, deep_merge, is_mapping
from evalkit.load.problems import Problems, meant
from evalkit.load.specs import read_parts
from evalkit.load.variants import declared, expand, read_axes, refuse_undeclared, written

FAMILIES = {
    "provider": "providers",
    "loop": "loops",
    "context": "context",
    "condense": "context",
    "detectors": "detectors",
    "guardrails": "guardrails",
    "extra_tools": "tools",
}
"""The keys of a variant that hold parts, and the family of each."""

NOBODY = Variant.__dataclass_fields__["provider"].default
"""The provider of a variant that names none."""

LONGEST_CHAIN = 20
"""Files that may extend one another."""

MENDS = {
    "version": "begin with `version: 1`",
    "variants": "name at least one: `variants: {react: {loop: {kind: react}}}`",
    "provider": "name the model, in the variant or in `common`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A config file that was read: what it says and where it says it. `names` are all variants, those that are wrong included."""

    config: Config
    names: Mapping[str, Mark] = field(default_factory=dict)
    baseline: Mark | None = None
    gates: tuple[tuple[Gate, Node], ...] = ()


def load_config(path: Path) -> Config:
    """Load a config file; a `ConfigurationError` carries everything that is wrong with it."""
    problems = Problems()
    read = read_config(path, problems)
    check_names(read, read.names, problems)
    problems.throw()
    return read.config


def read_config(path: Path, problems: Problems) -> Read:
    """Read a config file; where something is wrong there are problems, and the config holds only what is right."""
    top = _extended(path, problems, ())
    source = str(path)
    if top is None:
        return Read(config=Config(variants=(), source=source))
    validate(adapter_of(CONFIG), top, problems, mends=MENDS)
    axes = read_axes(top, problems)
    nodes = expand(written(top), axes, top, problems)
    made = [(_variant(name, node, source, problems), node) for name, node in nodes.items()]
    right = [(variant, node) for variant, node in made if variant is not None]
    refuse_undeclared(right, declared(top, axes, problems), problems)
    listed, baseline = top.step("gates"), top.step("baseline")
    gates = [(read_gate(node, problems), node) for node in (listed.items if listed else ())]
    kept = tuple((gate, node) for gate, node in gates if gate is not None)
    return Read(
        config=Config(
            variants=tuple(variant for variant, _ in right),
            baseline=baseline.text if baseline else None,
            gates=tuple(gate for gate, _ in kept),
            source=source,
        ),
        names={name: node.mark for name, node in nodes.items()},
        baseline=baseline.mark if baseline else None,
        gates=kept,
    )


def check_names(read: Read, names: Mapping[str, Mark], problems: Problems) -> None:
    """Note each name of a variant, in gates and as the baseline, that is the name of none."""
    if not names:
        return
    if read.config.baseline is not None and read.baseline is not None and read.config.baseline not in names:
        what = f"the baseline {read.config.baseline!r} is no variant"
        problems.add(read.baseline, what, meant(read.config.baseline, names))
    for gate, node in read.gates:
        for key in ("variant", "baseline"):
            name = getattr(gate, key)
            if name is not None and name not in names:
                problems.add(node.find([key]).mark, f"there is no variant {name!r}", meant(name, names))


def _extended(path: Path, problems: Problems, chain: tuple[str, ...]) -> Node | None:
    """Read a file and lay it over the one that it extends; None, and problems, where one of them cannot be read."""
    top = read_document(path, problems)
    if top is None:
        return None
    top = _filled(top)
    extends = top.step("extends")
    if extends is None or not extends.text:
        return top
    below = Path(os.path.normpath(path.parent / extends.text))
    known, real = (*chain, os.path.realpath(path)), os.path.realpath(below)
    if not is_file(below):
        problems.add(extends.mark, f"there is no file {extends.text!r}", "`extends` starts from the file's own folder")
    elif real in known:
        names = " → ".join(Path(one).name for one in (*known[known.index(real) :], real))
        problems.add(extends.mark, f"files that extend one another: {names}", "cut the circle")
    elif len(known) >= LONGEST_CHAIN:
        problems.add(extends.mark, f"more than {LONGEST_CHAIN} files that extend one another", "flatten them")
    else:
        lower = _extended(below, problems, known)
        return None if lower is None else deep_merge(lower, top)
    return None


def _filled(top: Node) -> Node:
    """Read a variant of nothing (`react:`) as one that adds nothing."""
    variants = top.step("variants")
    if not is_mapping(variants):
        return top
    filled = {name: Node(node.mark, {}) if node.value is None else node for name, node in variants.entries.items()}
    return top.with_entry("variants", Node(variants.mark, filled, variants.keys), top.key_mark("variants"))


def _variant(name: str, node: Node, source: str, problems: Problems) -> Variant | None:
    """Make a variant; None, and problems, where something is wrong with it."""
    form = validate(adapter_of(VARIANT), node, problems, mends=MENDS)
    held = read_parts(Variant, node, FAMILIES, problems)
    if form is None or not held.whole:
        return None
    plain: Any = {one.name: getattr(form, one.name) for one in fields(form) if one.name not in FAMILIES}
    plain["caps"] = Caps(**asdict(form.caps))
    plain["retries"] = Retries(**asdict(form.retries))
    for key, made in (("verify", Verify), ("wrap_up", WrapUp), ("tool_output", ToolOutput), ("tools", ToolStyle)):
        value = getattr(form, key)
        plain[key] = None if value is None else made(**asdict(value))
    base, files = _own_files(node, source, problems)
    variant = Variant(name=name, source=source, base=base, files=files, **plain, **held.specs)
    _check_sense(variant, node, problems)
    return variant


def _own_files(node: Node, source: str, problems: Problems) -> tuple[str, dict[str, str]]:
    """The files that loop, guardrails and tools use, by digest, and the folder that they start from: that of the file in which they are written."""
    under = {key: node.step(key) for key in ("loop", "guardrails", "extra_tools")}
    held = [(FAMILIES[key], one) for key, found in under.items() if found for one in (found.items or (found,))]
    base, files, first = ".", dict[str, str](), ""
    for family, one in held:
        kind = one.step("kind")
        if kind is None or kind.text is None:
            continue
        part = parts.part(family, kind.text)
        here = os.path.dirname(os.path.abspath(kind.mark.file or source))  # noqa: PTH100, PTH120  # `resolve` would follow a link
        if not any(getattr(part, name, ()) for name in ("FILES", "FUNCTIONS", "PROGRAMS")):
            base = here if base == "." else base
            continue
        if first and first != here:
            what = f"the files of {kind.text} start from {here}, those of the part before it from {first}"
            problems.add(kind.mark, what, "write loop, guardrails and extra_tools that name files in one config file")
        base, first = here, here
        files |= Files(Path(here), problems, "config").of_part(part, one.without("kind"))
    return base, files


def _check_sense(variant: Variant, node: Node, problems: Problems) -> None:
    """Note what is wrong with a variant though each of its values is right by itself."""
    loop: Any = parts.part("loops", variant.loop.kind)
    model = getattr(loop, "MODEL", "asked")
    if model == "asked" and variant.provider == NOBODY:
        what = f"the variant {variant.name!r} names no provider, and its loop asks one"
        problems.add(node.mark, what, MENDS["provider"])
        return
    if getattr(loop, "WANTS_SECONDS", False) and variant.caps.seconds is None:
        what = f"the variant {variant.name!r} has no cap on seconds, and an agent of its own that hangs would never end"
        problems.add(node.find(["loop"]).mark, what, "write `caps: {seconds: 10m}`")
    unpriced = parts.build("providers", variant.provider).price() is None
    if variant.caps.usd is not None and unpriced and (model == "asked" or variant.provider != NOBODY):
        what = f"a dollar cap in the variant {variant.name!r}, whose provider has no known price"
        problems.add(node.find(["caps", "usd"]).mark, what, "give the provider a `usd_price`, or drop the cap")
    for fragment in variant.fragments:
        if fragment not in parts.kinds("fragments"):
            there = parts.kinds("fragments")
            problems.add(node.find(["fragments"]).mark, f"there is no fragment {fragment!r}", meant(fragment, there))
    wants_window = [spec.kind for spec in (*variant.condense, variant.context) if _wants_window(spec)]
    if wants_window and parts.build("providers", variant.provider).window() is None:
        what = f"{wants_window[0]} in the variant {variant.name!r}, whose provider has no known context window"
        problems.add(node.mark, what, "give the provider a `context_window`")
    if variant.retries.longest < variant.retries.base:
        problems.add(node.find(["retries", "longest"]).mark, "`longest` is shorter than `base`", "raise it")


def _wants_window(spec: Spec) -> bool:
    """True for a context policy that goes by the size of the model's context window."""
    return bool(getattr(parts.part("context", spec.kind), "WANTS_WINDOW", False))
