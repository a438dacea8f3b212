"""`evalkit run`: load, choose, play what is missing, then show, report and judge.

Invariant: nothing is written before everything that can be known to be wrong has been checked, and whatever ends a run,
finished trials are saved and the command that goes on is told.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from evalkit.cli.chosen import Plan, chosen, so_far
from evalkit.cli.ci import quiet, ready, tell_ci
from evalkit.cli.conclude import conclude, judged, own_gate
from evalkit.cli.confine import LEVELS, going_on, natures, settle
from evalkit.cli.converters import positive, whole
from evalkit.cli.dryrun import described
from evalkit.cli.early import ending_early, mark_curtailed
from evalkit.cli.exits import Exit
from evalkit.cli.interrupt import Abandoned, interruptible
from evalkit.cli.options import Command, Values
from evalkit.cli.origins import watched
from evalkit.cli.output import say, tell
from evalkit.cli.progress import KINDS, Counts, progress
from evalkit.cli.readiness import check_ready
from evalkit.cli.reading import numbers
from evalkit.cli.stumbling import stumbled
from evalkit.cli.targets import refuse_foreign
from evalkit.core.clock import SystemClock
from evalkit.core.errors import ConfigurationError
from evalkit.core.sandbox import RECORD
from evalkit.run.backends import BACKENDS, backend
from evalkit.run.execute import Brake, Ended, Execution
from evalkit.run.play import play
from evalkit.store.disk import exists
from evalkit.store.folder import find_resumable, new_folder
from evalkit.store.manifest import Manifest, fingerprint, new_manifest, united
from evalkit.store.origin import origin
from evalkit.store.runstore import RunStore

GRACE = 10.0
REPORTS = Path("reports")
COMMAND = Command("run", "Run each task of the suites n times under each loop variant, and show pass^k.")
COMMAND.argument("suites", nargs="+", help="suite files (suites/*.yaml)")
COMMAND.option(
    "-c",
    "--config",
    help="file of loop variants; else those that the suites name",
    many=True,
    default=(),
    once=os.path.realpath,
)
COMMAND.option("--variant", help="only this variant", many=True, default=())
COMMAND.option("--task", help="only this task", many=True, default=())
COMMAND.option("--tag", help="only tasks with this tag", many=True, default=())
COMMAND.option("--limit", help="only so many tasks, in the order of the suites", convert=whole(1))
COMMAND.option("-n", "--trials", help="trials of each task; else as the suites say", convert=whole(1, 10_000))
COMMAND.option("-j", "--jobs", help="trials at once", convert=whole(1, 1_000), default=8)
COMMAND.option("--backend", help="where trials are played", choices=tuple(BACKENDS), default="threads")
COMMAND.option("--retries", help="attempts in all at a trial that our own world broke", convert=whole(1), default=3)
COMMAND.option("--sandbox", help="what holds the commands of trials", choices=LEVELS, default="auto")
COMMAND.option(
    "--sandbox-show", help="a folder that a sandbox shows, read-only, besides the system's", many=True, default=()
)
COMMAND.option("--max-usd", help="stop starting trials once the run has cost so many dollars", convert=positive)
COMMAND.option("--seed", help="seed of the order of tasks and of simulated models", convert=whole(0), default=0)
COMMAND.option("-o", "--out", help="the run's own folder; else one under reports/, the last of these suites goes on")
COMMAND.option("--progress", help="how progress is shown on stderr", choices=KINDS, default="auto")
COMMAND.switch("--new", help="begin a new run even where one of the same suites and variants is there")
COMMAND.switch("--dry-run", help="say what would be run and what it may cost, and end")
COMMAND.switch("--gate", help="end with the exit code of the gates")
COMMAND.option(
    "--curtail",
    help="with --gate: start no further trial once none can change the verdict; values that need them are undefined then",
    choices=("on", "off"),
    default="on",
)
COMMAND.switch(
    "--first-failure",
    help="skip a task's later trials once one has failed: pass^n stays exact, pass@1 becomes undefined",
)
COMMAND.option("--junit", help="write a JUnit file here, a testcase per task and variant and one per gate rule")
COMMAND.switch("--github", help="write a step summary, outputs and annotations for a GitHub workflow")
COMMAND.switch("--no-report", help="write no report.html")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="print the run's summary as one JSON object on stdout")


def run(values: Values) -> int:
    """Run; gives 0 measured, 2 usage, 3 and 1 by the gates where they count, 4 incomplete, 130 interrupted."""
    _check(values)
    plan = chosen(values)
    if values.dry_run:
        say(described(plan.config.variants, plan.suites, plan.trials(), _folder(values, plan)[0]))
        return Exit.OK
    check_ready(plan.suites, plan.config.variants)
    plan = _confined(values, plan)
    ready(values.junit, github=values.github)
    workers = backend(values.backend, min(values.jobs, sum(1 for _ in plan.trials())))  # idle ones cost a process each
    command = shlex.join(["evalkit", "run", *(sys.argv[2:] if sys.argv[1:2] == ["run"] else values.suites)])
    with _open(values, plan, command) as store:
        brake = Brake()
        execution = Execution(
            play=play,
            backend=workers,
            store=store,
            told=lambda _: None,
            attempts=values.retries,
            max_usd=values.max_usd,
            spent=store.bookkeeping().usd,
            brake=brake,
        )
        ended = _execute(execution, plan, store, values)
        if ended is None:
            store.close()
            tell(f"\ninterrupted: finished trials are saved in {store.folder}. Go on with:\n  {command}")
            sys.stderr.flush()
            os._exit(Exit.INTERRUPTED)  # trials that were given up may still run in other threads
        return _finish(values, store, ended, command)


def _check(values: Values) -> None:
    """Refuse flags that would do nothing, and a folder that no run can go to."""
    if values.origins["curtail"] == "flag" and not values.gate:
        raise ConfigurationError.of("--curtail", "does nothing without --gate", "add --gate, or leave --curtail away")
    if values.dry_run and values.json:
        raise ConfigurationError.of(
            "--json", "does nothing with --dry-run, which measures nothing", "leave one of them away"
        )
    if values.out is not None and (not values.out or (exists(Path(values.out)) and Path(values.out).is_file())):
        what = "is empty" if not values.out else "is a file"
        raise ConfigurationError.of(f"--out {values.out!r}", what, "name a folder, or leave --out away")
    if values.out and values.new:
        mend = "leave --new away and name a folder that does not exist, or leave --out away"
        raise ConfigurationError.of("--new", "does nothing with --out, which names the folder itself", mend)
    if values.out:
        refuse_foreign("--out", Path(values.out))


def _confined(values: Values, plan: Plan) -> Plan:
    """Settle what holds the processes of the trials, and say what there is to say of it."""
    folder = _folder(values, plan)[0]
    settled = settle(values.sandbox, values.sandbox_show, plan.suites, plan.config.variants, folder)
    if settled.told:
        tell(settled.told)
    return replace(plan, sandbox=settled.sandbox, level=settled.level)


def _folder(values: Values, plan: Plan) -> tuple[Path, str]:
    """The folder that this run goes to, and its fingerprint."""
    mark = fingerprint(plan.all_suites, plan.all_variants, plan.seed)
    if values.out:
        return Path(values.out), mark
    found = None if values.new else find_resumable(REPORTS, mark)
    now = SystemClock().time()
    return found or new_folder(REPORTS, [suite.name for suite in plan.all_suites], mark, now), mark


def _open(values: Values, plan: Plan, command: str) -> RunStore:
    """Make the run's folder, or go on in the one that is there; never one of other suites or variants."""
    folder, mark = _folder(values, plan)
    fresh = new_manifest(
        run=folder.name,
        created=SystemClock().time(),
        fingerprint=mark,
        suites=plan.suites,
        variants=plan.config.variants,
        seed=plan.seed,
        origin=origin(command),
        baseline=plan.config.baseline,
        gates=plan.config.gates,
        natures=natures(plan.config.variants),
        settings={
            **{name: values.values[name] for name in ("backend", "jobs", "retries")},
            **({"early": {"first_failure": True}} if values.first_failure else {}),
            RECORD: [plan.level],
            "sandbox_show": list(plan.sandbox.show),
        },
    )
    if not (folder / "run.json").exists():
        tell(f"run folder: {folder}")
        return RunStore.create(folder, fresh)
    store = RunStore.open(folder, write=True)
    if store.manifest.fingerprint != mark:
        store.close()
        raise ConfigurationError.of(
            str(folder),
            f"holds a run of other suites, variants or seed ({', '.join(suite.name for suite in store.manifest.suites)})",
            "choose another folder with --out, or leave --out away",
        )
    tell(_going_on(store.manifest, fresh, folder))
    levels, unlike = going_on(store.manifest.settings, plan.level)
    if unlike:
        tell(unlike)
    fresh = replace(fresh, settings={**fresh.settings, RECORD: levels})
    store.update_plan(united(store.manifest, fresh, plan.all_suites, plan.all_variants))
    return store


