"""Each fault of a provider through the real SDK and a real server, over a whole trial: how it ends, and what is on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from fault_server import Step, error, said, serving

from evalkit.core.plan import Caps, Retries, Spec, Task, Trial, Variant, trial_key
from evalkit.core.record import Asked, Attempt, TrialRecord, Unanswered
from evalkit.run.play import play

GOOD = said()
CUT_CALL = said(content=[{"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}], stop_reason="max_tokens")
RATE = {"retry-after": "0.01"}

HEALING = {
    "429 with a short retry-after": error(429, "rate_limit_error", headers=RATE),
    "529": error(529, "overloaded_error"),
    "500": error(500, "api_error"),
    "timeout": replace(GOOD, end="late"),
    "reset mid-body": replace(GOOD, end="reset"),
    "truncated 200": replace(GOOD, end="cut"),
    "HTML 200": Step(headers={"content-type": "text/html"}, body=b"<!DOCTYPE html><p>sorry"),
    "wrong-shape 200": Step(body=b'{"ok": true}'),
    "empty 200": Step(),
}

LASTING = {
    "429 with a retry-after of an hour": (error(429, "rate_limit_error", headers={"retry-after": "3600"}), False),
    "spend-limit 429": (
        error(429, "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
        True,
    ),
    "501": (error(501, "api_error"), False),
    "invalid key": (error(401, "authentication_error"), True),
    "invalid history": (error(400, "invalid_request_error", "messages.1: `tool_use` ids were found without"), False),
    "unknown stop reason": (said(stop_reason="teleported"), False),
}

THE_AGENTS = {
    "empty content": (said(content=[]), "finished"),
    "refusal": (said(stop_reason="refusal"), "refusal"),
    "context-window 400": (error(400, "invalid_request_error", "prompt is too long: 9 > 5"), "context_overflow"),
    "context-window stop": (said(stop_reason="model_context_window_exceeded"), "context_overflow"),
}


def played(url: str) -> TrialRecord:
    """Play one trial against a server; five tries, half a second until a silent server times out."""
    provider = {"model": "m", "base_url": url, "usd_price": {"input": 1.0, "output": 1.0}, "timeout": "500ms"}
    task = Task(
        suite="s", id="t", prompt="say hello", graders=(Spec(kind="equals", options={"text": "hello"}),),
        environment=Spec(kind="workspace"),
    )  # fmt: skip
    variant = Variant(
        name="v", provider=Spec(kind="anthropic", options=provider), caps=Caps(turns=5, seconds=30.0),
        retries=Retries(model=5, base=0.001, longest=0.01),
    )  # fmt: skip
    return play(Trial(key=trial_key(task, task.digest, variant, variant.digest, 1), task=task, variant=variant, seed=7))


def attempts(record: TrialRecord) -> Iterator[Attempt]:
    """Every failed try on record."""
    for event in record.events:
        if isinstance(event, (Asked, Unanswered)):
            yield from event.attempts


@pytest.mark.parametrize("fault", HEALING)
def test_a_fault_that_passes_costs_a_try_and_no_more(fault: str) -> None:
    with serving(HEALING[fault], GOOD) as (url, seen):
        record = played(url)
    assert (record.outcome, record.stop.reason, record.tally.retries, len(seen)) == ("passed", "finished", 1, 2)
    (attempt,) = attempts(record)
    assert attempt.error
    assert record.tally.waited == attempt.waited > 0.0


@pytest.mark.parametrize("fault", HEALING)
def test_a_fault_that_stays_is_an_error_of_the_provider_with_every_try_on_record(fault: str) -> None:
    if fault == "timeout":
        pytest.skip("five timeouts cost seconds and show nothing that one does not")
    with serving(HEALING[fault]) as (url, seen):
        record = played(url)
    assert (record.outcome, record.stop.reason, record.fatal) == ("error", "error:provider", False)
    assert len(seen) == len(list(attempts(record))) == 5


@pytest.mark.parametrize("fault", LASTING)
def test_a_fault_that_lasts_is_not_tried_again(fault: str) -> None:
    step, fatal = LASTING[fault]
    with serving(step, GOOD) as (url, seen):
        record = played(url)
    assert (record.outcome, record.stop.reason, record.fatal) == ("error", "error:provider", fatal)
    assert len(seen) == len(list(attempts(record))) == 1
    assert record.tally.waited == 0.0


@pytest.mark.parametrize("fault", THE_AGENTS)
def test_what_is_the_agents_or_the_variants_doing_is_a_failure(fault: str) -> None:
    step, stop = THE_AGENTS[fault]
    with serving(step, GOOD) as (url, seen):
        record = played(url)
    assert (record.outcome, record.stop.reason, len(seen)) == ("failed", stop, 1)


def test_a_paused_turn_goes_on_with_its_own_words() -> None:
    with serving(said("hel", stop_reason="pause_turn"), GOOD) as (url, seen):
        record = played(url)
    assert (record.outcome, record.tally.turns) == ("passed", 2)
    assert seen[1]["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "hel"}]}


def test_a_call_that_max_tokens_cut_is_not_run_and_the_model_hears_of_it() -> None:
    with serving(CUT_CALL, GOOD) as (url, seen):
        record = played(url)
    assert (record.outcome, record.tally.tool_calls) == ("passed", 0)
    (result,) = seen[1]["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("toolu_1", True)
    assert "cut off" in json.dumps(result)
