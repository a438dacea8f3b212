"""Tool results that are too long: cut, with a mark that says how much is missing and how to read on.

Invariant: what is shown plus what the mark counts is the whole; nothing is dropped in silence.
"""

from __future__ import annotations

from evalkit.core.message import CHARACTERS_A_TOKEN, estimate_tokens
from evalkit.core.plan import ToolOutput

MARK = (
    "\n[{missing} of about {whole} tokens left out; ask for less at once, or read on with offset and limit where the tool "
    "takes them]\n"
)


def shorten(text: str, output: ToolOutput) -> tuple[str, str]:
    """Cut a text to `output.tokens` estimated tokens; give it and what to note of the cut, empty where there was none."""
    whole = estimate_tokens(text)
    if whole <= output.tokens:
        return text, ""
    kept = output.tokens * CHARACTERS_A_TOKEN
    mark = MARK.format(missing=whole - output.tokens, whole=whole)
    note = f"cut from about {whole} to {output.tokens} tokens, {output.keep} kept"
    if output.keep == "head":
        return text[:kept] + mark, note
    if output.keep == "tail":
        return mark + text[-kept:], note
    return text[: kept // 2] + mark + text[-(kept // 2) :], note
