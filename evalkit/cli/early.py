"""Ending a run early without paying for it in false verdicts: what `run --gate` and `--first-failure` do while trials are played.

Invariant: nothing is skipped that could still change what is said. A trial is skipped only where one with a lower number has failed, and a run ends
only where no outcome of the trials that are left can change the verdict, or a rule of the kind `anytime` has its evidence; what these would have measured besides is undefined afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from evalkit.cli.conclude import applicable
from evalkit.cli.output import tell
from evalkit.cli.reading import early_of, table_of
from evalkit.core.plan import Gate, Trial
from evalkit.core.record import TrialRecord
from evalkit.measure.gate import settled
from evalkit.measure.table import Table, joined
from evalkit.report.numbers import times
from evalkit.run.execute import Brake, Ended, Execution
from evalkit.store.runstore import RunStore

LOOKS = 100
"""How often a run is looked at, at most; fewer looks than tasks cost trials and never a false verdict."""

Place = tuple[str, str, str]
"""Suite, task, variant."""


@dataclass(slots=True)
class FirstFailures:
    """Remembers the lowest number of a failed trial of each task under each variant."""

    _lowest: dict[Place, int] = field(default_factory=dict)

    @classmethod
    def of(cls, store: RunStore) -> FirstFailures:
        """Begin with what a run holds."""
        found, columns = cls(), store.columns()
        for *place, index, outcome in zip(
            columns.suite, columns.task, columns.variant, columns.index, columns.outcome, strict=True
        ):
            if outcome == "failed":
                found._note((place[0], place[1], place[2]), index)
        return found

    def add(self, record: TrialRecord) -> None:
        """Remember a record."""
        if record.outcome == "failed":
            self._note((record.key.suite, record.key.task, record.key.variant), record.key.index)

    def skips(self, trial: Trial) -> bool:
        """Tell whether a trial comes after a failed one of its task; all of a lower number have then been started."""
        place = trial.key.suite, trial.key.task, trial.key.variant
        return self._lowest.get(place, trial.key.index) < trial.key.index

    def _note(self, place: Place, index: int) -> None:
        """Keep the lower number."""
        self._lowest[place] = min(index, self._lowest.get(place, index))


@dataclass(slots=True, kw_only=True)
class Curtailment:
    """Looks at the run's verdict now and then, and pulls the brake once it stands.

    It holds the numbers of all records itself, so that a look costs no reading and the run does not wait for it.
    """

    table: Table
    rules: Sequence[Gate]
    brake: Brake
    every: int
    _records: dict[str, TrialRecord] = field(default_factory=dict)
    _since: int = 0

    @classmethod
    def of(cls, store: RunStore, rules: Sequence[Gate], brake: Brake) -> Curtailment:
        """Look after so many records that there are at most `LOOKS` looks."""
        return cls(table=table_of(store), rules=rules, brake=brake, every=max(1, store.manifest.trials // LOOKS))

    def add(self, record: TrialRecord) -> None:
        """Take a record, and look where it is time."""
        self._records[record.key.digest] = record
        self._since += 1
        if self._since >= self.every:
            self._since = 0
            self.look()

    def look(self) -> None:
        """End the run where its verdict stands and trials are missing."""
        table = with_records(self.table, list(self._records.values()))
        if not (table.missing + table.errors).any():
            return
        word = settled(table, self.rules)
        if word is not None:
            self.brake.pull("curtailed", word)


def with_records(table: Table, records: Sequence[TrialRecord]) -> Table:
    """Add records to a table; one of a trial that the table has takes the place of that row."""
    fresh = Table.of(
        tasks=table.tasks,
        variants=table.variants,
        planned=table.planned,
        suite=[one.key.suite for one in records],
        task=[one.key.task for one in records],
        variant=[one.key.variant for one in records],
        index=[one.key.index for one in records],
        outcome=[one.outcome for one in records],
        graded=[one.graded for one in records],
        stop=[one.stop.reason for one in records],
        turns=[one.tally.known("turns") for one in records],
        tokens=[one.tally.known("tokens") for one in records],
        usd=[one.tally.usd for one in records],
        seconds=[one.tally.known("seconds") for one in records],
    )
    return joined(table, fresh)


def ending_early(
    execution: Execution, store: RunStore, shown: Callable[[TrialRecord], None], *, first_failure: bool, curtail: bool
) -> Callable[[TrialRecord], None]:
    """What each record is told to: the progress, and what may end a task or the run early."""
    watchers = [shown]
    if first_failure:
        failures = FirstFailures.of(store)
        execution.skip = failures.skips
        watchers.append(failures.add)
    rules = applicable(store.manifest.gates, [one.name for one in store.manifest.variants])
    if curtail and rules:
        curtailment = Curtailment.of(store, rules, execution.brake)
        curtailment.look()
        watchers.append(curtailment.add)

    def told(record: TrialRecord) -> None:
        """Tell all of them."""
        for watcher in watchers:
            watcher(record)

    return told


def mark_curtailed(store: RunStore, ended: Ended) -> None:
    """Keep in `run.json` that the verdict stood before all trials were played; where those under way were the last, there is nothing to keep."""
    run = store.manifest
    left = run.trials - len(store.done())
    if not left:
        return
    early = {**early_of(run), "curtailed": ended.detail}
    store.update_plan(replace(run, settings={**run.settings, "early": early}))
    tell(
        f"curtailed: the gate's verdict stands at {ended.detail} whatever the {times(left, 'trial')} left may bring; --curtail off plays them"
    )
