"""Quantiles are values that occurred, and money is counted whole or not at all."""

from __future__ import annotations

from measure_tables import a_row, a_table, table_of

from evalkit.measure.amounts import Range, Spend, Spread, distribution, spend, spread

ONE = {"tasks": [("s", "a")], "variants": ["x"], "planned": 100}


def test_quantiles_are_the_smallest_values_that_enough_trials_do_not_exceed() -> None:
    table = table_of([a_row(("s", "a"), "x", index, "passed") for index in range(1, 101)], **ONE)
    assert spread(table, "x", "turns") == Spread(p50=50.0, p95=95.0, trials=100)
    assert spread(table, "x", "tokens") == Spread(p50=5000.0, p95=9500.0, trials=100)
    assert spread(table, "x", "seconds") == Spread(p50=25.0, p95=47.5, trials=100)


def test_trials_in_error_say_nothing_of_the_agent_but_cost_money() -> None:
    table = table_of(
        [a_row(("s", "a"), "x", index, outcome) for index, outcome in enumerate(["error", "passed"], 1)], **ONE
    )
    assert spread(table, "x", "turns") == Spread(p50=2.0, p95=2.0, trials=1)
    assert spend(table, "x") == Spend(total=0.02, per_trial=0.01, unknown=0)


def test_one_unknown_price_leaves_the_sum_unknown() -> None:
    rows = [a_row(("s", "a"), "x", 1, "passed"), a_row(("s", "a"), "x", 2, "passed", usd=None)]
    assert spend(table_of(rows, **ONE), "x") == Spend(total=None, per_trial=None, unknown=1)


def test_nothing_measured_has_no_quantiles_and_no_price() -> None:
    table = a_table({"x": [(0, 0, 0, 8)]})
    assert spread(table, "x", "turns") == Spread(p50=None, p95=None, trials=0)
    assert spend(table, "x") == Spend(total=0.0, per_trial=None, unknown=0)


def test_passed_and_failed_trials_have_their_own_distributions() -> None:
    rows = [a_row(("s", "a"), "x", index, "passed" if index <= 50 else "failed") for index in range(1, 100)]
    rows.append(a_row(("s", "a"), "x", 100, "error"))
    table = table_of(rows, **ONE)
    assert distribution(table, "x", "turns", "passed") == Range(values=(3.0, 13.0, 25.0, 38.0, 48.0), trials=50)
    assert distribution(table, "x", "turns", "failed") == Range(values=(53.0, 63.0, 75.0, 87.0, 97.0), trials=49)


def test_a_distribution_of_unknown_prices_or_of_no_trials_is_unknown() -> None:
    rows = [a_row(("s", "a"), "x", 1, "passed"), a_row(("s", "a"), "x", 2, "passed", usd=None)]
    assert distribution(table_of(rows, **ONE), "x", "usd", "passed") == Range(values=None, trials=2, unknown=1)
    assert distribution(table_of(rows, **ONE), "x", "usd", "failed") == Range(values=None, trials=0)
