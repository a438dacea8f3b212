"""What a trial of harbor's says, and one of Terminal-Bench's first harness: its reward, whose doing an exception was, what it used.

Invariant: where the file says whether an exception leaves the reward valid, that is followed; where it does not, the exceptions that are
the agent's doing are fixed here and all others are errors. What one step of a trial does not tell is unknown of the whole trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalkit.core.message import JSON
from evalkit.parts.importers._rows import (
    Imported,
    between,
    count_of,
    digest_of,
    named,
    number_of,
    objects,
    part,
    plainly,
    refuse,
    reward_of,
    shown,
    stamp_of,
    text_of,
    total,
)
from evalkit.parts.importers._stops import OTHER

THEIRS = {
    "AgentTimeoutError": "cap:seconds",
    "agent_timeout": "cap:seconds",
    "ContextLengthExceededError": "context_overflow",
    "ContextWindowExceededError": "context_overflow",
    "context_length_exceeded": "context_overflow",
    "OutputLengthExceededError": "truncated",
    "OutputTokenExceededError": "truncated",
    "output_length_exceeded": "truncated",
    "AgentSafetyRefusalError": "refusal",
    "ContentPolicyViolationError": "refusal",
    "NonZeroAgentExitCodeError": f"{OTHER}NonZeroAgentExitCodeError",
    "fatal_llm_parse_error": f"{OTHER}fatal_llm_parse_error",
    "test_timeout": f"{OTHER}test_timeout",
}
"""Exceptions and failure modes that are the agent's doing, with the stop that each is."""

NOTES = (
    "a reward of 1 (is_resolved) is a pass; seconds are the agent's own, turns its metadata's n_episodes",
    f"exceptions that are failures: {', '.join(name for name in THEIRS if name[0].isupper())}",
    "any other exception is an error, but where the file says that the reward is valid all the same",
)


def trial(path: Path, where: str, row: Any, scorer: str | None) -> Imported:
    """Tell one trial of harbor; `scorer` is the reward that counts where it has several."""
    if not isinstance(row, dict) or "task_name" not in row:
        raise refuse(path, where, f"is {shown(row)} without task_name", "harbor wants a trial's result.json")
    model = [text_of(part(row, "agent_info", "model_info", name), 200) for name in ("provider", "name")]
    agent = [text_of(part(row, "agent_info", "name"), 200), "/".join(one for one in model if one)]
    steps = objects(row.get("step_results"))
    used = (
        [row["agent_result"]]
        if isinstance(row.get("agent_result"), dict)
        else [one.get("agent_result") for one in steps]
    )
    raised = [one for one in (row.get("exception_info"), *(step.get("exception_info") for step in steps)) if one]
    reward = _reward(path, where, part(row, "verifier_result", "rewards"), scorer)
    blamed = next((one for one in raised if not _agents(one, reward)), None)
    first = text_of(part(raised[0], "exception_type"), 200) if raised else ""
    checksum = text_of(row.get("task_checksum"), 200)
    prices = [number_of(part(one, "cost_usd")) for one in used]
    return Imported(
        where=where,
        suite=text_of(row.get("source"), 200) or None,
        variant=" ".join(one for one in agent if one) or None,
        task=named(path, where, "task_name", row["task_name"]),
        trial=text_of(row.get("id"), 200) or text_of(row.get("trial_name"), 200) or None,
        reward=reward,
        passed=False if reward is None and raised and blamed is None else None,
        error="" if blamed is None else _told(blamed),
        stop="error:harness" if blamed is not None else THEIRS.get(first, f"{OTHER}{first}") if raised else "finished",
        stop_detail=first,
        turns=total([count_of(part(one, "metadata", "n_episodes")) for one in used]),
        input_tokens=total([count_of(part(one, "n_input_tokens")) for one in used]),
        output_tokens=total([count_of(part(one, "n_output_tokens")) for one in used]),
        usd=sum(one for one in prices if one is not None) if prices and None not in prices else None,
        seconds=_seconds(row, steps),
        started=stamp_of(row.get("started_at")),
        model=agent[1],
        input_digest=digest_of(path, where, checksum) if checksum else "",
    )


def _agents(raised: JSON, reward: float | None) -> bool:
    """Whether an exception is the agent's doing, so that the trial has a result: by its name, else where its reward is said to be valid."""
    valid = part(raised, "policy", "has_valid_reward")
    named_so = text_of(part(raised, "exception_type"), 200) in THEIRS
    return named_so if not isinstance(valid, bool) else valid and (named_so or reward is not None)


def _told(raised: JSON) -> str:
    """What an exception says."""
    kind = text_of(part(raised, "exception_type"), 200)
    return f"{kind or 'exception'}: {text_of(part(raised, 'exception_message'))}"


def _seconds(row: dict[str, Any], steps: Sequence[dict[str, Any]]) -> float | None:
    """How long the agent worked, in all steps, else how long the trial took."""
    phases = [row.get("agent_execution") or {}] if not steps else [one.get("agent_execution") for one in steps]
    worked = [between(part(one, "started_at"), part(one, "finished_at")) for one in phases]
    known = [one for one in worked if one is not None]
    return sum(known) if len(known) == len(worked) else between(row.get("started_at"), row.get("finished_at"))


def _reward(path: Path, where: str, rewards: JSON, scorer: str | None) -> float | None:
    """The reward that counts; raises `ConfigurationError` where several could."""
    if not isinstance(rewards, dict) or not rewards:
        return None
    name = scorer or ("reward" if "reward" in rewards else next(iter(rewards)) if len(rewards) == 1 else None)
    if name is None or name not in rewards:
        what = f"has the rewards {', '.join(plainly(one) for one in rewards)}"
        raise refuse(path, where, what, "say which counts with --scorer")
    return reward_of(rewards[name])


def old_trial(path: Path, where: str, row: dict[str, Any], suite: str | None, variant: str | None) -> Imported:
    """Tell one trial of Terminal-Bench's first harness, of a run's suite and variant."""
    mode = text_of(row.get("failure_mode"), 80)
    fine = mode in ("", "none", "unset") or mode in THEIRS
    resolved = row["is_resolved"] if isinstance(row["is_resolved"], bool) else None
    instruction = text_of(row.get("instruction"))
    worked = between(row.get("agent_started_at"), row.get("agent_ended_at"))
    return Imported(
        where=where,
        suite=suite,
        variant=variant,
        task=named(path, where, "task_id", row.get("task_id")),
        trial=text_of(row.get("id"), 200) or text_of(row.get("trial_name"), 200) or None,
        passed=False if resolved is None and mode in THEIRS else resolved,
        error="" if fine or resolved else f"failure_mode {mode}",
        stop=THEIRS.get(mode, "finished" if fine or resolved else "error:harness"),
        stop_detail=mode,
        input_tokens=count_of(row.get("total_input_tokens")),
        output_tokens=count_of(row.get("total_output_tokens")),
        seconds=worked if worked is not None else between(row.get("trial_started_at"), row.get("trial_ended_at")),
        started=stamp_of(row.get("trial_started_at")),
        input=instruction,
        input_digest=digest_of(path, where, instruction) if instruction else "",
    )
