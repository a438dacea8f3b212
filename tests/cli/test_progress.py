"""What is told of a run while it goes on."""

from __future__ import annotations

import pytest

from evalkit.cli.progress import Counts, Live, Plain, Silent, progress
from evalkit.cli.sofar import SoFar
from evalkit.core.clock import ManualClock
from evalkit.core.plan import TrialKey
from evalkit.core.record import Outcome, Stop, Tally, TrialRecord


def record(outcome: Outcome = "passed", usd: float | None = 0.25) -> TrialRecord:
    """A record of a trial that cost something."""
    key = TrialKey(suite="s", task="t", variant="v", index=1, task_digest="", variant_digest="")
    return TrialRecord(
        key=key, seed=0, outcome=outcome, stop=Stop(reason="finished"), graded=None, answer="",
        tally=Tally(usd=usd), nature="simulated", started=0.0, seconds=0.0,
    )  # fmt: skip


def test_a_line_each_ten_seconds_and_one_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    with Plain(Counts(planned=4, clock=clock)) as told:
        told(record())
        assert capsys.readouterr().err == ""
        clock.sleep(10.0)
        told(record("error"))
        assert capsys.readouterr().err == "1/4 trials  error 1 passed 1  $0.5000  0.2/s  15 s left\n"
        told(record("failed"))
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err.startswith("2/4 trials  error 1 failed 1 passed 1")


def test_an_unknown_price_is_said_to_be_unknown() -> None:
    counts = Counts(planned=2, clock=ManualClock())
    counts.add(record(usd=None))
    assert "  cost unknown  " in counts.line()
    counts.add(record(usd=0.5))
    assert "  $0.5000 and 1 trial of unknown cost  " in counts.line()


def test_what_pass_n_is_so_far_is_told_with_how_many_tasks_it_is_of(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    counts = Counts(planned=2, clock=clock, so_far=SoFar.of([("s", "t", "v"), ("s", "u", "v")]))
    with Plain(counts) as told:
        clock.sleep(10.0)
        told(record())
    assert "\n  pass^1 so far: v 1.00 of 1/2 tasks\n" in capsys.readouterr().err
    with Live(counts) as live:
        table = live._draw().renderables[2]
    assert [column.header for column in table.columns][-1] == "pass^1 so far"
    assert list(table.columns[0].cells) == ["v"] or table.row_count == 1
    many = Counts(planned=6, clock=clock, so_far=SoFar.of([("s", "t", f"v{place}") for place in range(6)]))
    assert many.preview().endswith(" · 2 more variants")
    assert Counts(planned=1, clock=clock).preview() == ""


def test_none_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("none", Counts(planned=1, clock=ManualClock())) as told:
        told(record())
    assert isinstance(told, Silent)
    assert capsys.readouterr() == ("", "")


def test_elsewhere_than_on_a_terminal_auto_is_plain() -> None:
    assert type(progress("auto", Counts(planned=1, clock=ManualClock()))) is Plain


def test_the_live_view_draws_variants_and_stops(capsys: pytest.CaptureFixture[str]) -> None:
    with Live(Counts(planned=2, clock=ManualClock())) as told:
        told(record())
        drawn = told._draw()
    assert [type(part).__name__ for part in drawn.renderables] == ["ProgressBar", "Text", "Table", "Text"]
    assert "finished 1" in drawn.renderables[-1].plain
    assert "1/2 trials" in capsys.readouterr().err