def _going_on(old: Manifest, new: Manifest, folder: Path) -> str:
    """Say that a run goes on, and what was edited since."""
    digests = {(task.suite, task.task): task.digest for task in old.plan}
    edited = [task.task for task in new.plan if digests.get((task.suite, task.task), task.digest) != task.digest]
    edited += [name for name, found in new.digests.items() if old.digests.get(name, found) != found]
    said = (
        f"; edited since: {', '.join(edited)}: of it only trials of what it is now count (--new begins a run beside this one, to compare the two)"
        if edited
        else ""
    )
    return f"going on in {folder}{said}"


def _execute(execution: Execution, plan: Plan, store: RunStore, values: Values) -> Ended | None:
    """Play the trials; None where running ones had to be given up."""
    done = store.done()
    keys = [trial.key.digest in done for trial in plan.trials()]
    counts = Counts(
        planned=len(keys), clock=SystemClock(), so_far=None if values.first_failure else so_far(plan, store)
    )
    counts.done = sum(keys)
    if counts.done:
        tell(f"{counts.done} of {len(keys)} trials are done already")
    if len(keys) < store.manifest.trials:
        tell(
            f"{len(keys)} trials are chosen of the {store.manifest.trials} that this folder plans; what is shown is of all of them"
        )

    def asked(name: str) -> None:
        """Let running trials end."""
        execution.brake.pull("interrupted", name)
        tell(f"\n{name}: running trials get {GRACE:.0f} s to end; once more to give them up")

    try:
        with ExitStack() as stack:
            stack.enter_context(interruptible(asked, GRACE))
            shown = watched(store, stack.enter_context(progress(values.progress, counts)))
            execution.told = ending_early(
                execution,
                store,
                shown,
                first_failure=values.first_failure,
                curtail=values.gate and values.curtail == "on",
            )
            ended = execution.run(plan.trials())
            store.flush()
            return ended
    except Abandoned:
        return None


