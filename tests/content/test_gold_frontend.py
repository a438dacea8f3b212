"""The suite of pages: its references are what the tasks' designs say, its solutions pass, and nothing, slips and cheats fail."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from evalkit.core.message import JSON
from evalkit.core.plan import Caps, Spec, Task, Trial, Variant, trial_key
from evalkit.core.record import Acted, TrialRecord
from evalkit.load.suite import load_suite
from evalkit.load.together import load
from evalkit.parts.checks._pixels import Pixels, compare, read_png
from evalkit.parts.providers._simulate import read
from evalkit.run.play import play

SUITE = Path(__file__).parents[2] / "suites" / "frontend.yaml"
TASKS = {task.id: task for task in load_suite(SUITE).tasks}
FLAWLESS = Variant(name="flawless", provider=Spec(kind="simulated"), caps=Caps(turns=30))
SLIPS = [
    (name, at)
    for name, task in TASKS.items()
    for at, step in enumerate(read(task.simulate, name).steps)
    if step.tool == "edit_file"
]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

DRAWN: dict[str, tuple[tuple[int, int], str, list[tuple[int, int, int, int, str]]]] = {
    "tiles": (
        (480, 270),
        "#f4f4f0",
        [
            (0, 0, 96, 270, "#22313f"),
            (120, 24, 100, 80, "#2a7f62"),
            (238, 24, 100, 80, "#c8553d"),
            (356, 24, 100, 80, "#e0a458"),
            (120, 128, 336, 118, "#ffffff"),
        ],
    ),
    "badge": ((320, 200), "#ffffff", [(112, 52, 96, 96, "#3d5a80"), (0, 184, 320, 16, "#293241")]),
    "bars": (
        (400, 240),
        "#ffffff",
        [(20, 20 + 52 * row, 360, 32, "#e6e6e6") for row in range(4)]
        + [
            (20, 20, 360, 32, "#4f772d"),
            (20, 72, 270, 32, "#4f772d"),
            (20, 124, 144, 32, "#f4a259"),
            (20, 176, 54, 32, "#f4a259"),
        ],
    ),
}
"""The designs, drawn by hand: size, background, and boxes by left, top, width, height and colour."""


def drawn(name: str) -> Pixels:
    """Draw a design; the badge is a disc around the corner of the button."""
    size, background, boxes = DRAWN[name]
    image = Image.new("RGB", size, background)
    pen = ImageDraw.Draw(image)
    for left, top, width, height, colour in boxes:
        pen.rectangle((left, top, left + width - 1, top + height - 1), fill=colour)
    pixels = np.asarray(image).copy()
    if name == "badge":
        y, x = np.mgrid[: size[1], : size[0]] + 0.5
        pixels[(x - 208) ** 2 + (y - 52) ** 2 <= 16**2] = (0xEE, 0x6C, 0x4D)
    return pixels


def played(task: Task, steps: Sequence[Mapping[str, JSON]] | None = None, answer: str = "Done.") -> TrialRecord:
    """Play a task once, by its own solution or by other steps; our own world must hold."""
    if steps is not None:
        told = [{"wrong": {"slipped": True}, **step} for step in steps]
        task = replace(task, simulate={"steps": told, "answer": answer})
    key = trial_key(task, task.digest, FLAWLESS, FLAWLESS.digest, 1)
    record = play(Trial(key=key, task=task, variant=FLAWLESS, seed=1))
    assert record.outcome != "error", record.error
    return record


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_is_what_the_design_says(name: str) -> None:
    reference = read_png((SUITE.parent / "frontend" / "references" / f"{name}.png").read_bytes())
    rim = 200 if name == "badge" else 0
    assert compare(reference, drawn(name), 0).count <= rim
    assert compare(reference, drawn(name), 128).count == 0


def test_the_suite_names_its_configs() -> None:
    (suite,), config = load([SUITE], [])
    assert config.baseline == "react"
    assert SUITE.read_text().startswith("# yaml-language-server: $schema=")
    assert all(task.simulate for task in suite.tasks)


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("name", TASKS)
def test_the_solution_passes_and_its_facts_are_where_they_say(name: str) -> None:
    record = played(TASKS[name])
    assert (record.outcome, record.stop.reason) == ("passed", "finished"), record.events[-1]
    results = [event.result.content for event in record.events if isinstance(event, Acted)]
    for step, result in zip(read(TASKS[name].simulate, name).steps, results, strict=True):
        assert all(text in result for text in step.shows), result
        assert not any(text in TASKS[name].prompt for text in step.shows)


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("name", TASKS)
def test_doing_nothing_fails(name: str) -> None:
    nothing = played(TASKS[name], [])
    assert (nothing.graded, nothing.stop.reason) == ("fail", "finished")


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(("name", "at"), SLIPS, ids=[f"{name}-{at}" for name, at in SLIPS])
def test_a_slip_of_any_edit_fails(name: str, at: int) -> None:
    steps = [{"tool": step.tool, "args": dict(step.args)} for step in read(TASKS[name].simulate, name).steps]
    slip = read(TASKS[name].simulate, name).steps[at].slipped
    assert slip != steps[at]["args"]
    steps[at]["args"] = slip
    assert played(TASKS[name], steps).graded == "fail"


@pytest.mark.browser
@needs_browser
def test_a_slip_can_be_mended() -> None:
    solution = read(TASKS["badge"].simulate, "badge").steps
    steps = [
        {"tool": step.tool, "args": args}
        for step in solution
        for args in ((step.slipped, step.mended) if step.mend is not None else (dict(step.args),))
    ]
    assert played(TASKS["badge"], steps).outcome == "passed"


def test_changing_what_was_to_stay_fails() -> None:
    """The state check alone tells, so it is asked alone: no picture is wanted for it."""
    task = replace(TASKS["bars"], graders=TASKS["bars"].graders[1:])
    edit = {"tool": "edit_file", "args": {"path": "jobs.js", "old": "75", "new": "76"}}
    assert played(task, [edit]).graded == "fail"
    assert played(task, []).graded == "pass"
