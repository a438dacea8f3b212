"""Regular expressions that may take for ever, matched where they can be ended: in a process of their own.

Invariant: no pattern and no text can hold up the runner for longer than `seconds`.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from evalkit.core.errors import EvalkitError
from evalkit.parts._process import Limits, run, surroundings

SHORT = 2_000
"""Characters that a harmless pattern is matched against at once."""

MOST_FOUND = 2_000
MOST_LINE = 400
PROGRAM = f"""
import json, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    pattern, flags, whole, by_line, texts = json.load(file)
compiled = re.compile(pattern, flags)
look = compiled.fullmatch if whole else compiled.search
found = []
for place, text in texts:
    for number, line in enumerate(text.split("\\n") if by_line else [text], 1):
        if look(line):
            found.append((place, number, line[:{MOST_LINE}]))
            if len(found) == {MOST_FOUND}:
                break
print(json.dumps(found[:{MOST_FOUND}]))
"""
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\d*\}")


class PatternError(EvalkitError):
    """A pattern is no regular expression, or takes too long."""


def search(
    pattern: str,
    texts: Sequence[tuple[str, str]],
    *,
    flags: int = 0,
    whole: bool = False,
    by_line: bool = False,
    seconds: float = 10.0,
) -> list[tuple[str, int, str]]:
    """Find a pattern in named texts: name, line number from 1 and the line's beginning; without `by_line` a text is one line.

    `whole` wants the pattern to be all of the line. At most `MOST_FOUND` are given. Raises `PatternError`.
    """
    try:
        compiled = compiled_pattern(pattern, flags)
    except re.error as error:
        raise PatternError(f"{pattern!r} is no regular expression of Python: {error}") from None
    if len(texts) == 1 and not by_line and len(texts[0][1]) <= SHORT and _is_harmless(pattern):
        name, text = texts[0]
        return [(name, 1, text[:MOST_LINE])] if (compiled.fullmatch if whole else compiled.search)(text) else []
    with tempfile.TemporaryDirectory(prefix="evalkit-match-") as folder:
        home = Path(folder).resolve()
        listing = home / "texts.json"
        listing.write_text(json.dumps([pattern, flags, whole, by_line, texts]), encoding="utf-8")
        words = (sys.executable, "-I", "-S", "-c", PROGRAM, str(listing))
        done = run(words, folder=home, variables=surroundings(home, home), limits=Limits(seconds=seconds))
    if done.ended == "time":
        raise PatternError(f"{pattern!r} takes longer than {seconds:g} seconds on this text; write a simpler one")
    if done.code != 0:
        raise PatternError(f"{pattern!r} could not be matched: {done.text[-500:]}")
    return [(name, number, line) for name, number, line in json.loads(done.output)]


@lru_cache(maxsize=1024)
def compiled_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern once; raises `re.error`."""
    return re.compile(pattern, flags)


@lru_cache(maxsize=1024)
def _is_harmless(pattern: str) -> bool:
    """True where nothing repeated is repeated, and few things are: such a pattern is quick on short texts."""
    plain = re.sub(r"\\.", "x", pattern)
    return re.search(r"\)[*+{]", plain) is None and len(_UNBOUNDED.findall(plain)) <= 3
