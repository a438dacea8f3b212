"""Two runs put side by side, for `compare A B` and `gate RUN --baseline RUN`: which variants face each other, and what limits what is said.

Invariant: nothing is compared that a reader could take for something else. A run is never held against its own trials, unlike tasks are refused or
left out by number, and what tells the runs apart beside their designs (a simulated model, missing trials) is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.cli.reading import LATEST, Run, find
from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.core.plan import Variant
from evalkit.measure.beside import Match, Name, Side, beside
from evalkit.measure.table import Table, listed, meant
from evalkit.report.clean import clean_name
from evalkit.report.configs import pointers
from evalkit.report.numbers import times
from evalkit.store.disk import exists

LABEL = "baseline"
"""What stands before the names of the baseline's variants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facing:
    """Two runs in one table: `pairs` are (variant, baseline) by their names in it, `differs` where their configurations differ, `runs` as JSON."""

    table: Table
    pairs: tuple[tuple[str, str], ...]
    differs: tuple[str, ...]
    notes: tuple[str, ...]
    runs: dict[str, Any]


def facing(
    candidate: Run, base: Run, *, variants: Sequence[str] = (), baseline: str | None = None, shared: bool = False
) -> Facing:
    """Put two runs side by side.

    Each of the candidate's `variants` (all, where none is named) faces `baseline`, a variant of the base run; where that is not given, the base
    run's variant of the same name, else its baseline or only variant. Raises `ConfigurationError` where that is none or the very same
    trials, `RunInvalid` as `beside` does.
    """
    couples = _couples(candidate, base, variants, baseline)
    names = (clean_name(candidate.about.run), clean_name(base.about.run))
    if names[0] == names[1]:
        names = (clean_name(str(candidate.store.folder)), clean_name(str(base.store.folder)))
    sides = [
        Side(name=name, table=run.table, digests=_digests(run))
        for name, run in zip(names, (candidate, base), strict=True)
    ]
    table, found = beside(sides[0], sides[1], couples, label=LABEL, shared=shared)
    pairs = tuple((mine, f"{LABEL}:{theirs}") for mine, theirs in couples)
    designs = [(_design(base, theirs), _design(candidate, mine)) for mine, theirs in couples]
    return Facing(
        table=table,
        pairs=pairs,
        differs=tuple(dict.fromkeys(pointer for pair in designs for pointer in pointers(pair))),
        notes=tuple(_notes(candidate, base, couples, designs, table, found)),
        runs=_told(candidate, base, couples, found),
    )


def baseline_run(run: Run, word: str) -> str | None:
    """Tell whether `--baseline WORD` names another run (given back as a reference) or a variant of this one (None).

    Raises `ConfigurationError` where it names both, `RunInvalid` where it names neither: as for a run that is not there.
    """
    there = word == LATEST or exists(find(word) / "run.json")
    if word in run.table.variants:
        if there:
            what = f"{clean_name(word)} is a variant of the run and a run folder too"
            raise ConfigurationError.of(
                "--baseline", what, f"write {find(word).resolve()} for the folder, or rename one of them"
            )
        return None
    if not there:
        what = "is neither a run nor a variant of this one"
        raise RunInvalid(f"--baseline {clean_name(word)}: {what} ({meant(word, run.table.variants)})")
    return word


def _couples(candidate: Run, base: Run, variants: Sequence[str], baseline: str | None) -> tuple[tuple[str, str], ...]:
    """Say which variant of the candidate faces which of the base run."""
    mine = [candidate.table.variants[candidate.table.find_variant(name)] for name in variants]
    couples = [(name, _faced(base, name, baseline)) for name in dict.fromkeys(mine or candidate.table.variants)]
    one = (candidate.store.manifest.run, candidate.store.manifest.created)
    same = [name for name, other in couples if name == other]
    if same and one == (base.store.manifest.run, base.store.manifest.created):
        what = f"is compared with itself: the trials of {listed(same)} stand on both sides"
        mend = "name another run, or compare the variants of this one with each other"
        raise ConfigurationError.of(clean_name(candidate.about.run), what, mend)
    return tuple(couples)


