"""Inspect's logs: `.eval` archives and `.json` files; epochs are trials.

Invariant: the header's sample ids and epochs are the plan, so a sample that was never run is a missing trial. Of a sample's conversation only
its length is looked at, element by element: its events are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.core.message import JSON
from evalkit.parts.importers._inspect_score import Verdict, verdict
from evalkit.parts.importers._json import Document, chosen, document, outline
from evalkit.parts.importers._open import text_from
from evalkit.parts.importers._rows import (
    Header,
    Imported,
    Item,
    Note,
    between,
    count_of,
    digest_of,
    named,
    number_of,
    numbered,
    objects,
    part,
    refuse,
    settings_of,
    stamp_of,
    text_of,
    total,
)
from evalkit.parts.importers._stops import stop_of
from evalkit.parts.importers._zips import MAGIC, Archive, archived

HEADER, START = "header.json", "_journal/start.json"
SAMPLE = re.compile(r"samples/.*_epoch_\d{1,9}(\.json|/sample\.json)", re.DOTALL)
WANTED = (
    *("id", "epoch", "input", "target", "scores", "score", "error", "limit", "invalidation", "output", "model_usage"),
    *("total_time", "started_at", "completed_at", "turn_count"),
)
POOLED = re.compile(r"attachment://\d{1,12}$")
"""A reference by place, which says nothing of what it stands for."""

NOTES = (
    "C, true and 1 are passes, I, N, false and 0 are failures; other scores are held against --threshold (P is 0.5)",
    "a sample with an error, an invalidated one and one without a score are errors; a limit is the stop, and does not touch the score",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectLog:
    """Reads Inspect's logs; `scorer` is the scorer whose word counts, or `SCORER.KEY` where its score has several values."""

    scorer: str | None = None

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by a member of the archive, or by the keys of the JSON."""
        if path.suffix.lower() == ".eval":
            return "its name ends with .eval"
        paths = outline(path)
        return "a JSON object with eval and samples" if {".version", ".status", ".eval.task"} <= paths else ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell the plan, then each sample."""
        yield from (Note(text=text) for text in NOTES)
        if not _is_zip(path):
            head = chosen(path, "eval", "status", "plan")
            yield from _head(path, head)
            yield from self._of_json(path, head)
            return
        with archived(path) as archive:
            head = _header(archive)
            yield from _head(path, head)
            for name in sorted(one for one in archive.names if SAMPLE.fullmatch(one)):
                with archive.member(name) as source, closing(text_from(source)) as text:
                    yield self._trial(path, name, _sample(Document(text, path, name)), head)

    def _of_json(self, path: Path, head: Mapping[str, JSON]) -> Iterator[Item]:
        """Each sample of a JSON log."""
        with document(path) as text:
            number = 0
            for key in text.members():
                if key != "samples" or text.begins() != "[":
                    text.skip()
                    continue
                for row in text.elements():
                    number += 1
                    sample = row if isinstance(row, dict) else {}
                    said = _said(sample.get("messages"))
                    yield self._trial(path, f"sample {number:,}", {**sample, "said": said}, head)

    def _trial(self, path: Path, where: str, row: Mapping[str, Any], head: Mapping[str, JSON]) -> Imported:
        """One sample in one epoch."""
        found = _broken(row) or verdict(path, where, row, self.scorer)
        limit = text_of(part(row.get("limit"), "type") or row.get("limit"), 80)
        given, asked = row.get("input"), row.get("target")
        output = row.get("output")
        usage = _usage(row, output)
        return Imported(
            where=where,
            suite=_suite(head),
            variant=_variant(head),
            task=named(path, where, "id", row.get("id")),
            trial=numbered(row.get("epoch")),
            passed=found.passed,
            reward=found.reward,
            error=found.error,
            stop="error:harness" if found.error else stop_of(limit) if limit else "finished",
            stop_detail=limit,
            turns=_turns(row),
            input_tokens=total([one[0] for one in usage]),
            output_tokens=total([one[1] for one in usage]),
            usd=_usd(row),
            seconds=number_of(row.get("total_time")) or between(row.get("started_at"), row.get("completed_at")),
            started=stamp_of(row.get("started_at")),
            answer=_content(part((objects(part(output, "choices")) or [{}])[0], "message", "content")),
            model=text_of(part(output, "model"), 200),
            input=_content(given) or "\n".join(_content(one.get("content")) for one in objects(given)),
            input_digest=_digest(path, where, given, asked),
        )


def _is_zip(path: Path) -> bool:
    """Tell an archive by its first bytes; one that is named `.eval` is to be one."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC or path.suffix.lower() == ".eval"
    except OSError:
        return False


def _header(archive: Archive) -> dict[str, JSON]:
    """The log's header, of a log that was never finished its beginning."""
    for name in (HEADER, START):
        if name in archive.names:
            with archive.member(name) as source, closing(text_from(source)) as text:
                found = Document(text, archive.path, name).value()
            if isinstance(found, dict):
                return found
    raise refuse(archive.path, "", f"holds neither {HEADER} nor {START}", "is it a log of Inspect?")


