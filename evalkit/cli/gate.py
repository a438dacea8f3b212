"""`evalkit gate`: one verdict on a run, for CI. Exit code 1 means that a rule failed, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, get_args

from evalkit.cli.against import Facing, baseline_run, facing
from evalkit.cli.ci import quiet, ready, tell_ci
from evalkit.cli.conclude import CODES, applicable, refuse_replayed
from evalkit.cli.converters import share
from evalkit.cli.exits import Exit
from evalkit.cli.intervals import add_confidence, add_interval, asked
from evalkit.cli.options import Command, Values
from evalkit.cli.output import colours, say, say_json, tell, width
from evalkit.cli.reading import Run, held_run
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Gate
from evalkit.measure.compare import default_metrics
from evalkit.measure.gate import MAX_ERROR_RATE, Judgement, judge, together
from evalkit.measure.rule import MARGIN, Kind, all_rules
from evalkit.measure.table import Table
from evalkit.report.early import early
from evalkit.report.summary import gate_json
from evalkit.report.terminal import gate_text

COMMAND = Command("gate", "Judge a run: by --min and --max, else by the `gates:` of the config that it was run with.")
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`, the newest there")
COMMAND.option("--min", help="a least value, such as 'pass^8>=0.7' or 'pass^8[react]>=0.7'", many=True, default=())
COMMAND.option("--max", help="a greatest value, such as 'cap_rate(turns)<=0.1'", many=True, default=())
COMMAND.option(
    "--baseline", help="a variant of the run, or another run, that must not be fallen behind by more than --max-drop"
)
COMMAND.option("--baseline-variant", help="the variant of a --baseline run; else that of the same name")
COMMAND.option("--variant", help="hold only this variant to the baseline", many=True, default=())
COMMAND.option("--max-drop", help="margin to the baseline, in the metric's unit", convert=share, default=MARGIN)
COMMAND.switch("--shared", help="where the tasks of a --baseline run are unlike, judge those that both have")
COMMAND.option(
    "--rule",
    help="how a bound is held [as the config's gate says, else lower]; `anytime` by evidence that may be looked at while the run goes on",
    choices=get_args(Kind),
)
COMMAND.option("--on-inconclusive", help="what an inconclusive verdict counts as", choices=("fail", "warn", "pass"))
COMMAND.option("--max-error-rate", help="share of trials that may lack a result", convert=share, default=MAX_ERROR_RATE)
add_confidence(COMMAND, "each bound by itself")
add_interval(COMMAND)
COMMAND.option("--junit", help="write a JUnit file here, a testcase per task and variant and one per rule")
COMMAND.switch("--github", help="write a step summary, outputs and annotations for a GitHub workflow")
COMMAND.switch("--per-task", help="hold each rule for every task by itself")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Judge, say why, and give the verdict as the exit code."""
    with ExitStack() as stack:
        found = held_run(stack, values.run)
        asked(values, sides=1)
        ready(values.junit, github=values.github)
        _check(values)
        refuse_replayed(found)
        verdict, other = _judged(values, found, stack)
        code = _code(CODES[verdict.verdict], values.on_inconclusive)
        notes = [*early(found.table), *(() if other is None else other.notes)]
        runs = None if other is None else other.runs
        shown = gate_json(verdict, int(code), notes=notes, runs=runs)
        with quiet(github=values.github, as_json=values.json):
            if values.json:
                say_json(shown)
            else:
                say(gate_text(shown, width(), color=colours(no_color=values.no_color)))
        tell_ci(found, shown, junit_path=values.junit, github=values.github, as_json=values.json)
    return code


def _check(values: Values) -> None:
    """Refuse flags that would do nothing."""
    if values.baseline is not None:
        return
    for name in ("max_drop", "variant", "baseline_variant", "shared"):
        if values.origins[name] == "flag":
            flag = f"--{name.replace('_', '-')}"
            raise ConfigurationError.of(
                flag, "does nothing without --baseline", "name a variant or a run to hold this one to"
            )


def _check_bounds(values: Values, rules: Sequence[Gate | str]) -> None:
    """Refuse a scope or method where no rule has bounds that these could change: drops and single tasks have their own."""
    given = next((name for name in ("scope", "method") if values.origins[name] == "flag"), None)
    if given is None:
        return
    bounded = (
        []
        if values.per_task
        else [rule for rule in all_rules(rules, kind=values.rule) if rule.metric.unit == "share"]
        if rules
        else []
    )
    if not any(rule.baseline is None and rule.task is None and rule.kind != "anytime" for rule in bounded):
        what = "does nothing here: no rule bounds a share of the whole suite (drops, single tasks and evidence have bounds of their own)"
        raise ConfigurationError.of(f"--{given}", what, f"leave --{given} away, or give such a rule")


def _judged(values: Values, found: Run, stack: ExitStack) -> tuple[Judgement, Facing | None]:
    """Judge by the flags, else by the config's gates; gives the two runs where one is held against another."""
    how: dict[str, Any] = {
        "kind": values.rule,
        "per_task": values.per_task,
        "confidence": values.confidence,
        "scope": values.scope,
        "method": values.method,
        "max_error_rate": values.max_error_rate,
    }
    rules: list[Gate | str] = [*_texts(values.min, ">="), *_texts(values.max, "<=")]
    if values.baseline is None:
        rules = rules or list(applicable(found.about.gates, found.table.variants))
    _check_bounds(values, rules)
    if values.baseline is None:
        return judge(found.table, rules, **how), None
    reference = baseline_run(found, values.baseline)
    if reference is None:
        if values.shared or values.baseline_variant is not None:
            flag = "--shared" if values.shared else "--baseline-variant"
            raise ConfigurationError.of(flag, f"{values.baseline} is a variant of the run itself", f"leave {flag} away")
        mine: list[str | None] = [found.table.variants[found.table.find_variant(name)] for name in values.variant]
        drops = _drops(found.table, values.max_drop, [(name, values.baseline) for name in mine or [None]])
        return judge(found.table, [*rules, *drops], **how), None
    base = held_run(stack, reference)
    refuse_replayed(base)
    other = facing(
        found,
        base,
        variants=values.variant,
        baseline=values.baseline_variant,
        shared=values.shared,
    )
    against = judge(other.table, _drops(other.table, values.max_drop, other.pairs), **how)
    return together([judge(found.table, rules, **how), against] if rules else [against]), other


def _drops(table: Table, margin: float, pairs: Sequence[tuple[str | None, str]]) -> list[Gate]:
    """The rules that hold variants (None: every one) to their baselines."""
    return [
        Gate(metric=metric, variant=variant, baseline=baseline, max_drop=margin)
        for variant, baseline in pairs
        for metric in default_metrics(table)
    ]


def _code(code: Exit, on_inconclusive: str | None) -> Exit:
    """What an inconclusive verdict is to count as: as said, else as itself."""
    if code is not Exit.INCONCLUSIVE or on_inconclusive is None:
        return code
    tell(
        f"the gate is inconclusive and counts as {'failed' if on_inconclusive == 'fail' else 'passed'}: --on-inconclusive"
    )
    return Exit.GATE_FAILED if on_inconclusive == "fail" else Exit.OK


def _texts(given: list[str], sense: str) -> list[str]:
    """Hold the rules of a flag to its direction."""
    other = "<=" if sense == ">=" else ">="
    for text in given:
        if other in text:
            flag, right = ("--min", "--max") if sense == ">=" else ("--max", "--min")
            raise ConfigurationError.of(f"{flag} {text!r}", f"wants {sense}", f"give it as {right}")
    return list(given)
