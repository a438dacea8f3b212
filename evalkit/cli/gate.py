"""`evalkit gate`: one verdict on a run, for CI. Exit code 1 means that a rule failed, and nothing else."""

from __future__ import annotations

from evalkit.cli.ci import quiet, ready, tell_ci
from evalkit.cli.conclude import CODES, applicable, refuse_replayed
from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values, share
from evalkit.cli.output import colours, say, say_json, tell, width
from evalkit.cli.reading import open_run
from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Gate
from evalkit.measure.compare import default_metrics
from evalkit.measure.gate import MAX_ERROR_RATE, judge
from evalkit.report.summary import gate_json
from evalkit.report.terminal import gate_text

COMMAND = Command("gate", "Judge a run: by --min and --max, else by the `gates:` of the config that it was run with.")
COMMAND.argument("run", help="a run folder, a name under reports/, or `latest`")
COMMAND.option("--min", help="a least value, such as 'pass^8>=0.7' or 'pass^8[react]>=0.7'", many=True, default=())
COMMAND.option("--max", help="a greatest value, such as 'cap_rate(turns)<=0.1'", many=True, default=())
COMMAND.option("--baseline", help="a variant of the run that no other may fall behind by more than --max-drop")
COMMAND.option("--max-drop", help="margin to the baseline, in the metric's unit", convert=share, default=0.1)
COMMAND.option("--rule", help="how a bound is held", choices=("lower", "point", "not-worse"), default="lower")
COMMAND.option("--on-inconclusive", help="what an inconclusive verdict counts as", choices=("fail", "warn", "pass"))
COMMAND.option("--max-error-rate", help="share of trials that may lack a result", convert=share, default=MAX_ERROR_RATE)
COMMAND.option("--confidence", help="confidence of each bound by itself", convert=share, default=0.95)
COMMAND.option("--junit", help="write a JUnit file here, a testcase per task and variant and one per rule")
COMMAND.switch("--github", help="write a step summary, outputs and annotations for a GitHub workflow")
COMMAND.switch("--per-task", help="hold each rule for every task by itself")
COMMAND.switch("--no-color", help="plain text")
COMMAND.switch("--json", help="one JSON object on stdout")


def run(values: Values) -> int:
    """Judge, say why, and give the verdict as the exit code."""
    if not 0.5 <= values.confidence < 1.0:
        raise ConfigurationError.of("--confidence", f"{values.confidence} is no confidence", "write 0.95")
    ready(values.junit, github=values.github)
    found = open_run(values.run)
    with found.store:
        refuse_replayed(found)
        rules: list[Gate | str] = [*_texts(values.min, ">="), *_texts(values.max, "<=")]
        if values.baseline is not None:
            rules += [
                Gate(metric=one, baseline=values.baseline, max_drop=values.max_drop)
                for one in default_metrics(found.table)
            ]
        rules = rules or list(applicable(found.about.gates, found.table.variants))
        verdict = judge(
            found.table,
            rules,
            kind=values.rule,
            per_task=values.per_task,
            confidence=values.confidence,
            max_error_rate=values.max_error_rate,
        )
        code = _code(CODES[verdict.verdict], values.on_inconclusive)
        shown = gate_json(verdict, int(code))
        with quiet(github=values.github, as_json=values.json):
            if values.json:
                say_json(shown)
            else:
                say(gate_text(shown, width(), color=colours(no_color=values.no_color)))
        tell_ci(found, shown, junit_path=values.junit, github=values.github, as_json=values.json)
    return code


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
