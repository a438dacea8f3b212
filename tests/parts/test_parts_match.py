"""Regular expressions that cannot hold up the runner."""

from __future__ import annotations

import pytest

from evalkit.parts._match import MOST_FOUND, PatternError, search


def test_a_short_text_and_a_long_one_are_matched_alike() -> None:
    for text in ("x12", "x12" + " " * 5_000):
        assert [number for _, number, _ in search(r"x\d+", [("a", text)])] == [1]
        assert search(r"y", [("a", text)]) == []
        assert bool(search(r"X\d+\s*", [("a", text)], flags=2, whole=True))
        assert not search(r"x", [("a", text)], whole=True)


def test_lines_of_several_texts_are_told_with_their_numbers() -> None:
    texts = [("a", "one\ntwo\nthree"), ("b", "two")]
    assert search("t.o", texts, by_line=True) == [("a", 2, "two"), ("b", 1, "two")]


def test_matches_are_bounded() -> None:
    assert len(search("x", [("a", "x\n" * 5_000)], by_line=True)) == MOST_FOUND


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"(a+)+$", "a" * 60 + "b"), (r"(?:a|aa)+$", "a" * 80 + "b"), (r"a*a*a*a*a*a*a*b", "a" * 3000)],
)
def test_a_pattern_that_takes_for_ever_is_ended(pattern: str, text: str) -> None:
    with pytest.raises(PatternError, match="takes longer"):
        search(pattern, [("a", text)], seconds=0.5)


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(PatternError, match="no regular expression"):
        search("(", [("a", "b")])
