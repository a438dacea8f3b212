"""`run.json`: what a run is, whole, so that its folder can be read years later and on another machine.

Invariant: the plan is the denominator. `plan` says how many trials of which task under which variant were asked for, under the
digests that they were run with; records outside it are never counted. Digests are read, not computed anew, so a folder
stays readable when a later evalkit hashes more than this one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from evalkit.core.message import JSON, Nature, least
from evalkit.core.plan import Gate, Spec, Suite, Task, TrialKey, Variant, digest
from evalkit.store.disk import fault, told, write_whole
from evalkit.store.origin import Origin
from evalkit.store.plain import plain
from evalkit.store.redact import Redactor

SCHEMA = 1
FILE = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """What was asked for of one task: `trials` under each variant by name, and the task's `digest`."""

    suite: str
    task: str
    digest: str
    trials: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A run before its first trial.

    `run` is its name, `created` seconds since the epoch. `fingerprint` is that of the function of this name. `suites` and `variants` are resolved, `Task.trials` as asked for. `digests` and `natures` are by
    variant. `prices` names the price table, `settings` holds how it was run (backend, jobs, sandbox, retries).
    """

    run: str
    created: float
    fingerprint: str
    suites: tuple[Suite, ...]
    variants: tuple[Variant, ...]
    plan: tuple[PlannedTask, ...]
    digests: Mapping[str, str]
    seed: int
    origin: Origin
    baseline: str | None = None
    gates: tuple[Gate, ...] = ()
    natures: Mapping[str, Nature] = field(default_factory=dict)
    prices: str | None = None
    settings: Mapping[str, JSON] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def trials(self) -> int:
        """The number of planned trials."""
        return sum(sum(task.trials.values()) for task in self.plan)

    @property
    def names(self) -> Iterator[str]:
        """All names, kinds and digests that the plan uses: they are no secrets."""
        yield self.run
        yield from self.digests.values()
        yield from (task.digest for task in self.plan)
        yield from (name for suite in self.suites for name in (suite.name, *(task.id for task in suite.tasks)))
        yield from (variant.name for variant in self.variants)
        yield from _kinds((self.suites, self.variants))

    @property
    def key_variables(self) -> Iterator[str]:
        """The environment variables whose values may not be kept: of a provider's key, and those that a loop passes on to a program."""
        for variant in self.variants:
            passed = variant.loop.options.get("env")
            named = [variant.provider.options.get("api_key_env"), *(passed if isinstance(passed, list | tuple) else ())]
            yield from (name for name in named if isinstance(name, str))


def fingerprint(suites: Sequence[Suite], variants: Sequence[Variant], seed: int) -> str:
    """Tell what may share a run's folder: the suites by name and file, the files of variants, and the seed.

    Take all of a file's suites and variants, before `--task`, `--variant` or `--limit` choose from them: a choice is no other
    run. Contents are left out, so what was edited goes on in the same folder, where it alone is run again; so are the names of
    variants that come from a file, so a variant that is added does not make the others be paid for twice.
    """
    return digest(
        {
            "suites": sorted([suite.name, _source(suite.source)] for suite in suites),
            "variants": sorted({_source(variant.source) or variant.name for variant in variants}),
            "seed": seed,
        }
    )


def _source(path: str) -> str:
    """A source's path as seen from here, however it was written."""
    return Path(os.path.relpath(path)).as_posix() if path else ""


def _kinds(value: object) -> Iterator[str]:
    """The kinds of all parts that a plan names."""
    if isinstance(value, Spec):
        yield value.kind
    if isinstance(value, tuple):
        for item in value:
            yield from _kinds(item)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _kinds(getattr(value, one.name))


def new_manifest(
    *,
    run: str,
    created: float,
    fingerprint: str,
    suites: Sequence[Suite],
    variants: Sequence[Variant],
    seed: int,
    origin: Origin,
    baseline: str | None = None,
    gates: Sequence[Gate] = (),
    natures: Mapping[str, Nature] | None = None,
    prices: str | None = None,
    settings: Mapping[str, JSON] | None = None,
) -> Manifest:
    """Plan `Task.trials` trials of each task under each variant."""
    return Manifest(
        run=run,
        created=created,
        fingerprint=fingerprint,
        suites=tuple(suites),
        variants=tuple(variants),
        plan=tuple(
            PlannedTask(suite=t.suite, task=t.id, digest=t.digest, trials={v.name: t.trials for v in variants})
            for suite in suites
            for t in suite.tasks
        ),
        digests={variant.name: variant.digest for variant in variants},
        seed=seed,
        origin=origin,
        baseline=baseline,
        gates=tuple(gates),
        natures=natures or {},
        prices=prices,
        settings=settings or {},
    )


def planned_keys(manifest: Manifest) -> Iterator[TrialKey]:
    """Name every planned trial: task by task, variant by variant, index by index."""
    for task in manifest.plan:
        for variant in manifest.variants:
            for index in range(1, task.trials.get(variant.name, 0) + 1):
                yield TrialKey(
                    suite=task.suite,
                    task=task.task,
                    variant=variant.name,
                    index=index,
                    task_digest=task.digest,
                    variant_digest=manifest.digests[variant.name],
                )


