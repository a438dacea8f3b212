"""What is left of the SDK's speed when trials go through it: calls a second of whole, kept trials against the bare SDK in a loop.

    python -m benchmarks.sdk [--trials 512] [--jobs 32] [--rounds 3]

Both ask the same server on loopback (a process of its own) the same two questions a trial, from the same number of threads and through one
shared client; they take turns, and the ratio of the medians counts. The target is at least 0.9.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.meter import Meter, report
from benchmarks.overhead import VARIANT, run, sums
from evalkit.core.plan import Spec, Suite, Task
from evalkit.parts import build
from evalkit.run.play import play
from evalkit.run.schedule import schedule
from evalkit.serve.messages import MessagesServer

CALLS = 2
MODEL = "bench"


def main(argv: Sequence[str] | None = None) -> None:
    """Run both in turn and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=512)
    parser.add_argument("--jobs", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    suite = sums(given.trials)
    if given.serve:
        serve(suite)
        return
    bare, ours, passed = [], [], 0
    bare_cpu, our_cpu = [], []
    with served(given.trials) as url:
        options = {"model": MODEL, "base_url": url, "usd_price": {"input": 0.0, "output": 0.0}}
        variant = replace(VARIANT, provider=Spec(kind="anthropic", options=options))
        play(next(iter(schedule([suite], [variant], 0))))  # the SDK is loaded, and the client made
        client = bare_client(url)
        for _ in range(given.rounds):
            meter = Meter()
            bare.append(through_bare(client, suite, given.jobs))
            bare_cpu.append(meter.read(given.trials)["ms_cpu_per_trial"])
            with tempfile.TemporaryDirectory() as scratch:
                meter = Meter()
                outcomes, seconds = run(suite, Path(scratch) / "run", "threads", given.jobs, variant)
                figures = meter.read(len(outcomes))
            passed += outcomes.count("passed")
            ours.append(CALLS * len(outcomes) / seconds)
            our_cpu.append(figures["ms_cpu_per_trial"])
    report(
        figures
        | {
            "ms_cpu_per_trial": round(statistics.median(our_cpu), 3),
            "bare_ms_cpu_per_trial": round(statistics.median(bare_cpu), 3),
            "calls_per_s": round(statistics.median(ours), 1),
            "bare_calls_per_s": round(statistics.median(bare), 1),
            "of_bare": round(statistics.median(ours) / statistics.median(bare), 3),
            "passed": passed,
        }
    )


def serve(suite: Suite) -> None:
    """Serve the simulated model for a suite until standard input ends; the address is the first line."""
    model = build("providers", VARIANT.provider)
    with MessagesServer(model.answer(suite.tasks)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


@contextmanager
def served(trials: int) -> Iterator[str]:
    """The server in a process of its own, so that its work takes no turn from the callers' interpreter."""
    words = [sys.executable, "-m", "benchmarks.sdk", "--serve", "--trials", str(trials)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server has no pipes")
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def bare_client(url: str) -> Any:
    """The SDK's client as its users make it, without retries."""
    import anthropic  # noqa: PLC0415  # loaded by the first trial anyhow

    http = anthropic.DefaultHttpxClient(trust_env=False)
    return anthropic.Anthropic(api_key="none", base_url=url, max_retries=0, http_client=http)


def through_bare(client: Any, suite: Suite, jobs: int) -> float:
    """Calls a second of the SDK alone: ask, run the tool, ask again; nothing is kept."""
    tool = {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
    }

    def trial(task: Task) -> None:
        """One trial, by hand."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": task.prompt}]
        usual = {"model": MODEL, "max_tokens": 4096, "tools": [tool]}
        asked = client.messages.create(messages=messages, **usual)
        call = next(block for block in asked.content if block.type == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": str(call.input["x"] + call.input["y"])}
        messages.append({"role": "assistant", "content": asked.content})
        client.messages.create(messages=[*messages, {"role": "user", "content": [result]}], **usual)

    tasks = [task for task in suite.tasks for _ in range(task.trials)]
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(trial, tasks))
    return CALLS * len(tasks) / (time.perf_counter() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
