"""What a comparison cannot show, said once for all that it holds true of.

Invariant: works on the JSON objects of `compare --json` and `gate --json` alone; a limit is told with the metrics and variants that it is a limit of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.report.clean import clean_name
from evalkit.report.numbers import known, p_value

FEW = 30
"""With fewer tasks than this, intervals over other tasks of the kind are wide whatever the trials say."""


def ways_out(gate: Mapping[str, Any]) -> Iterator[str]:
    """Say what can be asked of few tasks where a gate (`gate RUN --json`) cannot decide what more tasks would do."""
    stuck = [
        rule
        for rule in gate["rules"]
        if (rule["verdict"], rule.get("kind"), rule.get("scope")) == ("inconclusive", "lower", "population")
        and rule.get("baseline") is None
        and rule.get("task") is None
        and known(rule.get("value"))
        and 0 < rule.get("tasks", 0) < FEW
    ]
    if stuck:
        yield (
            "Few tasks say little of others of their kind. Where these very tasks are what matters: --scope suite asks what they would do again, "
            "and more trials (-n 32) tell; --per-task judges each task by its own trials."
        )


def limits(comparisons: Sequence[Mapping[str, Any]], stops: Sequence[Mapping[str, Any]] = ()) -> Iterator[str]:
    """Say once which comparisons had too few differing tasks to be more than chance, and what can be asked of these instead.

    The least p of m differing tasks is 2/2^m: 5 % wants six.
    """
    level = max((1 - one.get("confidence", 0.95) for one in comparisons), default=0.05)
    telling = math.ceil(math.log2(2 / level) - 1e-9)
    stops = [one for one in stops if known(one.get("variation"))]
    few = [one for one in comparisons if known(one["difference"]) and one["better"] + one["worse"] < telling]
    short: dict[str, list[str]] = {}
    for one in few:
        short.setdefault(clean_name(one["metric"]), []).append(clean_name(one["variant"]))
    short["the stops"] = [clean_name(one["variant"]) for one in stops if one["differing"] < telling]
    every = {clean_name(one["variant"]) for one in (*comparisons, *stops)}
    alike: dict[tuple[str, ...], list[str]] = {}
    for what, names in short.items():
        if names:
            alike.setdefault(tuple(dict.fromkeys(names)), []).append(what)
    if alike:
        said = [
            f"{' and '.join(whats)} of {'every variant' if len(every) > 1 and set(names) == every else ', '.join(names)}"
            for names, whats in alike.items()
        ]
        yield f"Fewer than {telling} tasks differ in {'; in '.join(said)}: no such test can then reach {100 * level:.3g}%, whatever the difference."
    if any(known(one["difference"]) and one["tasks"] == 1 for one in comparisons):
        yield "One task: its difference is that of these trials, and says nothing of other tasks."
    if comparisons and {tuple(one.get("n", ())) for one in comparisons} == {(1, 1)}:
        yield "One trial a task: pass@1 alone can be compared, and not whether a task works again."
    within: dict[str, list[str]] = {}
    for one in few:
        if known(one.get("p_within")):
            within.setdefault(clean_name(one["variant"]), []).append(
                f"{clean_name(one['metric'])} p {p_value(one['p_within'])}"
            )
    if within:
        told = "; ".join(f"{name} {', '.join(values)}" for name, values in within.items())
        yield f"Another question, are the two identical on these very tasks (trials permuted within tasks, not adjusted): {told}."
