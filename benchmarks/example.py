"""Makes the report that is shown as an example: the quickstart with its simulated model, on a clock that stands still.

    python -m benchmarks.example [FOLDER]        # else reports/example

Invariant: the same bytes each time with the same libraries, which the page names. What an ordinary run takes from where it happens is given
here: trials are played one after the other, the stamp is fixed, no commit is named, and no trial takes any time, for the time of a simulated
model says nothing.
"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.meter import report
from evalkit import __version__
from evalkit.cli.conclude import summary_of, write_report
from evalkit.cli.reading import numbers
from evalkit.core.clock import ManualClock
from evalkit.core.plan import Trial
from evalkit.core.record import TrialRecord
from evalkit.engine.trial import play_trial
from evalkit.load import load
from evalkit.run.backends import backend
from evalkit.run.execute import Execution
from evalkit.run.play import parts_of
from evalkit.run.schedule import schedule
from evalkit.store.manifest import fingerprint, new_manifest
from evalkit.store.origin import Origin
from evalkit.store.runstore import RunStore

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "reports" / "example"
SUITE = ROOT / "suites" / "quickstart.yaml"
STAMP = 1_767_225_600.0
"""1 January 2026, UTC."""


def play(trial: Trial) -> TrialRecord:
    """Play a trial on a clock of its own that stands still."""
    return play_trial(trial, parts_of(trial), ManualClock(now=STAMP))


def libraries() -> dict[str, str]:
    """What the bytes of a page depend on, beside evalkit itself."""
    names = ("jinja2", "matplotlib", "numpy", "scipy")
    return {name: version(name) for name in names} | {"zlib": zlib.ZLIB_RUNTIME_VERSION}


def make(folder: Path) -> Path:
    """Run the quickstart and put its report into a folder; give the report's path."""
    suites, config = load([SUITE], [])
    manifest = new_manifest(
        run="example",
        created=STAMP,
        fingerprint=fingerprint(suites, config.variants, 0),
        suites=suites,
        variants=config.variants,
        seed=0,
        origin=Origin(
            evalkit=__version__,
            python=platform.python_version(),
            system=platform.system(),
            cpus=1,
            packages=libraries(),
            command="python -m benchmarks.example",
        ),
        baseline=config.baseline,
        gates=config.gates,
        natures=dict.fromkeys((one.name for one in config.variants), "simulated"),
    )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, RunStore.create(Path(scratch) / "example", manifest) as store:
        execution = Execution(play=play, backend=backend("serial", 1), store=store, told=lambda _: None)
        execution.run(schedule(suites, config.variants, 0))
        store.flush()
        found = numbers(store)
        return Path(shutil.copy(write_report(found, summary_of(found)), folder))


def main(argv: Sequence[str] | None = None) -> None:
    """Make it and say how large it is."""
    made = make(Path(argv[0]) if argv else FOLDER)
    report({"bytes": made.stat().st_size, "libraries": libraries()})


if __name__ == "__main__":
    main(sys.argv[1:])
