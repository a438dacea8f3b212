"""What the harness itself costs: trials of a simulated model with two calls, one tool and an exact grader, fully traced and kept.

    python -m benchmarks.overhead [--trials 4000] [--n 8] [--jobs 8] [--workspace]

Targets: at most 1 ms CPU a trial at 4,000 trials, at most 1.2 times that at 40,000, and 1.15 times the memory at 40,000 trials
of the same 500 tasks (`--trials 40000 --n 80`; the plan of ten times as many tasks takes its own place).
With `--workspace` each trial copies a small folder and is graded by one subprocess instead; the figure to compare is
`bare_subprocess_ms`, the same subprocess without any harness.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.meter import Meter, report
from evalkit.core.message import Nature
from evalkit.core.plan import Spec, Suite, Task, Variant
from evalkit.core.record import TrialRecord
from evalkit.run.backends import backend
from evalkit.run.execute import Execution
from evalkit.run.play import play
from evalkit.run.schedule import schedule
from evalkit.store.manifest import fingerprint, new_manifest
from evalkit.store.origin import origin
from evalkit.store.runstore import RunStore

N = 8
VARIANT = Variant(name="bench", provider=Spec(kind="simulated"))


def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


def sums(trials: int, n: int = N) -> Suite:
    """A suite of additions, `n` trials a task: call the tool, then answer."""
    tasks = tuple(
        Task(
            suite="bench",
            id=f"add-{number}",
            prompt=f"Use the tool to add one to {number}.",
            tools=(Spec(kind="python", options={"function": "benchmarks.overhead:add"}),),
            graders=(Spec(kind="equals", options={"text": str(number + 1)}),),
            simulate={"steps": [{"tool": "add", "args": {"x": number, "y": 1}}], "answer": str(number + 1)},
            trials=n,
        )
        for number in range(trials // n)
    )
    return Suite(name="bench", tasks=tasks)


def repairs(trials: int, folder: Path) -> Suite:
    """A suite of trivial work on files, each graded by a subprocess."""
    (folder / "template").mkdir()
    for number in range(5):
        (folder / "template" / f"file{number}.txt").write_text("text\n" * 20)
    tasks = tuple(
        Task(
            suite="bench",
            id=f"write-{number}",
            prompt="Write done to done.txt.",
            environment=Spec(kind="workspace", options={"folder": "template"}),
            graders=(Spec(kind="command", options={"run": "test -f done.txt"}),),
            simulate={
                "steps": [{"tool": "write_file", "args": {"path": "done.txt", "content": "done"}}],
                "answer": "done",
            },
            trials=N,
            base=str(folder),
        )
        for number in range(trials // N)
    )
    return Suite(name="bench", tasks=tasks)


def main(argv: Sequence[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--n", type=int, default=N, help="trials a task; memory grows with tasks, not with trials")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--workspace", action="store_true")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        suite = repairs(given.trials, folder) if given.workspace else sums(given.trials, given.n)
        play(next(iter(schedule([suite], [VARIANT], 0))))  # imports and caches are warm
        meter = Meter()
        outcomes, _ = run(suite, folder / "run", given.backend, given.jobs)
        figures = meter.read(len(outcomes))
        size = (folder / "run" / "trials.sqlite").stat().st_size
        figures |= {"bytes_per_trial": round(size / len(outcomes)), "passed": outcomes.count("passed")}
        if given.workspace:
            figures["wall_ms_per_trial_serial"] = round(1000 * figures["wall_s"] / len(outcomes), 2)
            figures["bare_subprocess_ms"] = bare_subprocess_ms()
        report(figures)


def run(
    suite: Suite,
    folder: Path,
    name: str,
    jobs: int,
    *variants: Variant,
    baseline: str | None = None,
    nature: Nature | None = None,
) -> tuple[list[str], float]:
    """Play a suite as the command line does, under `VARIANT` where none is given.

    Gives the outcomes and the wall seconds that the trials took, the set-up of the run left out.
    """
    variants = variants or (VARIANT,)
    manifest = new_manifest(
        run="bench",
        created=time.time(),
        fingerprint=fingerprint([suite], variants, 0),
        suites=[suite],
        variants=variants,
        seed=0,
        origin=origin(),
        baseline=baseline,
        natures=dict.fromkeys((one.name for one in variants), nature) if nature else {},
    )
    outcomes: list[str] = []

    def told(record: TrialRecord) -> None:
        """Note an outcome."""
        outcomes.append(record.outcome)

    with RunStore.create(folder, manifest) as store:
        execution = Execution(play=play, backend=backend(name, jobs), store=store, told=told)
        start = time.perf_counter()
        execution.run(schedule([suite], variants, 0))
        store.flush()
        seconds = time.perf_counter() - start
    return outcomes, seconds


def bare_subprocess_ms() -> float:
    """Wall milliseconds of the grader's subprocess alone, the median of 50."""
    times = []
    for _ in range(50):
        start = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", "test -f done.txt"], check=False)
        times.append(time.perf_counter() - start)
    return round(1000 * sorted(times)[25], 2)


if __name__ == "__main__":
    main(sys.argv[1:])
