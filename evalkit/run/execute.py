"""Playing a schedule: what is missing is played, what errored is played afresh, what is done is kept.

Invariant: the driver alone writes, and a record is handed to the store before anybody is told of it. A trial that passed or
failed is never played again; only one that our own world broke is, up to a fixed number of attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from evalkit.core.errors import StoreError, WorkerDied
from evalkit.core.plan import Trial, TrialKey
from evalkit.core.protocols import Backend, Play, Store
from evalkit.core.record import TrialRecord
from evalkit.run.play import lost

ERRORS_IN_A_ROW = 10

EndReason = Literal["complete", "interrupted", "budget", "fatal", "outage", "store", "curtailed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run came to its end: `detail` says what a person needs to know, `played` counts records of this call."""

    reason: EndReason
    detail: str = ""
    played: int = 0


@dataclass(slots=True)
class Brake:
    """Stops a run from outside: once pulled, no further trial is started. The first reason stays."""

    reason: EndReason | None = None
    detail: str = ""

    def pull(self, reason: EndReason, detail: str = "") -> None:
        """Ask for the end."""
        if self.reason is None:
            self.reason, self.detail = reason, detail


@dataclass(slots=True, kw_only=True)
class Execution:
    """One call of the runner over a schedule.

    `attempts` is how often an errored trial is tried in all; `max_usd` bounds the spend of the whole run, `spent` is what
    earlier calls on the same folder have spent. `told` is called with each record once the store has it. A trial that is about to be
    started for the first time is left out where `skip` says so.
    """

    play: Play
    backend: Backend
    store: Store
    told: Callable[[TrialRecord], None]
    attempts: int = 3
    max_usd: float | None = None
    spent: float = 0.0
    brake: Brake = field(default_factory=Brake)
    skip: Callable[[Trial], bool] = lambda _: False
    played: int = 0
    errors_in_a_row: int = 0
    in_flight: dict[TrialKey, Trial] = field(default_factory=dict)

    def run(self, trials: Iterable[Trial]) -> Ended:
        """Play all trials that are not done; errored ones again after the others, so that an outage may heal meanwhile.

        `trials` are drawn one at a time, so a plan of any length costs no memory.
        """
        done = self.store.done()
        pending: Iterable[Trial] = (trial for trial in trials if trial.key.digest not in done)
        while self.brake.reason is None:
            errored: list[Trial] = []
            for record in self._played(pending):
                trial = self.in_flight.pop(record.key)
                self._keep(record)
                if record.outcome == "error" and record.attempt < self.attempts:
                    errored.append(replace(trial, attempt=record.attempt + 1))
            if not errored:
                break
            pending = errored
        reason = self.brake.reason or "complete"
        return Ended(reason=reason, detail=self.brake.detail, played=self.played)

    def _played(self, trials: Iterable[Trial]) -> Iterator[TrialRecord]:
        """Records of trials. Where a worker dies, what was under way is played again one by one: so the one that kills its worker is known.

        That one alone is charged with it: its record is an error, and like any other it is tried again.
        """
        waiting = iter(trials)
        while True:
            try:
                yield from self.backend.map(self.play, self._feed(waiting))
            except WorkerDied:
                suspects = list(self.in_flight.values())
            else:
                return
            for trial in suspects:
                if self.brake.reason is None:
                    yield from self._alone(trial)

    def _alone(self, trial: Trial) -> Iterator[TrialRecord]:
        """The record of a trial that is played while no other is; an error where its worker dies."""
        del self.in_flight[trial.key]
        try:
            yield from self.backend.map(self.play, self._feed([trial]))
        except WorkerDied as error:
            yield lost(trial, str(error))

    def _feed(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """Hand out trials until the brake is pulled; each start is noted first, so that the spend of a killed one is known of."""
        for trial in trials:
            if self.brake.reason is not None:
                return
            if trial.attempt == 1 and self.skip(trial):
                continue
            try:
                self.store.begin(trial)
            except StoreError as error:
                self.brake.pull("store", str(error))
                return
            self.in_flight[trial.key] = trial
            yield trial

    def _keep(self, record: TrialRecord) -> None:
        """Store a record, then tell, then see whether the run may go on."""
        try:
            self.store.keep(record)
        except StoreError as error:
            self.brake.pull("store", str(error))
        self.played += 1
        self.spent += (record.tally.usd or 0.0) + (record.grading.usd or 0.0)
        self.told(record)
        self.errors_in_a_row = self.errors_in_a_row + 1 if record.outcome == "error" else 0
        if record.fatal:
            self.brake.pull("fatal", record.error)
        elif self.errors_in_a_row >= ERRORS_IN_A_ROW:
            self.brake.pull(
                "outage", f"{ERRORS_IN_A_ROW} trials in a row ended in errors, the last with: {record.error}"
            )
        elif self.max_usd is not None and self.spent >= self.max_usd:
            self.brake.pull("budget", f"spent {self.spent:.4f} of {self.max_usd:g} USD")
