"""What is told of a run while it goes on."""

from __future__ import annotations

import pytest

from evalkit.cli.progress import Counts, Live, Plain, Silent, progress
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


def test_an_unknown_price_counts_nothing_and_breaks_nothing() -> None:
    counts = Counts(planned=1, clock=ManualClock())
    counts.add(record(usd=None))
    assert counts.usd == 0.0


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
