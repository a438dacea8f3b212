"""The first reading of files to import: which trials there are, of which tasks under which variants, and what each is worth.

Invariant: a trial's outcome is decided here, once, by what the file says and what the person chose; the second reading must find the same
trials or the import ends. Nothing of a trial but its place and its number is held in memory.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.core.record import UNKNOWN, Outcome, Stop, Verdict
from evalkit.parts.importers._rows import Header, Imported, Importer, Item, Note, plainly, refuse, text_of

MOST_TRIALS = 1_000_000
MOST_ERRORS = 10_000
"""Different texts of errors that are counted apart."""

LONGEST_PROMPT = 4_000
"""Characters of an input that are kept as the prompt of a task."""

PROMPTS = 32 * 2**20
"""Characters of prompts that are kept in all."""

IMPORTED = "imported"
"""What is put where another harness's own thing was: its suite's name, its loop, its graders."""

PLAIN = ("csv", "jsonl")
"""Formats that are of no harness, so that a suite is not called by them."""

TOLD = ("turns", "input_tokens", "usd", "seconds")
"""What a file may leave out, beside the stop."""

NEAR = 1e-6
"""Rewards so near 0 or 1 are 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to import: its format, by what it was known, and the name that its only variant is to have."""

    path: Path
    kind: str
    why: str
    importer: Importer
    name: str | None = None

    def items(self) -> Iterator[Item]:
        """All that the file holds."""
        return self.importer.read(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the person who imports decides.

    `threshold` is the reward from which on a trial passed, `errors` what a trial counts as under which the harness broke. `planned` is
    how many trials of each task were planned, `max` as many as the task with the most of them has.
    """

    suite: str | None = None
    threshold: float | None = None
    errors: Literal["error", "fail"] = "error"
    duplicates: Literal["refuse", "renumber"] = "refuse"
    by_input: bool = False
    planned: int | Literal["max"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a trial is worth; `error` is the text of what broke, whatever that counts as."""

    outcome: Outcome
    graded: Verdict | None
    stop: Stop
    error: str = ""


@dataclass(slots=True, kw_only=True)
class Group:
    """The trials of a task with one input under a variant: their own numbers or names, their rows, and the headers that they stand under."""

    labels: list[int | str | None] = field(default_factory=list)
    rows: array[int] = field(default_factory=lambda: array("q"))
    headers: set[int] = field(default_factory=set)


class Seal:
    """The identity of all trials in their order, by which the second reading is held against the first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._sum = hashlib.sha256()

    def add(self, suite: str, variant: str, row: Imported, found: Decision) -> None:
        """Add a trial."""
        facts = (suite, row.task, variant, row.trial, row.input_digest, found.outcome)
        self._sum.update(repr(facts).encode("utf-8", "surrogatepass"))

    @property
    def mark(self) -> str:
        """64 hex digits."""
        return self._sum.hexdigest()


Key = tuple[str, str, str, str]
"""Suite, task, variant and input digest of a group."""


@dataclass(slots=True, kw_only=True)
class Survey:
    """What the first reading found; `mark` is the identity of all of it, `wheres` the first place of each task's inputs."""

    choices: Choices
    groups: dict[Key, Group] = field(default_factory=dict)
    headers: list[tuple[str, str, Header]] = field(default_factory=list)
    wheres: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    prompts: dict[tuple[str, str, str], str] = field(default_factory=dict)
    models: dict[str, dict[str, None]] = field(default_factory=dict)
    notes: list[list[str]] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    stops: Counter[tuple[str, str]] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)
    broke: Counter[str] = field(default_factory=Counter)
    count: int = 0
    mark: str = ""
    _room: int = PROMPTS
    _unclear: int = 0
    _rewards: int = 0
    _first: ConfigurationError | None = None

    def take(self, sources: Sequence[Source]) -> None:
        """Read all files; raises `ConfigurationError` or `RunInvalid` for what cannot be made a run of."""
        seal = Seal()
        for source in sources:
            notes: list[str] = []
            self.notes.append(notes)
            before, under, native = self.count, dict[tuple[str, str], int](), set[str | None]()
            for item in source.items():
                if isinstance(item, Note):
                    notes.append(item.text)
                elif isinstance(item, Header):
                    suite, variant = names(source, item, self.choices)
                    under[suite, variant] = len(self.headers)
                    self.headers.append((suite, variant, item))
                else:
                    native.add(item.variant)
                    self._add(source, item, under, seal)
            if self.count == before:
                raise RunInvalid(f"{plainly(source.path.name)}: holds no trials")
            if source.name is not None and len(native) > 1:
                what = f"{plainly(source.path.name)} holds {len(native)} variants, which one name would pool"
                raise ConfigurationError.of(f"--name {plainly(source.name)}", what, "leave --name out for it")
        self.mark = seal.mark
        self._check_rewards()

    def _add(self, source: Source, row: Imported, under: Mapping[tuple[str, str], int], seal: Seal) -> None:
        """Take a trial; `under` are the headers that stand before it, by suite and variant."""
        if self.count >= MOST_TRIALS:
            raise RunInvalid(f"more than {MOST_TRIALS:,} trials: import them in parts")
        suite, variant = names(source, row, self.choices)
        found = self._decided(source, row)
        place = suite, row.task
        group = self.groups.setdefault((*place, variant, row.input_digest), Group())
        group.labels.append(row.trial)
        group.rows.append(self.count)
        if (suite, variant) in under:
            group.headers.add(under[suite, variant])
        self.wheres.setdefault(place, {}).setdefault(row.input_digest, f"{plainly(source.path.name)}, {row.where}")
        if row.input and self._room > 0 and (*place, row.input_digest) not in self.prompts:
            text = text_of(row.input, LONGEST_PROMPT)
            self.prompts[*place, row.input_digest] = text
            self._room -= len(text)
        if row.model:
            self.models.setdefault(variant, {})[row.model] = None
        seal.add(suite, variant, row, found)
        self._count(row, found)

    def _count(self, row: Imported, found: Decision) -> None:
        """Count a trial up."""
        self.count += 1
        self.outcomes[found.outcome] += 1
        self.stops[row.stop_detail, found.stop.reason] += 1
        if found.error:
            text = found.error[:80].split("\n", 1)[0]
            self.broke[text if text in self.broke or len(self.broke) < MOST_ERRORS else "other errors"] += 1
        self.untold.update(name for name in TOLD if getattr(row, name) is None)
        if found.stop.reason == UNKNOWN:
            self.untold["stop"] += 1

    def _decided(self, source: Source, row: Imported) -> Decision:
        """Decide a trial; rewards that want a threshold are counted, to be refused all at once."""
        self._rewards += row.reward is not None
        found = decide(row, self.choices)
        if found is not None:
            return found
        self._unclear += 1
        if self._first is None:
            what = f"the reward {row.reward:g} is neither 0 nor 1"
            mend = "say from which reward on a trial passed, such as --threshold 1.0"
            self._first = refuse(source.path, row.where, what, mend)
        return Decision(outcome="failed", graded=None, stop=Stop(reason=UNKNOWN))

    def _check_rewards(self) -> None:
        """Refuse rewards that nobody said how to judge, and a threshold that there is nothing to hold to."""
        if self._first is not None:
            more = f"; so are {self._unclear - 1:,} more" if self._unclear > 1 else ""
            first = self._first.problems[0]
            raise ConfigurationError.of(first.where, first.what + more, first.mend)
        if self.choices.threshold is not None and not self._rewards:
            raise ConfigurationError.of("--threshold", "the files hold verdicts and no rewards", "leave it out")


