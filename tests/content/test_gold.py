"""The shipped suites: what they call a solution passes, nothing and almost right fail, and their facts are where they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.core.message import JSON
from evalkit.core.plan import Caps, Retries, Spec, Task, Trial, Variant, trial_key
from evalkit.core.record import Acted, TrialRecord
from evalkit.engine.ground import TrialGround
from evalkit.engine.toolbox import toolbox
from evalkit.load.suite import load_suite
from evalkit.load.together import load
from evalkit.parts.providers._simulate import Simulate, Step, read
from evalkit.run.play import build_parts, play

ROOT = Path(__file__).parent.parent.parent
ELSEWHERE = ("frontend", "local")
"""The suite that wants a browser, whose solutions `test_gold_frontend.py` has, and the one that only a real model plays."""

SUITES = sorted(path for path in (ROOT / "suites").glob("*.yaml") if path.stem not in ELSEWHERE)
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
TASKS = {f"{task.suite}/{task.id}": task for path in SUITES for task in load_suite(path).tasks}
FLAWLESS = Variant(
    name="flawless", provider=Spec(kind="simulated"), caps=Caps(turns=30), retries=Retries(base=0.001, longest=0.001)
)

COMMAND = "run_command"

each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def played(task: Task, variant: Variant = FLAWLESS) -> TrialRecord:
    """Play a task once; our own world must hold."""
    key = trial_key(task, task.digest, variant, variant.digest, 1)
    record = play(Trial(key=key, task=task, variant=variant, seed=1))
    assert record.outcome != "error", record.error
    return record


def told(record: TrialRecord) -> tuple[object, ...]:
    """What of a record may not differ between two tries: all that the model did and what came of it."""
    calls = [(event.call, event.error) for event in record.events if isinstance(event, Acted)]
    return calls, record.outcome, record.stop.reason, record.answer, record.tally.turns


def solution(task: Task) -> Simulate:
    """How a task says that it is solved."""
    return read(task.simulate, task.id)


def calls(steps: Sequence[tuple[str, Mapping[str, JSON], bool]], answer: str) -> dict[str, JSON]:
    """Write a solution of bare calls: nothing is needed, shown or expected, and no slip looks like another step."""
    slip = {"wrong": {"slipped": True}}
    bare = [{"tool": tool, "args": dict(args), "together": together, **slip} for tool, args, together in steps]
    return {"steps": bare, "answer": answer}


def bare(step: Step) -> tuple[str, Mapping[str, JSON], bool]:
    """A step without its needs."""
    return step.tool, step.args, step.together


def writing(task: Task) -> list[int]:
    """The steps that change the world; running a command, which may do so, is here to run tests."""
    parts = build_parts(task, FLAWLESS)
    with TrialGround(Path(task.base)) as ground:
        world = parts.environment.open(ground)
        declared = [(tool.spec(Path(task.base)), tool) for tool in parts.tools]
        specs = toolbox(world, "", declared, FLAWLESS.tools).specs
        world.close()
    return [at for at, step in enumerate(solution(task).steps) if specs[step.tool].writes and step.tool != COMMAND]


WRITES = [(name, at) for name, task in TASKS.items() for at in writing(task)]
SLIPS = [
    (name, at)
    for name, task in TASKS.items()
    for at, step in enumerate(solution(task).steps)
    if step.mend is not None or (at in writing(task) and any(later.expect for later in solution(task).steps[at:]))
]


@each_task
def test_the_solution_passes_and_stops_by_itself(task: Task) -> None:
    record = played(task)
    assert (record.outcome, record.stop.reason) == ("passed", "finished"), record.events[-1]
    assert record.tally.tool_errors == 0


@each_task
def test_doing_nothing_fails(task: Task) -> None:
    nothing = played(replace(task, simulate={"steps": [], "answer": "Done."}))
    assert (nothing.outcome, nothing.stop.reason) == ("failed", "finished")


@each_task
def test_the_answer_alone_is_not_enough_where_there_was_something_to_do(task: Task) -> None:
    alone = played(replace(task, simulate={"steps": [], "answer": solution(task).answer}))
    assert alone.outcome == ("failed" if writing(task) else "passed")


@each_task
def test_a_wrong_answer_fails_where_the_answer_counts(task: Task) -> None:
    if not writing(task):
        steps = [bare(step) for step in solution(task).steps]
        assert played(replace(task, simulate=calls(steps, solution(task).slipped_answer))).outcome == "failed"


@pytest.mark.parametrize(("name", "at"), WRITES, ids=[f"{name}-{at}" for name, at in WRITES])
def test_a_slip_of_any_writing_step_fails(name: str, at: int) -> None:
    task, steps = TASKS[name], solution(TASKS[name]).steps
    slipped = [bare(step) for step in steps]
    slipped[at] = (steps[at].tool, steps[at].slipped, steps[at].together)
    assert slipped[at] != bare(steps[at])
    record = played(replace(task, simulate=calls(slipped, solution(task).answer)))
    assert record.graded == "fail"


@pytest.mark.parametrize(("name", "at"), SLIPS, ids=[f"{name}-{at}" for name, at in SLIPS])
def test_a_slip_that_shows_can_be_mended(name: str, at: int) -> None:
    task, steps = TASKS[name], solution(TASKS[name]).steps
    mended = [bare(step) for step in steps]
    mended[at : at + 1] = [
        (steps[at].tool, steps[at].slipped, steps[at].together),
        (steps[at].tool, steps[at].mended, False),
    ]
    record = played(replace(task, simulate=calls(mended, solution(task).answer)))
    assert record.outcome == "passed"


@each_task
def test_facts_are_shown_by_the_steps_that_say_so_and_stand_in_no_prompt(task: Task) -> None:
    results = [event.result.content for event in played(task).events if isinstance(event, Acted)]
    for step, result in zip(solution(task).steps, results, strict=True):
        assert all(text in result for text in step.shows), result
        assert step.expect in result
        assert not any(text in task.prompt for text in step.shows)


@each_task
def test_a_trial_played_again_goes_the_same_way(task: Task) -> None:
    rates = {"slip": 0.2, "malformed": 0.1, "spin": 0.1, "rot": 0.1, "premature": 0.05, "heed": 0.8}
    flawed = replace(FLAWLESS, provider=Spec(kind="simulated", options={"profile": rates}), caps=Caps(turns=12))
    one, other = played(task, flawed), played(task, flawed)
    assert one.seed == other.seed
    assert told(one) == told(other)


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_every_suite_runs_as_it_is(path: Path) -> None:
    suites, config = load([path], [])
    assert config.baseline in {variant.name for variant in config.variants}
    assert len(config.variants) >= 3
    assert len({str(variant.provider) for variant in config.variants}) == 1
    assert path.read_text().startswith("# yaml-language-server: $schema=")
    assert all(task.simulate for suite in suites for task in suite.tasks)


def test_one_name_is_one_design_in_all_shipped_configs() -> None:
    simulated = [path for path in CONFIGS if path.stem not in ("live", "local")]
    found = [replace(one, source="", base=".") for path in simulated for one in load(SUITES[:1], [path])[1].variants]
    for variant in found:
        assert all(variant == one for one in found if one.name == variant.name)
    assert len({variant.digest for variant in found}) == len({variant.name for variant in found})


def test_the_live_config_holds_the_same_designs_on_a_real_model_with_a_dollar_cap() -> None:
    _, simulated = load(SUITES[:1], [ROOT / "configs/quickstart.yaml"])
    _, live = load(SUITES[:1], [ROOT / "configs/live.yaml"])
    for one, other in zip(simulated.variants, live.variants, strict=True):
        assert other.provider.kind == "anthropic"
        assert other.caps.usd
        assert replace(other, caps=one.caps, provider=one.provider, source=one.source) == one
