"""`evalkit serve-sim`: the simulated model behind a Messages API on loopback, with faults on demand.

Whatever speaks to a Messages API can be tried against it without a key: the real SDK, or your own agent with its base URL set.
"""

from __future__ import annotations

import json
import threading
from dataclasses import fields
from pathlib import Path

from evalkit.cli.converters import seconds, share, whole
from evalkit.cli.exits import Exit
from evalkit.cli.interrupt import Abandoned, interruptible
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say, tell
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Spec
from evalkit.load.suite import load_suite
from evalkit.parts import build
from evalkit.report.numbers import times
from evalkit.serve.faults import Faults
from evalkit.serve.messages import MessagesServer

SHARES = tuple(field.name for field in fields(Faults) if field.name not in ("retry_after", "slow_seconds", "seed"))

COMMAND = Command("serve-sim", "Serve the simulated model for the tasks of suites on 127.0.0.1, until interrupted.")
COMMAND.argument("suites", nargs="+", help="suites whose tasks it can do; a task is found by its prompt")
COMMAND.option("--port", help="port, 0 for a free one", convert=whole(0, 65_535), default=0)
COMMAND.option("--profile", help="rates of the model as JSON, such as '{\"slip\": 0.1}'")
COMMAND.option("--retry-after", help="seconds that a rate limit asks to wait", convert=seconds, default=1.0)
COMMAND.option("--slow-seconds", help="seconds that a slow answer takes", convert=seconds, default=1.0)
COMMAND.option("--seed", help="seed of the faults", convert=whole(0), default=0)
for name in SHARES:
    COMMAND.option(f"--{name.replace('_', '-')}", help="share of requests with this fault", convert=share, default=0.0)


def run(values: Values) -> int:
    """Serve until a signal."""
    tasks = [task for path in values.suites for task in load_suite(Path(path)).tasks]
    options = {"profile": _profile(values.profile)} if values.profile is not None else {}
    model = build("providers", Spec(kind="simulated", options=options))
    try:
        faults = Faults(
            retry_after=values.retry_after,
            slow_seconds=values.slow_seconds,
            seed=values.seed,
            **{name: values.values[name] for name in SHARES},
        )
    except ValueError as error:
        raise ConfigurationError.of("faults", str(error)) from error
    with MessagesServer(model.answer(tasks), faults, values.port) as server:
        say(server.url)
        tell(
            f"the simulated model answers for {times(len(tasks), 'task')}; set ANTHROPIC_BASE_URL={server.url}; Ctrl-C ends it"
        )
        ended = threading.Event()
        try:
            with interruptible(lambda _: ended.set(), grace=5.0):
                while not ended.wait(0.2):
                    pass
        except Abandoned:
            return Exit.INTERRUPTED
    return Exit.OK


def _profile(text: str) -> dict[str, object]:
    """Read the rates."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise ConfigurationError.of("--profile", f"cannot be read: {error}", 'write {"slip": 0.1}') from error
    if not isinstance(value, dict):
        raise ConfigurationError.of("--profile", "wants a JSON object", 'write {"slip": 0.1}')
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of its keys and values; raises `ValueError` for a key that stands there twice."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is given twice")
    return dict(pairs)
