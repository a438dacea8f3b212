"""The tool of the spinning suite: a row of boxes, each with the code of the next inside, and a lock that tells nothing."""

from __future__ import annotations

WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord")
BOXES = 10


def code_of(row: int, box: int) -> int:
    """The code of a box."""
    return (row * 37 + box * 61) % 89 + 110


def open_box(row: int, box: int, code: int) -> str:
    """Open a box of a row with its code and say what lies inside."""
    if not 1 <= row <= len(WORDS) or not 1 <= box <= BOXES or code != code_of(row, box):
        raise ValueError("it did not work")
    if box == BOXES:
        return f"inside lies the word {WORDS[row - 1]}"
    return f"inside lies the code of the next box: {code_of(row, box + 1)}"
