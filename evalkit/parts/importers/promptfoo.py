"""promptfoo's results: the JSON file of `promptfoo eval --output`, with `--repeat` for several trials.

Invariant: tests with the same variables and assertions are trials of one task (repeats have no other mark); what comes from
promptfoo's cache is told, because the same answer read twice is no second trial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.core.message import JSON
from evalkit.parts.importers._json import Document, document, outline
from evalkit.parts.importers._rows import (
    Imported,
    Item,
    Note,
    count_of,
    digest_of,
    number_of,
    objects,
    part,
    refuse,
    shown,
    text_of,
)

FORM = "a JSON object with results of tests, each with vars, provider and success"
BROKE = 2
"""The `failureReason` of a test that could not be asked or judged."""

NOTES = (
    "tests with the same vars and assertions are trials of one task, numbered in the file's order; its name ends with their digest",
    "success is a pass; failureReason 2 (and an error without a grading) is an error; seconds are latencyMs of the provider's call",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promptfoo:
    """Reads promptfoo's results."""

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by its keys."""
        paths = outline(path)
        whole = {".results.version", ".results.results"} <= paths or {".evalId", ".results"} <= paths
        return FORM if whole or {".results[].vars", ".results[].success", ".results[].provider"} <= paths else ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell each test's result."""
        yield from (Note(text=text) for text in NOTES)
        prompts = {_prompt(row) for _, row in _results(path)}
        cached = count = 0
        for where, row in _results(path):
            count += 1
            cached += part(row, "response", "cached") is True
            yield _trial(path, where, row, named_prompts=len(prompts) > 1)
        if cached:
            what = "an answer that is read again is no new trial: run with --no-cache"
            yield Note(text=f"warning: {cached:,} of {count:,} results come from promptfoo's cache; {what}")


def _results(path: Path) -> Iterator[tuple[str, JSON]]:
    """Each result with its place."""
    with document(path) as text:
        number = 0
        for place in _lists(text, "results"):
            for row in place.elements():
                number += 1
                yield f"result {number:,}", row
        text.end()


def _lists(text: Document, key: str, depth: int = 0) -> Iterator[Document]:
    """Stop at each list under a key, at the top or one level deeper; everything else is passed over."""
    for name in text.members():
        if name == key and text.begins() == "[":
            yield text
        elif name == key and text.begins() == "{" and not depth:
            yield from _lists(text, key, 1)
        else:
            text.skip()


def _prompt(row: JSON) -> str:
    """What a prompt is called."""
    for name in ("label", "display", "raw"):
        found = text_of(part(row, "prompt", name), 100)
        if found:
            return found
    return ""


def _trial(path: Path, where: str, row: Any, *, named_prompts: bool) -> Imported:
    """One result."""
    if not isinstance(row, dict) or not isinstance(row.get("success"), bool):
        raise refuse(path, where, f"is {shown(row)} without success", f"promptfoo wants {FORM}")
    given = row["vars"] if isinstance(row.get("vars"), dict) else part(row, "testCase", "vars")
    variables = {name: value for name, value in given.items() if name[:1] != "_"} if isinstance(given, dict) else {}
    checks = [
        {key: one.get(key) for key in ("type", "value", "threshold")}
        for one in objects(part(row, "testCase", "assert"))
    ]
    digest = digest_of(path, where, [variables, checks])
    provider = row.get("provider")
    model = text_of(part(provider, "label") or part(provider, "id") or provider, 200)
    prompt = _prompt(row) if named_prompts else ""
    broke = _broke(row)
    usage = row.get("tokenUsage") or part(row, "response", "tokenUsage")
    only_total = part(usage, "prompt") is None and part(usage, "completion") is None and part(usage, "cached") is None
    whole = "total" if only_total else "prompt"
    output = part(row, "response", "output")
    milliseconds = number_of(row.get("latencyMs"))
    test = row.get("testIdx")
    return Imported(
        where=where,
        task=f"{_title(row, variables)} [{digest[:6]}]",
        variant=" · ".join(one for one in (model, prompt) if one) or None,
        trial=f"test {count_of(test)}, prompt {row.get('promptIdx')}" if count_of(test) is not None else None,
        passed=None if broke else row["success"],
        error=broke,
        stop="error:harness" if broke else "",
        input_tokens=count_of(part(usage, whole)),
        output_tokens=count_of(part(usage, "completion")),
        usd=number_of(row.get("cost")),
        seconds=None if milliseconds is None else milliseconds / 1000,
        answer=text_of(output) if isinstance(output, str) or output is None else _line(output),
        model=model,
        input=_line(variables),
        input_digest=digest,
    )


def _broke(row: dict[str, Any]) -> str:
    """What broke under a test, empty where it was asked and judged."""
    told = text_of(row.get("error")) or text_of(part(row, "response", "error"))
    reason = row.get("failureReason")
    if reason == BROKE or (reason is None and told and not row.get("gradingResult")):
        return told or "promptfoo says that the test broke"
    return ""


def _title(row: dict[str, Any], variables: dict[str, JSON]) -> str:
    """What a test is called: its description, else its variables."""
    described = text_of(part(row, "testCase", "description"), 80) or text_of(row.get("description"), 80)
    return described or (_line(variables)[:80] if variables else "test")


def _line(value: JSON) -> str:
    """A JSON value on one line, as text that can be kept."""
    try:
        return text_of(json.dumps(value, sort_keys=True, ensure_ascii=False))
    except (RecursionError, ValueError):
        return "(nested too deep to be shown)"