def _head(path: Path, head: Mapping[str, JSON]) -> Iterator[Item]:
    """What the header says of all samples."""
    spec = head.get("eval")
    if not isinstance(spec, dict):
        raise refuse(path, "", "its header has no `eval`", "is it a log of Inspect?")
    status = text_of(head.get("status"), 40) or "started"
    if status != "success":
        yield Note(text=f"warning: the log's status is {status}: samples that are not in it are missing trials")
    ids = part(spec, "dataset", "sample_ids")
    tasks = (
        tuple(dict.fromkeys(named(path, HEADER, "a sample id", one) for one in ids)) if isinstance(ids, list) else ()
    )
    config = part(spec, "config")
    limits = {name: part(config, name) for name in ("message_limit", "token_limit", "time_limit", "turn_limit")}
    yield Header(
        suite=_suite(head),
        variant=_variant(head),
        trials=count_of(part(config, "epochs")) or 1,
        first=1,
        tasks=tasks or None,
        settings=settings_of(
            model=part(spec, "model"),
            solver=part(spec, "solver"),
            temperature=part(head.get("plan"), "config", "temperature"),
            inspect_ai=part(spec, "packages", "inspect_ai"),
            **limits,
        ),
    )


def _suite(head: Mapping[str, JSON]) -> str | None:
    """The suite is the log's task."""
    return text_of(part(head.get("eval"), "task"), 200) or None


def _variant(head: Mapping[str, JSON]) -> str | None:
    """The variant is the model, and the solver where the log names one."""
    spec = head.get("eval")
    solver, model = text_of(part(spec, "solver"), 100), text_of(part(spec, "model"), 200)
    return " ".join(one for one in (solver, model) if one) or None


def _sample(text: Document) -> dict[str, Any]:
    """What is wanted of a sample; the number of things that the assistant said is `said`."""
    found: dict[str, Any] = {}
    for key in text.members():
        if key == "messages" and text.begins() == "[":
            found["said"] = sum(part(one, "role") == "assistant" for one in text.elements())
        elif key in WANTED:
            found[key] = text.value()
        else:
            text.skip()
    text.end()
    return found


def _said(messages: object) -> int | None:
    """How often the assistant speaks."""
    found = objects(messages)
    return sum(one.get("role") == "assistant" for one in found) if found else None


def _turns(row: Mapping[str, Any]) -> int | None:
    """The turns as the log counts them, else messages of the assistant."""
    counted = count_of(row.get("turn_count"))
    return counted if counted is not None else count_of(row.get("said"))


def _broken(row: Mapping[str, Any]) -> Verdict | None:
    """Why a sample says nothing of the agent; None where it does."""
    error = row.get("error")
    if error:
        return Verdict(error=text_of(part(error, "message")) or text_of(error) or "the sample ended in an error")
    if row.get("invalidation"):
        return Verdict(error="the sample was invalidated by hand")
    return None


def _usage(row: Mapping[str, Any], output: object) -> list[tuple[int | None, int | None]]:
    """Tokens in and out of each model; the output's own where it is the only reply."""
    used = _models(row)
    if not used and count_of(row.get("said")) == 1 and isinstance(part(output, "usage"), dict):
        used = [part(output, "usage")]
    found = []
    for one in used:
        out, both = count_of(one.get("output_tokens")), count_of(one.get("total_tokens"))
        known = None if both is None or out is None or both < out else both - out
        found.append((known if known is not None else count_of(one.get("input_tokens")), out))
    return found


def _models(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each model was used for."""
    used = row.get("model_usage")
    return objects(list(used.values())) if isinstance(used, dict) else []


def _usd(row: Mapping[str, Any]) -> float | None:
    """Dollars, where the log has them for every model."""
    costs = [number_of(one.get("total_cost")) for one in _models(row)]
    known = [one for one in costs if one is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _content(value: object) -> str:
    """The text of a message's content."""
    if isinstance(value, str):
        return text_of(value)
    return text_of("\n".join(one["text"] for one in objects(value) if isinstance(one.get("text"), str)))


def _digest(path: Path, where: str, given: JSON, target: JSON) -> str:
    """The identity of input and target, message ids left out; empty where a part lies elsewhere in the log."""
    said = [[one.get("role"), one.get("content")] for one in objects(given)] if isinstance(given, list) else given
    texts = [given] if isinstance(given, str) else [one.get("content") for one in objects(given)]
    if given is None or any(isinstance(text, str) and POOLED.match(text) for text in texts):
        return ""
    return digest_of(path, where, [said, target])
