"""What a score in an Inspect log says: its letters, numbers and NaN, and which scorer is asked where there are several.

Invariant: a score that is no letter of Inspect's, no number and no truth value is refused, never read as a failure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evalkit.parts.importers._rows import part, plainly, refuse, reward_of, shown

WORDS = {"C": True, "I": False, "N": False, "TRUE": True, "YES": True, "FALSE": False, "NO": False}
"""Inspect's letters for correct, incorrect and no answer, and the words for true and false."""

PARTIAL = 0.5
"""What Inspect itself counts a P as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a sample's score says: passed or failed, or a reward to be judged, or why it says nothing."""

    passed: bool | None = None
    reward: float | None = None
    error: str = ""


def verdict(path: Path, where: str, row: Mapping[str, Any], scorer: str | None) -> Verdict:
    """Read a sample's score; raises `ConfigurationError` where it is not clear which counts, or what it means."""
    scores = row.get("scores")
    if not isinstance(scores, dict) or not scores:
        only = row.get("score")
        scores = {"score": only} if isinstance(only, dict) else {}
    if not scores:
        return Verdict(error="the sample has no score")
    name, key = _chosen(path, where, scores, scorer)
    value = part(scores[name], "value")
    if isinstance(value, dict):
        value = _inner(path, where, name, value, key)
    return _read(path, where, name, value)


def _chosen(path: Path, where: str, scores: Mapping[str, Any], wanted: str | None) -> tuple[str, str]:
    """The scorer that counts, and the key of its score."""
    if wanted is None:
        if len(scores) == 1:
            return next(iter(scores)), ""
        names = ", ".join(plainly(name) for name in scores)
        raise refuse(path, where, f"has the scores of {len(scores)} scorers: {names}", "say which counts with --scorer")
    if wanted in scores:
        return wanted, ""
    name, _, key = wanted.rpartition(".")
    if name in scores:
        return name, key
    near = get_close_matches(wanted, list(scores), 1)
    mend = f"did you mean {plainly(near[0])}?" if near else f"there are: {', '.join(plainly(one) for one in scores)}"
    raise refuse(path, where, f"has no score of {shown(wanted)}", mend)


def _inner(path: Path, where: str, name: str, value: Mapping[str, Any], key: str) -> Any:
    """The value of one key of a score that has several."""
    if key in value:
        return value[key]
    if not key and len(value) == 1:
        return next(iter(value.values()))
    keys = ", ".join(plainly(one) for one in value)
    raise refuse(
        path, where, f"the score of {plainly(name)} has the values {keys}", f"write --scorer {plainly(name)}.KEY"
    )


def _read(path: Path, where: str, name: str, value: Any) -> Verdict:
    """Tell what a value means."""
    if value is None:
        return Verdict(error=f"the score of {plainly(name)} is empty")
    word = value.strip().upper() if isinstance(value, str) else value
    if isinstance(word, bool):
        return Verdict(passed=word)
    if isinstance(word, str) and word in WORDS:
        return Verdict(passed=WORDS[word])
    reward = PARTIAL if word == "P" else reward_of(_number(word))
    if reward is None:
        raise refuse(
            path,
            where,
            f"the score of {plainly(name)} is {shown(value)}, neither a number nor one of C, I, P, N",
            "choose another scorer with --scorer",
        )
    if not math.isfinite(reward):
        return Verdict(error=f"the score is {reward}, which is how Inspect marks a sample that was not scored")
    return Verdict(reward=reward)


def _number(word: Any) -> Any:
    """A number written as text, else the value itself."""
    try:
        return float(word) if isinstance(word, str) else word
    except ValueError:
        return word
