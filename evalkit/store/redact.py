r"""No key reaches a disk: values of key-like environment variables and known shapes of keys become `[redacted]`.

Invariant: only whole strings are ever changed, never the JSON around them, so a record that was redacted stays
readable. A look at the finished JSON (`touches`) tells the few records that need it from the many that do not; it may be
wrong to suspect one, and must not be wrong to pass one. This is the second line: the first is that a key is
nowhere in an agent's reach. A value of the environment is found too where blanks and line breaks were put into it; what was cut
to pieces or enciphered is not.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
        "agent_error",
        "detector:",
        "guardrail:",
        "error:",
    }
    | {f"cap:{meter}" for meter in ("turns", "tokens", "seconds", "usd")}
)
SHORTEST = 8
_TELLING = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SIGNING = re.compile(r"(?im)^[\w-]{0,64}(?:auth|key|token|secret|cookie)[\w-]{0,64}[ \t]{0,8}:(.*)$")
_IN_ADDRESS = re.compile(r"://[^/\s:@]{0,256}:([^/\s@]{8,256})@")

PIECE = 8
"""Characters of the pieces of a value by which one that was broken over lines is suspected."""

BREAKABLE = 2 * PIECE
"""A value of fewer characters is looked for whole only: pieces of it would be words."""

_BREAK = r"(?:\s|\\[nrt]){0,8}"
"""What may stand between two characters of a value that was broken: blanks and line breaks, as they are or escaped."""


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
    """Finds and replaces the secrets of one process; `needles` as they stand in text, `escaped` as they stand in JSON.

    `broken` finds those that were broken over lines.
    """

    needles: tuple[str, ...]
    escaped: tuple[bytes, ...]
    broken: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, environ: Mapping[str, str], names: Iterable[str] = (), variables: Iterable[str] = ()) -> Redactor:
        """Take the secrets from an environment: what stands in `variables` and in those whose names tell, headers that sign, passwords in addresses.

        What is part of one of `names` (of suites, tasks, variants, kinds) or of a word that records are made of (`finished`,
        `assistant`) is no secret: to replace it would break the record and hide nothing.
        """
        known = "\n".join((*names, *own_words()))
        values = {value for value in _secrets(environ, frozenset(variables)) if len(value) >= SHORTEST}
        forms = {form for value in values for form in _forms(value) if form not in known}
        needles = sorted(forms, key=lambda form: (-len(form), form))
        long = [needle for needle in needles if len(needle) >= BREAKABLE]
        pieces = [one[at : at + PIECE] for one in long for at in range(0, len(one) - PIECE + 1, PIECE)]
        return cls(
            tuple(needles),
            tuple(dict.fromkeys(_in_json(needle) for needle in (*needles, *pieces))),
            tuple(re.compile(_BREAK.join(map(re.escape, needle))) for needle in long),
        )

    def touches(self, text: bytes) -> bool:
        """True where finished JSON may hold a secret."""
        return HINTS.search(text) is not None or any(needle in text for needle in self.escaped)

    def clean(self, text: str) -> str:
        """Replace every secret in a string."""
        for needle in self.needles:
            if needle in text:
                text = text.replace(needle, MARK)
        for pattern in self.broken:
            text = pattern.sub(MARK, text)
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


def _secrets(environ: Mapping[str, str], variables: AbstractSet[str]) -> Iterator[str]:
    """The values of an environment that are secret."""
    for name, value in environ.items():
        if name in variables or _TELLING.search(name):
            yield value.strip()
        if "HEADER" in name.upper():
            yield from (found.strip() for found in _SIGNING.findall(value))
        yield from _IN_ADDRESS.findall(value)


def _forms(value: str) -> Iterator[str]:
    """How a value may stand in text: itself, escaped for JSON, Python, URLs and HTML, inside base64 at each of three alignments."""
    raw = value.encode("utf-8", "surrogateescape")
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield ascii(value)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield quote(raw, safe="")
    yield quote(raw)
    yield quote_plus(raw)
    for shift, lead in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * shift + raw).decode()[lead : (shift + len(raw)) * 8 // 6]
        if len(coded) >= SHORTEST:
            yield coded
            yield coded.replace("+", "-").replace("/", "_")


def _in_json(text: str) -> bytes:
    """A string as it stands between the quotes in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace")
