"""Help as wide as the terminal: lines are folded, and what continues an entry of a list stands under its text.

Invariant: no line is wider than the terminal unless one word of it is.
"""

from __future__ import annotations

import argparse
import re
import textwrap

_ENTRY = re.compile(r"\s+\S+\s{1,}(?=\S)|\s*")


def folded(text: str, width: int) -> str:
    """Fold each line; an entry (blanks, a word, blanks, its text) continues under its text."""
    return "\n".join(_line(line, width) for line in text.splitlines())


def _line(line: str, width: int) -> str:
    """Fold one line."""
    entry = _ENTRY.match(line)
    hanging = " " * min(entry.end() if entry else 0, width // 2)
    return textwrap.fill(line, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


class Help(argparse.HelpFormatter):
    """The standard library's help, its description and epilog folded line by line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Fold a description or an epilog."""
        return textwrap.indent(folded(text, width - len(indent)), indent)