def names(source: Source, item: Imported | Header, choices: Choices) -> tuple[str, str]:
    """The suite and the variant of an item: as the file names them, else as the person does, else by format and file."""
    suite = choices.suite or item.suite or (IMPORTED if source.kind in PLAIN else source.kind)
    stem = source.path.name.removesuffix(".gz")
    stem = stem[: stem.rfind(".")] if "." in stem[1:] and not source.path.is_dir() else stem
    return suite, source.name or item.variant or stem.encode("utf-8", "backslashreplace").decode() or source.kind


def decide(row: Imported, choices: Choices) -> Decision | None:
    """Decide a trial by what its harness says; None where its reward wants a threshold that was not given.

    The harness's own verdict stands, whatever the stop: there, a trial that a cap ended may have passed.
    """
    broke, passed = row.error, row.passed
    if not broke and passed is None:
        reward = row.reward
        if reward is None or not math.isfinite(reward):
            broke = "the file says neither passed nor failed" if reward is None else f"the reward is {reward}"
        elif choices.threshold is not None:
            passed = reward >= choices.threshold - NEAR
        elif min(abs(reward), abs(reward - 1)) > NEAR:
            return None
        else:
            passed = reward > 0.5
    if not broke:
        reason = UNKNOWN if not row.stop or row.stop.startswith("error:") else row.stop
        verdict: Verdict = "pass" if passed else "fail"
        stop = Stop(reason=reason, detail=row.stop_detail)
        return Decision(outcome="passed" if passed else "failed", graded=verdict, stop=stop)
    detail = row.stop_detail or broke[:200]
    if choices.errors == "fail":
        reason = row.stop if row.stop and not row.stop.startswith("error:") else "other:error"
        return Decision(outcome="failed", graded=None, stop=Stop(reason=reason, detail=detail), error=broke)
    reason = row.stop if row.stop.startswith("error:") else "error:harness" if row.error else "error:verdict"
    return Decision(outcome="error", graded=None, stop=Stop(reason=reason, detail=detail), error=broke)
