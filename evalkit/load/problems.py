"""The list of everything that is wrong with the files being loaded, and the one error that it ends in.

Invariant: a problem is reported once, at one place, and a place whose value could not be read attracts no further complaints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from evalkit.core.errors import ConfigurationError, Problem
from evalkit.load.node import Mark

MOST = 200
"""Problems that one error carries; it says how many more there are."""

LONGEST = 500
"""Characters of a sentence about a problem."""

MOST_LISTED = 20
"""Names that a suggestion lists."""


@dataclass(slots=True)
class Problems:
    """Collects problems in any order and gives them back in the order of the files."""

    found: dict[Problem, Mark] = field(default_factory=dict)
    spoilt: set[Mark] = field(default_factory=set)
    files: dict[str, int] = field(default_factory=dict)

    def add(self, mark: Mark, what: str, mend: str = "") -> None:
        """Note a problem, unless it is known or stands at a value that could not be read."""
        self.files.setdefault(mark.file, len(self.files))
        if mark not in self.spoilt:
            self.found.setdefault(Problem(where=str(mark), what=_cut(what), mend=_cut(mend)), mark)

    def spoil(self, mark: Mark, what: str, mend: str = "") -> None:
        """Note a problem with a value that cannot be read at all, and no other one at its place."""
        self.add(mark, what, mend)
        self.spoilt.add(mark)

    def take(self, other: Problems) -> None:
        """Note all that is in another list."""
        for problem, mark in other.found.items():
            self.add(mark, problem.what, problem.mend)
        self.spoilt |= other.spoilt

    def throw(self) -> None:
        """Raise a `ConfigurationError` of all problems, where there are any."""
        if not self.found:
            return
        order = sorted(self.found.items(), key=lambda item: (self.files[item[1].file], item[1].line, item[1].column))
        problems = [problem for problem, _ in order]
        if len(problems) > MOST:
            rest = Problem(where=problems[MOST].where, what=f"{len(problems) - MOST} more problems from here on")
            problems = [*problems[:MOST], rest]
        raise ConfigurationError(*problems)


def _cut(sentence: str) -> str:
    """Keep a sentence readable that repeats a text of any length."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…"


def meant(word: str, known: Iterable[str]) -> str:
    """Suggest what a mistyped word may have meant, or list what there is."""
    names = sorted(known)
    longer = [name for name in names if word and name.startswith(f"{word}-")]
    close = longer or get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    listed = ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")
    return f"there are: {listed}" if names else "there are none"
