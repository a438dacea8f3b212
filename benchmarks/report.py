"""What the page of a large run costs to make and to open: trials of a shipped suite with all their traces.

    python -m benchmarks.report [--trials 4000] [--suite support-desk] [--config quickstart] [--keep FOLDER]

The suite's tasks are repeated under new names until there are enough trials, eight of each task and variant; they are run with the
simulated model, kept as `evalkit run` keeps them, and `evalkit report` makes the page, whose CPU seconds count whole. Then a browser without
a window opens it, `--times` over: `open_s` is the median time from the start of the navigation until all sections are laid out and the first
trials are listed. Without a browser or playwright that is null. Targets at 4,000 trials: 5 s CPU, 10 MB, 1 s, 5,000 elements.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.meter import Meter
from benchmarks.meter import report as told
from benchmarks.overhead import N, run
from evalkit.core.plan import Suite
from evalkit.load import load

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")

LAID_OUT = """() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done({
  open_s: performance.now() / 1000,
  sections: [...document.querySelectorAll("section:not([hidden])")].filter((one) => one.getBoundingClientRect().height > 0).length,
  elements: document.querySelectorAll("*").length,
  rows: document.querySelectorAll("#rows tr").length,
}))))"""
"""Asked once the trials are listed: the time since the navigation began, after the next frame has been painted."""


def repeated(suite: Suite, trials: int, variants: int) -> Suite:
    """The suite with its tasks again and again, each time under new names, until there are so many trials."""
    wanted = max(1, trials // (N * variants))
    tasks = [
        replace(suite.tasks[number % len(suite.tasks)], id=f"{suite.tasks[number % len(suite.tasks)].id}-{number:03d}")
        for number in range(wanted)
    ]
    return replace(suite, tasks=tuple(replace(task, trials=N) for task in tasks))


def written(folder: Path) -> dict[str, Any]:
    """Let the command write the page; its CPU seconds and how large the page is."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "evalkit", "report", str(folder)], cwd=ROOT, stdout=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"report_cpu_s": round(spent, 3), "page_mb": round((folder / "report.html").stat().st_size / 1e6, 3)}


def opened(page: Path, times: int) -> dict[str, Any]:
    """Open the page in a browser that starts afresh for each time; medians, or null where there is no browser."""
    unknown = {"open_s": None, "elements": None, "sections": None, "rows": None}
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only where a browser is at hand
    except ImportError:
        return unknown
    if binary is None:
        return unknown
    sandbox = () if os.geteuid() else ("--no-sandbox",)
    seen = []
    with sync_playwright() as running:
        for _ in range(times):
            browser = running.chromium.launch(executable_path=binary, args=[*FLAGS, *sandbox])
            shown = browser.new_page(viewport={"width": 1280, "height": 900})
            shown.goto(page.as_uri())
            shown.wait_for_selector("#status:not(:empty)")
            seen.append(shown.evaluate(LAID_OUT))
            browser.close()
    first: dict[str, Any] = seen[0]
    return first | {"open_s": round(statistics.median(one["open_s"] for one in seen), 3)}


def main(argv: Sequence[str] | None = None) -> None:
    """Run, write, open and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--suite", default="support-desk")
    parser.add_argument("--config", default="quickstart")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="leave the run in this new folder")
    given = parser.parse_args(argv)
    suites, config = load([ROOT / "suites" / f"{given.suite}.yaml"], [ROOT / "configs" / f"{given.config}.yaml"])
    suite = repeated(suites[0], given.trials, len(config.variants))
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch) / "run"
        meter = Meter()
        outcomes, _ = run(suite, folder, "threads", 8, *config.variants, baseline=config.baseline, nature="simulated")
        figures = {"run_" + name: value for name, value in meter.read(len(outcomes)).items() if name.endswith("cpu_s")}
        figures = {
            "trials": len(outcomes),
            "variants": len(config.variants),
            "passed": outcomes.count("passed"),
        } | figures
        told(figures | written(folder) | opened(folder / "report.html", given.times))


if __name__ == "__main__":
    main(sys.argv[1:])
