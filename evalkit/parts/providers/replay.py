"""The replies of a recorded run, given again: to debug a grader, a report or a detector without asking a model.

The replies are read from `replies.jsonl` in the run's folder, which `evalkit export RUN --replies` writes: a part knows no store, and a file of
plain data goes wherever a run goes.

Invariant: a reply is only given to the very request that it answered. A request that nobody recorded, or one in other words, ends
the trial with an error that says which; nothing is ever made up. `nature` is replayed: old evidence, however often it is played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from evalkit.core.errors import ConfigurationError, ContextOverflow, ProviderError
from evalkit.core.message import JSON, Nature, Price, Reply, Request, fingerprint
from evalkit.core.plan import Trial

FILE = "replies.jsonl"

Place = tuple[str, str, str, int]
"""Suite, task, variant and index of a recorded trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Plays the trials of the run folder `run` again, each by its suite, task, variant and index.

    `variant` names the recorded variant where it is not the one of the same name. `context_window` in tokens is wanted by
    the context policies that the recorded model's was wanted by. Tokens and dollars are those that were recorded; nothing is spent.
    """

    run: str
    variant: str | None = None
    context_window: int | None = None
    nature: ClassVar[Nature] = "replayed"

    @property
    def path(self) -> Path:
        """The file that holds the replies."""
        return Path(self.run, FILE)

    def ready(self) -> str | None:
        """Say that there are no replies to give; None where there are."""
        if self.path.is_file():
            return None
        return f"{self.path} is not there: write it with `evalkit export {self.run} --replies`"

    def price(self) -> Price:
        """Nothing is paid; what a reply cost when it was recorded is counted as it was."""
        return Price(input=0.0, output=0.0)

    def window(self) -> int | None:
        """The context window given, if one was."""
        return self.context_window

    def open(self, trial: Trial) -> ReplayProvider:
        """Find the trial; raises `ProviderError` where it was not recorded, `ConfigurationError` where the file cannot be read."""
        key = trial.key
        place = (key.suite, key.task, self.variant or key.variant, key.index)
        try:
            stamp = self.path.stat()
            start = _places(self.path, (stamp.st_mtime_ns, stamp.st_size)).get(place)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ConfigurationError.of(str(self.path), f"cannot be read: {error}", "export it anew") from error
        if start is None:
            raise ProviderError(f"{self.path} holds no trial {place[3]} of task {place[1]!r} under {place[2]!r}")
        return ReplayProvider(_steps(self.path, start), name=f"trial {place[3]} of {place[1]!r} under {place[2]!r}")


class ReplayProvider:
    """One recorded trial, call by call."""

    def __init__(self, steps: Mapping[int, Mapping[str, JSON]], name: str) -> None:
        """Hold the calls by their number."""
        self._steps, self._name = steps, name

    def complete(self, request: Request) -> Reply:
        """Give the reply that was recorded to this request; raises the error that was, or `ProviderError` for a request that was not."""
        step = self._steps.get(request.call)
        if step is None:
            raise ProviderError(
                f"replay: call {request.call} was not recorded, {self._name} has {len(self._steps)} calls"
            )
        now, then = fingerprint(request), step["asked"]
        if now != then:
            what = "system prompt or tools" if now[:8] != then[:8] else "messages"
            raise ProviderError(f"replay: call {request.call} of {self._name} was recorded with other {what}")
        if step["error"] is not None:
            raise ContextOverflow(step["error"]) if step["overflow"] else ProviderError(step["error"])
        try:
            reply: Reply = _adapter().validate_python(step["reply"])
        except ValidationError as error:
            raise ProviderError(f"replay: call {request.call} of {self._name} cannot be read: {error}") from None
        return replace(reply, nature="replayed")


@lru_cache(maxsize=8)
def _places(path: Path, _: tuple[int, int]) -> dict[Place, int]:
    """Where in the file each trial begins; read anew when the file was written anew."""
    found: dict[Place, int] = {}
    with path.open("rb") as file:
        start = 0
        for line in file:
            trial = json.loads(line)["trial"]
            found[str(trial[0]), str(trial[1]), str(trial[2]), int(trial[3])] = start
            start += len(line)
    return found


def _steps(path: Path, start: int) -> dict[int, Mapping[str, JSON]]:
    """Read the calls of one trial."""
    with path.open("rb") as file:
        file.seek(start)
        return {step["call"]: step for step in json.loads(file.readline())["calls"]}


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Any]:
    """Reader of a reply."""
    return TypeAdapter(Reply)
