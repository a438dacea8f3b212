"""What an importer gives: trials as another harness recorded them, and what its file says of them all.

Invariant: an importer tells what the file holds and decides nothing. What is not in the file is None, never 0 and never a guess;
whether a reward is a pass, and what an error counts as, is asked of the person who imports.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON

LONGEST_NAME = 10_000
"""Characters that the name of a task, a variant or a suite may have."""

LONGEST_TEXT = 20_000
"""Characters that are kept of an answer, an error or an input; of a longer one the ends are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One trial, as the file tells it; `where` is its place in the file, for messages.

    `suite` and `variant` are None where the file does not name them. `trial` is the file's own number, or its name, or None.
    `passed` is the harness's verdict where it gave one, else `reward` is to be held against a threshold. `error` is not empty
    where the harness itself broke. `stop` is in evalkit's words (`other:NAME` where there is no word for it), empty where
    unknown, `stop_detail` in the harness's own. `seconds` and `usd` are of the whole trial; a file that tells only all tokens
    has them in `input_tokens`. `input` is what the agent was given, `input_digest` the identity of that and of what decides.
    """

    where: str
    task: str
    suite: str | None = None
    variant: str | None = None
    trial: int | str | None = None
    passed: bool | None = None
    reward: float | None = None
    error: str = ""
    stop: str = ""
    stop_detail: str = ""
    turns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    started: float | None = None
    answer: str = ""
    model: str = ""
    input: str = ""
    input_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a file says of all trials of a variant (None: of its only one).

    `trials` is how many of each task were planned and `first` the number of the first, None where it does not say. `tasks` are the planned
    ones, None where it does not list them. `settings` describe the variant, plain values only.
    """

    suite: str | None = None
    variant: str | None = None
    trials: int | None = None
    first: int | None = None
    tasks: tuple[str, ...] | None = None
    settings: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that a person must be told of how the file was read."""

    text: str


Item = Imported | Header | Note


class Importer(Protocol):
    """A reader of one format; its fields are the options that it is built with."""

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Say by what the file is known to be of this format; empty where it is not. Looks at its beginning only, never raises."""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell all that the file holds, in its order, the same each time; raises `ConfigurationError` where it cannot be read."""


def refuse(path: Path, where: str, what: str, mend: str = "") -> ConfigurationError:
    """Make the error that says what is wrong at which place of a file."""
    return ConfigurationError.of(f"{plainly(path.name)}: {where}" if where else plainly(path.name), what, mend)


def plainly(text: str, limit: int = 100) -> str:
    """A name as it can be shown in a message: itself where it is harmless and short, else with escapes and cut."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return cut if cut.isprintable() else repr(cut)[1:-1]


def shown(value: object, limit: int = 60) -> str:
    """A value as it can be shown in a message, quoted where it is text."""
    if isinstance(value, (str, int, float, bool, type(None))):
        text = repr(value[: limit + 1]) if isinstance(value, str) else repr(value)
        return text if len(text) <= limit else text[: limit - 1] + "…"
    return f"a {type(value).__name__}"


def named(path: Path, where: str, what: str, value: object) -> str:
    """The name of a task, variant or suite as text: 7, 7.0 and "7" are one name. Raises `ConfigurationError` for what can be none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise refuse(path, where, f"{what} is {shown(value)}", "it wants text or a number")
    text = _written(path, where, value)
    if not text:
        raise refuse(path, where, f"{what} is empty", "each trial wants one")
    if len(text) > LONGEST_NAME:
        raise refuse(path, where, f"{what} has {len(text):,} characters", f"at most {LONGEST_NAME:,} are taken")
    return text


def _written(path: Path, where: str, value: str | float) -> str:
    """A name as UTF-8 can hold it."""
    try:
        return str(value).encode("utf-8", "backslashreplace").decode()
    except ValueError:
        raise refuse(path, where, "a number has more than 4,300 digits", "write it as text") from None


def numbered(value: object) -> int | str | None:
    """A trial's own number or name; None where there is none. Text that is a whole number is that number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value.strip()) < 18:
        return int(value)
    if isinstance(value, str):
        return text_of(value, LONGEST_NAME) or None
    return value if abs(value) < 10**18 else None


def text_of(value: object, limit: int = LONGEST_TEXT) -> str:
    """Text as it is kept: empty for what is none, its ends where it is too long, escapes for what UTF-8 cannot hold."""
    if not isinstance(value, str):
        return ""
    if len(value) > limit:
        tail = limit // 3
        value = f"{value[: limit - tail]}\n… {len(value) - limit:,} characters left out …\n{value[-tail:]}"
    return value.encode("utf-8", "backslashreplace").decode()


def number_of(value: object) -> float | None:
    """A finite number of at least 0, None for everything else: what a duration or a price can be."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def count_of(value: object) -> int | None:
    """A whole number of at least 0, None for everything else."""
    found = number_of(value)
    return int(found) if found is not None and found < 2**62 and found.is_integer() else None


def reward_of(value: object) -> float | None:
    """A reward as a number, true and false as 1 and 0; NaN and infinities are kept as they are, everything else is None."""
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return None


def stamp_of(value: object) -> float | None:
    """Seconds since the epoch of an ISO 8601 stamp, None for everything else; one without a zone is taken as UTC."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        found = datetime.fromisoformat(value)
        return number_of((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def between(start: object, end: object) -> float | None:
    """Seconds from one stamp to another, None where either is unknown."""
    first, last = stamp_of(start), stamp_of(end)
    return None if first is None or last is None else number_of(last - first)


def settings_of(**given: object) -> dict[str, JSON]:
    """The plain values among those given: text, whole and finite numbers, true and false."""
    kept: dict[str, JSON] = {}
    for name, value in given.items():
        if isinstance(value, str) and value:
            kept[name] = text_of(value, 200)
        elif count_of(value) is not None or (isinstance(value, (bool, float)) and math.isfinite(value)):
            kept[name] = value
    return kept


def digest_of(path: Path, where: str, value: JSON) -> str:
    """The identity of an input: 16 hex digits over its canonical JSON."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (RecursionError, ValueError):
        raise refuse(path, where, "its input is nested too deep", "it can be no input of a task") from None
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def part(value: object, *names: str) -> Any:
    """What lies at a path of keys in nested objects, None where the path ends early."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def objects(value: object) -> list[dict[str, Any]]:
    """The objects among the elements of a list; nothing where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def total(values: list[int | None]) -> int | None:
    """The sum, None where any is unknown or there are none."""
    known = [one for one in values if one is not None]
    return sum(known) if known and len(known) == len(values) else None
