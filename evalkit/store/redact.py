r"""No key reaches a disk: values of key-like environment variables and known shapes of keys become `[redacted]`.

Invariant: only whole strings are ever changed, never the JSON around them, so a record that was redacted stays
readable. A look at the finished JSON (`touches`) tells the few records that need it from the many that do not; it may be
wrong to suspect one, and must not be wrong to pass one. This is the second line: the first is that a key is
nowhere in an agent's reach. What was cut, spaced out or enciphered is not found.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote, quote_plus

from evalkit.core.plan import Task, Variant
from evalkit.core.record import TrialRecord

MARK = "[redacted]"
STOPS = frozenset(
    {
        "finished",
        "gave_up",
        "tool_error",
        "refusal",
        "truncated",
        "context_overflow",
        "detector:",
        "guardrail:",
        "error:",
    }
    | {f"cap:{meter}" for meter in ("turns", "tokens", "seconds", "usd")}
)
SHORTEST = 8
_TELLING = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shape:
    """What one sort of key looks like: how it begins, at least how many characters follow, and the whole of it.

    All quantifiers are bounded, and what one of them takes ends at a character that it cannot take, so hostile text costs no
    more than its length.
    """

    start: str
    least: int
    whole: re.Pattern[str]

    @classmethod
    def of(cls, start: str, rest: str, least: int) -> Shape:
        """Make the shape of a key that begins with `start`, stands apart from the word before it, and goes on with `rest`."""
        return cls(start, least, re.compile(rf"(?<![A-Za-z0-9_-]){re.escape(start)}{rest}"))


_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----)){0,16384}")

SHAPES = (
    Shape.of("sk-", r"[A-Za-z0-9_-]{20,256}", 20),
    *(Shape.of(f"gh{letter}_", r"[A-Za-z0-9]{30,255}", 30) for letter in "pousr"),
    Shape.of("github_pat_", r"[A-Za-z0-9_]{40,255}", 40),
    *(Shape.of(start, r"[A-Z0-9]{16}(?![A-Za-z0-9])", 16) for start in ("AKIA", "ASIA")),
    Shape.of("AIza", r"[A-Za-z0-9_-]{35}", 35),
    Shape.of("glpat-", r"[A-Za-z0-9_.-]{20,128}", 20),
    *(Shape.of(f"xox{letter}-", r"[A-Za-z0-9-]{10,255}", 10) for letter in "abprs"),
    Shape.of("hf_", r"[A-Za-z0-9]{30,64}", 30),
    Shape.of("npm_", r"[A-Za-z0-9]{36}", 36),
    Shape.of("pypi-", r"[A-Za-z0-9_-]{50,512}", 50),
    Shape.of("eyJ", r"[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,8192}\.[A-Za-z0-9_-]{10,2048}", 12),
    Shape("PRIVATE KEY-----", 0, _PEM),
)

RARE = "-_IJ"
"""Characters that are rare in text; every shape begins with a piece that has one, and the search for all of them starts there."""


def _hints(shapes: Sequence[Shape]) -> re.Pattern[bytes]:
    r"""One pattern that finds in JSON whatever may be a key.

    It asks for no boundary before a key, which in JSON may follow the end of an escape such as `\n`.
    """
    branches: dict[str, list[str]] = {}
    for shape in shapes:
        turn = next(number for number, letter in enumerate(shape.start) if letter in RARE) + 1
        before, after = re.escape(shape.start[:turn]), re.escape(shape.start[turn:])
        branches.setdefault(shape.start[turn - 1], []).append(f"(?<={before}){after}[A-Za-z0-9_.-]{{{shape.least}}}")
    return re.compile("|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in branches.items()).encode())


HINTS = _hints(SHAPES)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Finds and replaces the secrets of one process; `needles` as they stand in text, `escaped` as they stand in JSON."""

    needles: tuple[str, ...]
    escaped: tuple[bytes, ...]

    @classmethod
    def of(cls, environ: Mapping[str, str], names: Iterable[str] = ()) -> Redactor:
        """Take the secrets from an environment.

        What is part of one of `names` (of suites, tasks, variants, kinds) or of a word that records are made of (`finished`,
        `assistant`) is no secret: to replace it would break the record and hide nothing.
        """
        known = "\n".join((*names, *own_words()))
        values = {
            value.strip() for name, value in environ.items() if _TELLING.search(name) and len(value.strip()) >= SHORTEST
        }
        forms = {form for value in values for form in _forms(value) if form not in known}
        needles = sorted(forms, key=lambda form: (-len(form), form))
        return cls(tuple(needles), tuple(dict.fromkeys(_in_json(needle) for needle in needles)))

    def touches(self, text: bytes) -> bool:
        """True where finished JSON may hold a secret."""
        return HINTS.search(text) is not None or any(needle in text for needle in self.escaped)

    def clean(self, text: str) -> str:
        """Replace every secret in a string."""
        for needle in self.needles:
            if needle in text:
                text = text.replace(needle, MARK)
        for shape in SHAPES:
            if shape.start in text:
                text = shape.whole.sub(MARK, text)
        return text


@cache
def own_words() -> frozenset[str]:
    """The words that plans and records are made of, read from their types, and the reasons of stops."""
    return frozenset(_words(TrialRecord) | _words(Task) | _words(Variant)) | STOPS


def _words(kind: Any) -> set[str]:
    """All words that a type allows as literals, wherever inside it."""
    if get_origin(kind) is Literal:
        return {word for word in get_args(kind) if isinstance(word, str)}
    inside = get_type_hints(kind).values() if is_dataclass(kind) else get_args(kind)
    return {word for part in inside if part is not kind for word in _words(part)}


def _forms(value: str) -> Iterator[str]:
    """How a value may stand in text: itself, escaped for JSON, quoted for URLs, inside base64 at each of three alignments."""
    raw = value.encode("utf-8", "surrogateescape")
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(raw, safe="")
    yield quote_plus(raw)
    for shift, lead in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * shift + raw).decode()[lead : (shift + len(raw)) * 8 // 6]
        if len(coded) >= SHORTEST:
            yield coded
            yield coded.replace("+", "-").replace("/", "_")


def _in_json(text: str) -> bytes:
    """A string as it stands between the quotes in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace")
