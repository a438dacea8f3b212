"""Turns a drawing into SVG that a page can hold: classes for colours, text as text, no style attributes, no stray ids.

Invariant: what comes out needs no inline style, so that the page's content policy can forbid all of it, and holds
text from outside only where the XML writer has escaped it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET  # reads only what the drawing library has just written
from collections.abc import Iterator, Mapping

from evalkit.report.clean import clean_line

SVG = "http://www.w3.org/2000/svg"
XLINK = "{http://www.w3.org/1999/xlink}href"

ROLES = ("ink", "soft", "rule", "grid", "paper", "onpart", *(f"s{n}" for n in range(8)), *(f"p{n}" for n in range(8)))
"""What a colour is for: text and lines, the paper, series `s0`–`s7`, parts of a bar `p0`–`p7`."""

INKS: Mapping[str, str] = {role: f"#0e0e{number:02x}" for number, role in enumerate(ROLES)}
"""The colour that stands for each role while drawing; it never reaches the page."""

_ROLE_OF = {ink: role for role, ink in INKS.items()}
_DROPPED = {"metadata", "style"}
_KEPT = {
    "opacity",
    "fill-opacity",
    "stroke-opacity",
    "stroke-width",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "text-anchor",
    "font-weight",
}
LABEL = 22
"""Characters of a label that are shown."""

FONT_SIZE = "11.5"
"""Size of all text, in the figure's own units."""


def placeholder(number: int) -> str:
    """The text that stands for a label while drawing."""
    return f"label-{number}"


def restyle(drawing: str, *, name: str, title: str, labels: Mapping[str, str]) -> str:
    """Make a drawing fit for a page: `name` starts its ids, `title` is read aloud, `labels` replace placeholders."""
    root = ET.fromstring(drawing)  # noqa: S314  # written by the drawing library a moment ago
    _drop(root)
    used = _used_ids(root, name)
    for element in root.iter():
        element.tag = str(element.tag).removeprefix(f"{{{SVG}}}")
        _style(element)
        _refer(element, used)
        if element.text and element.text in labels:
            element.text = clean_line(labels[element.text], LABEL)
    _lift(root)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update(
        {
            "xmlns": SVG,
            "viewBox": box,
            "class": f"figure figure-{name}",
            "role": "img",
            "aria-label": clean_line(title),
            "font-family": "sans-serif",
            "font-size": FONT_SIZE,
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
        }
    )
    return ET.tostring(root, encoding="unicode")


def _drop(element: ET.Element) -> None:
    """Take out what a page has no use for: metadata and style sheets, and blanks between elements."""
    for child in list(element):
        if str(child.tag).rpartition("}")[2] in _DROPPED:
            element.remove(child)
        else:
            child.tail = None
            _drop(child)
    if len(element):
        element.text = None


def _lift(element: ET.Element) -> None:
    """Put what lies in groups that say nothing, and in empty ones, into their parent: a browser must lay out every element."""
    lifted: list[ET.Element] = []
    for child in element:
        _lift(child)
        bare = child.tag == "g" and not child.attrib
        if bare or (child.tag in ("g", "defs") and not len(child)):
            lifted.extend(child)
        else:
            lifted.append(child)
    element[:] = lifted


def _used_ids(root: ET.Element, name: str) -> dict[str, str]:
    """New names, counted in order, for the ids that something in the drawing refers to."""
    used: dict[str, str] = {}
    for element in root.iter():
        for reference in _references(element):
            used.setdefault(reference, f"{name}-{len(used)}")
    return used


def _references(element: ET.Element) -> Iterator[str]:
    """The ids that an element refers to."""
    if XLINK in element.attrib:
        yield element.attrib[XLINK].removeprefix("#")
    if "clip-path" in element.attrib:
        yield element.attrib["clip-path"].removeprefix("url(#").removesuffix(")")


def _refer(element: ET.Element, used: Mapping[str, str]) -> None:
    """Rename an element's id and its references; an id that nothing refers to goes."""
    identity = element.attrib.pop("id", None)
    if identity and identity in used:
        element.set("id", used[identity])
    target = element.attrib.pop(XLINK, None)
    if target is not None:
        element.set("href", f"#{used[target.removeprefix('#')]}")
    clip = element.get("clip-path")
    if clip is not None:
        element.set("clip-path", f"url(#{used[clip.removeprefix('url(#').removesuffix(')')]})")


def _style(element: ET.Element) -> None:
    """Turn a style attribute into classes for colours and plain attributes for the rest; the font is the root's."""
    classes = []
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in ("fill", "stroke"):
            role = _ROLE_OF.get(value)
            kind = "fill" if name == "fill" else "line"
            if role is None:
                element.set(name, value)
            else:
                classes.append(f"{kind}-{role}")
        elif name in _KEPT:
            element.set(name, value)
    if classes:
        element.set("class", " ".join(classes))