def _faced(base: Run, name: str, baseline: str | None) -> str:
    """The variant of the base run that a variant of the candidate is compared with."""
    table = base.table
    if baseline is not None:
        return table.variants[table.find_variant(baseline)]
    if name in table.variants:
        return name
    chosen = table.baseline or (table.variants[0] if len(table.variants) == 1 else None)
    if chosen is None:
        what = f"{clean_name(base.about.run)} has no variant of this name, and several others: {listed(table.variants)}"
        raise ConfigurationError.of(f"variant {name}", what, "say with --baseline which of them it is compared with")
    return chosen


def _digests(run: Run) -> dict[Name, str]:
    """What each planned task's content is known by."""
    return {(task.suite, task.task): task.digest for task in run.store.manifest.plan}


def _design(run: Run, name: str) -> Variant:
    """A variant's configuration."""
    return next(one for one in run.about.variants if one.name == name)


def _notes(
    candidate: Run,
    base: Run,
    couples: Sequence[tuple[str, str]],
    designs: Sequence[tuple[Variant, Variant]],
    table: Table,
    found: Match,
) -> list[str]:
    """Say what limits the comparison, one sentence each."""
    notes = [] if found.whole else [found.cut()]
    natures = [
        (candidate.store.manifest.natures.get(mine, ""), base.store.manifest.natures.get(theirs, ""))
        for mine, theirs in couples
    ]
    for mine, theirs in dict.fromkeys(natures):
        if mine and theirs and mine != theirs:
            notes.append(
                f"{found.candidate} was {mine}, {found.baseline} {theirs}: a difference may be that of the models and not of the loops"
            )
    notes += _lacks(table, found)
    same_draws = [
        mine.name
        for (theirs, mine), nature in zip(designs, natures, strict=True)
        if nature == ("simulated", "simulated")
        and (mine.name, mine.design_digest) == (theirs.name, theirs.design_digest)
        and candidate.store.manifest.seed == base.store.manifest.seed
    ]
    if same_draws:
        notes.append(
            f"{listed(same_draws)}: one design, simulated with one seed on both sides, so its trials draw the same numbers: "
            "no difference is found where there is none, and none of luck either"
        )
    return notes


def _lacks(table: Table, found: Match) -> list[str]:
    """Say which of the two runs is incomplete, as far as it is compared."""
    ours = [not name.startswith(f"{LABEL}:") for name in table.variants]
    notes = []
    for run, mine in ((found.candidate, True), (found.baseline, False)):
        columns = [place for place, own in enumerate(ours) if own is mine]
        lost = {"missing": int(table.missing[:, columns].sum()), "in error": int(table.errors[:, columns].sum())}
        said = [f"{times(count, 'trial')} {word}" for word, count in lost.items() if count]
        if said:
            planned = int(table.planned[:, columns].sum())
            notes.append(
                f"{run} is incomplete: {' and '.join(said)}, of {planned:,} planned; what needs them is given as a range"
            )
    return notes


def _told(candidate: Run, base: Run, couples: Sequence[tuple[str, str]], found: Match) -> dict[str, Any]:
    """The two runs, and how their tasks match, as JSON."""
    sides = {}
    for role, run, place in (("candidate", candidate, 0), ("baseline", base, 1)):
        natures = {run.store.manifest.natures.get(couple[place]) for couple in couples}
        sides[role] = {
            "run": run.about.run,
            "variants": list(dict.fromkeys(couple[place] for couple in couples)),
            "natures": sorted(one for one in natures if one),
        }
    kinds = ("only_candidate", "only_baseline", "edited")
    left_out = {kind: ["/".join(task) for task in getattr(found, kind)] for kind in kinds}
    uneven = [{"task": "/".join(task), "candidate": mine, "baseline": theirs} for task, mine, theirs in found.uneven]
    return {**sides, "tasks": {"compared": found.shared, "left_out": left_out, "cut_to_shared_trials": uneven}}