def _finish(values: Values, store: RunStore, ended: Ended, command: str) -> int:
    """Show what was measured and say how the run ended."""
    if ended.reason == "curtailed":
        mark_curtailed(store, ended)
    with quiet(github=values.github, as_json=values.json):
        code = conclude(
            store, report=not values.no_report, as_json=values.json, no_color=values.no_color, judge=values.gate
        )
    for line in stumbled(store):
        tell(line)
    if values.junit or values.github:
        found = numbers(store)
        verdict = own_gate(found)
        shown = None if verdict is None else judged(verdict)
        tell_ci(found, shown, junit_path=values.junit, github=values.github, as_json=values.json)
    if ended.reason in {"complete", "curtailed"} or (
        ended.reason == "budget" and len(store.done()) >= store.manifest.trials
    ):
        return code
    reasons = {
        "interrupted": f"interrupted by {ended.detail}",
        "budget": f"stopped by --max-usd: ${store.bookkeeping().usd:.4f} are spent",
        "fatal": f"stopped, because no trial can succeed: {store.clean(ended.detail)}",
        "outage": f"stopped: {store.clean(ended.detail)}",
        "store": f"stopped, because records cannot be written: {ended.detail}",
    }
    tell(f"{reasons[ended.reason]}\nfinished trials are saved in {store.folder}. Go on with:\n  {command}")
    return Exit.INTERRUPTED if ended.reason == "interrupted" else Exit.INVALID