def united(old: Manifest, new: Manifest, suites: Sequence[Suite], variants: Sequence[Variant]) -> Manifest:
    """The plan of a folder that goes on: all that was ever asked for in it and still exists, with contents as they are now.

    `suites` and `variants` are what the files hold now, before anything was chosen from them. A task or variant that
    was edited is planned with its new digest, so its old records no longer count and it shows as missing until
    it is run. Of two numbers of trials the larger holds; of what was edited, the new one. What the files no longer hold is dropped.
    """
    before = {(task.suite, task.task): task for task in old.plan}
    after = {(task.suite, task.task): task for task in new.plan}
    wanted = {(task.suite, task.id): task for suite in new.suites for task in suite.tasks}
    digests = {one.name: new.digests.get(one.name) or one.digest for one in variants}
    edited = {name for name, found in digests.items() if old.digests.get(name) != found}
    plan: list[PlannedTask] = []
    kept: list[Suite] = []
    for suite in suites:
        tasks: list[Task] = []
        for task in suite.tasks:
            place = (task.suite, task.id)
            merged = _merged(task, before.get(place), after.get(place), digests, edited)
            if merged is not None:
                plan.append(merged)
                tasks.append(replace(wanted.get(place, task), trials=max(merged.trials.values())))
        if tasks:
            kept.append(replace(suite, tasks=tuple(tasks)))
    names = {name for task in plan for name in task.trials}
    return replace(
        new,
        run=old.run,
        created=old.created,
        suites=tuple(kept),
        variants=tuple(one for one in variants if one.name in names),
        plan=tuple(plan),
        digests={name: found for name, found in digests.items() if name in names},
        natures=_natures(old, new, names, edited),
        baseline=new.baseline or (old.baseline if old.baseline in names else None),
    )


def _natures(old: Manifest, new: Manifest, names: set[str], edited: set[str]) -> dict[str, Nature]:
    """Of a variant that nobody edited the earlier records still count, so of the two natures the one that proves less."""
    both = ((name, old.natures.get(name), new.natures.get(name)) for name in {**old.natures, **new.natures})
    return {
        name: least(one for one in (before if name not in edited or now is None else None, now) if one is not None)
        for name, before, now in both
        if name in names
    }


def _merged(
    task: Task,
    before: PlannedTask | None,
    after: PlannedTask | None,
    digests: Mapping[str, str],
    edited: set[str],
) -> PlannedTask | None:
    """What is planned of one task now; None where nothing is."""
    if before is None and after is None:
        return None
    found = after.digest if after else task.digest
    trials: dict[str, int] = {}
    for name in digests:
        first = before.trials.get(name, 0) if before else 0
        second = after.trials.get(name, 0) if after else 0
        changed = name in edited or (before is not None and before.digest != found)
        count = second if changed and second else max(first, second)
        if count:
            trials[name] = count
    return PlannedTask(suite=task.suite, task=task.id, digest=found, trials=trials) if trials else None


@cache
def _adapter() -> TypeAdapter[Any]:
    """Validator of a manifest."""
    return TypeAdapter(Manifest)


def write(folder: Path, manifest: Manifest, redactor: Redactor) -> Manifest:
    """Write `run.json` whole or not at all, without secrets, and give the manifest as a reader will see it."""
    values = plain(manifest, redactor.clean)
    write_whole(folder / FILE, to_json(values, indent=1, inf_nan_mode="constants"))
    return READERS[SCHEMA](values)


def read(folder: Path) -> Manifest:
    """Read `run.json`; a `StoreError` says what is the matter with it."""
    path = folder / FILE
    with told(path, "cannot be read"):
        if not folder.is_dir():
            raise fault(folder, "no such folder" if not folder.exists() else "is no folder", "name the folder of a run")
        if not path.is_file():
            what = f"its {FILE} is no file" if path.exists() else f"is no run: it holds no {FILE}"
            raise fault(folder, what, "name the folder of a run, as `evalkit run` prints it")
        text = path.read_bytes()
    try:
        values = json.loads(text)
        schema = values["schema"]
        reader = READERS.get(schema)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise fault(path, f"is damaged: {error}", "restore it from a copy of the folder") from error
    if reader is None:
        known = ", ".join(map(str, READERS))
        raise fault(
            path,
            f"has the schema number {schema}, this evalkit reads {known}",
            "use the evalkit that wrote it, or a newer one",
        )
    try:
        return reader(values)
    except (ValueError, RecursionError) as error:
        raise fault(path, f"is damaged: {error}", "restore it from a copy of the folder") from error


def _read_1(values: JSON) -> Manifest:
    """Read a manifest of schema 1."""
    found: Manifest = _adapter().validate_python(values)
    if not 0.0 <= found.created < 253_402_300_800.0:  # the year 10,000
        raise ValueError(f"it was begun {found.created:g} seconds after 1970")
    strange = {name for task in found.plan for name in task.trials} - set(found.digests)
    if strange:
        raise ValueError(f"its plan has variants without a digest: {', '.join(sorted(strange))}")
    return found


READERS: dict[int, Callable[[JSON], Manifest]] = {1: _read_1}
"""A reader of each schema number: it gives today's manifest from that day's values."""
