"""Makers of small files as other harnesses write them, shared by the importers' tests."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import parts
from evalkit.core.plan import Spec
from evalkit.parts.importers._rows import Header, Imported, Importer, Note

ZSTANDARD = 93


def importer(kind: str, **options: Any) -> Importer:
    """Build an importer as the command does."""
    made: Importer = parts.build("importers", Spec(kind=kind, options=options))
    return made


def rows(kind: str, path: Path, **options: Any) -> list[Imported]:
    """All trials of a file."""
    return [one for one in importer(kind, **options).read(path) if isinstance(one, Imported)]


def headers(kind: str, path: Path, **options: Any) -> list[Header]:
    """All headers of a file."""
    return [one for one in importer(kind, **options).read(path) if isinstance(one, Header)]


def notes(kind: str, path: Path, **options: Any) -> str:
    """All notes of a file as one text."""
    return "\n".join(one.text for one in importer(kind, **options).read(path) if isinstance(one, Note))


def write(path: Path, value: Any) -> Path:
    """Write a JSON file; gzip where its name ends so."""
    data = (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "surrogatepass")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def tau_row(task: int | str = 0, trial: int = 0, reward: float = 1.0, **more: Any) -> dict[str, Any]:
    """A result of tau-bench whose simulated user ended the conversation."""
    return {
        "task_id": task,
        "reward": reward,
        "info": {
            "task": {"user_id": "u", "actions": [], "instruction": f"book flight {task}", "outputs": []},
            "source": "user",
            "user_cost": 0.002,
        },
        "traj": [
            {"role": "system", "content": "policy"},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "booked"},
            {"role": "user", "content": "thanks ###STOP###"},
        ],
        "trial": trial,
        **more,
    }


def tau2_simulation(task: str = "a", trial: int = 0, reward: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """A simulation of tau2-bench."""
    return {
        "id": f"{task}-{trial}",
        "task_id": task,
        "start_time": "2025-07-17T15:10:58.495594",
        "duration": 8.5,
        "termination_reason": "agent_stop",
        "agent_cost": 0.01,
        "user_cost": 0.5,
        "reward_info": None if reward is None else {"reward": reward},
        "messages": [
            {"role": "assistant", "content": None, "usage": {"prompt_tokens": 100, "completion_tokens": 7}},
            {"role": "tool", "content": "ok"},
            {"role": "assistant", "content": "done", "usage": {"prompt_tokens": 120, "completion_tokens": 3}},
        ],
        "trial": trial,
        **more,
    }


def tau2_results(simulations: Sequence[Any], tasks: Iterable[str] = ("a", "b"), trials: int = 2) -> dict[str, Any]:
    """A results object of tau2-bench."""
    return {
        "timestamp": "2025-07-17T15:10:57",
        "info": {
            "git_commit": "abc",
            "num_trials": trials,
            "max_steps": 200,
            "max_errors": 10,
            "user_info": {"implementation": "user_simulator", "llm": "judge"},
            "agent_info": {"implementation": "llm_agent", "llm": "gpt", "llm_args": {"temperature": 0.0}},
            "environment_info": {"domain_name": "telecom", "policy": "p"},
        },
        "tasks": [{"id": one, "ticket": f"fix {one}", "user_scenario": {"instructions": "x"}} for one in tasks],
        "simulations": list(simulations),
    }


def inspect_sample(sample: int | str = 1, epoch: int = 1, value: Any = "C", **more: Any) -> dict[str, Any]:
    """A sample of an Inspect log in one epoch."""
    return {
        "id": sample,
        "epoch": epoch,
        "input": f"question {sample}",
        "target": "yes",
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
        "output": {
            "model": "m",
            "choices": [{"message": {"role": "assistant", "content": "a"}}],
            "usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        },
        "scores": {"match": {"value": value}},
        "events": [{"event": "model", "output": "x" * 50}],
        "model_usage": {},
        "total_time": 1.5,
        "started_at": "2025-07-05T09:59:48-04:00",
        **more,
    }


def inspect_header(ids: Sequence[Any] = (1, 2), epochs: int = 2, **more: Any) -> dict[str, Any]:
    """The header of an Inspect log."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "popularity",
            "model": "openai/gpt",
            "dataset": {"name": "d", "sample_ids": list(ids)},
            "config": {"epochs": epochs, "message_limit": 30},
            "packages": {"inspect_ai": "0.3.1"},
        },
        "plan": {"config": {"temperature": 0.5}},
        **more,
    }


def zipped(path: Path, members: Mapping[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write a zip archive of JSON values, texts and bytes."""
    if method == ZSTANDARD:
        path.write_bytes(zstandard_zip(members))
        return path
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, _data(value))
    return path


def inspect_log(
    path: Path, samples: Sequence[dict[str, Any]], method: int = zipfile.ZIP_DEFLATED, **header: Any
) -> Path:
    """Write an Inspect log of these samples."""
    members = {f"samples/{one.get('id')}_epoch_{one.get('epoch')}.json": one for one in samples}
    return zipped(path, {**members, "summaries.json": [], "header.json": inspect_header(**header)}, method)


def zstandard_zip(members: Mapping[str, Any]) -> bytes:
    """A zip archive whose members are packed with Zstandard: a stored one of packed bytes, relabelled."""
    import zstandard  # noqa: PLC0415  # an extra

    packed = io.BytesIO()
    sums: dict[str, tuple[int, int]] = {}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, value in members.items():
            data = _data(value)
            half = len(data) // 2
            frames = [zstandard.ZstdCompressor().compress(one) for one in (data[:half], data[half:])]
            archive.writestr(name, b"".join(frames))
            sums[name] = zipfile.crc32(data), len(data)  # type: ignore[attr-defined]  # zipfile's own import of it
    return _relabelled(packed.getvalue(), sums)


def _relabelled(data: bytes, sums: Mapping[str, tuple[int, int]]) -> bytes:
    """Change method, check sum and size of each entry of a table of contents, and the method of each member."""
    changed = bytearray(data)
    at = int.from_bytes(data[-6:-2], "little")
    while changed[at : at + 4] == b"PK\x01\x02":
        length, extra, comment = (
            int.from_bytes(changed[at + 28 + 2 * one : at + 30 + 2 * one], "little") for one in range(3)
        )
        name = bytes(changed[at + 46 : at + 46 + length]).decode()
        local = int.from_bytes(changed[at + 42 : at + 46], "little")
        changed[at + 10 : at + 12] = ZSTANDARD.to_bytes(2, "little")
        changed[local + 8 : local + 10] = ZSTANDARD.to_bytes(2, "little")
        changed[at + 16 : at + 20] = sums[name][0].to_bytes(4, "little")
        changed[at + 24 : at + 28] = sums[name][1].to_bytes(4, "little")
        at += 46 + length + extra + comment
    return bytes(changed)


def _data(value: Any) -> bytes:
    """A member's bytes."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def harbor_trial(task: str = "fix", name: str = "fix__1", reward: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """A trial's result of harbor."""
    return {
        "id": f"id-{name}",
        "task_name": task,
        "trial_name": name,
        "source": "terminal-bench",
        "task_checksum": f"sum-{task}",
        "agent_info": {"name": "terminus-2", "version": "2", "model_info": {"name": "gpt", "provider": "openai"}},
        "agent_result": {"n_input_tokens": 10, "n_output_tokens": 3, "cost_usd": 0.01, "metadata": {"n_episodes": 4}},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None,
        "started_at": "2026-01-01T00:00:00+00:00",
        "finished_at": "2026-01-01T00:01:00+00:00",
        "agent_execution": {"started_at": "2026-01-01T00:00:10Z", "finished_at": "2026-01-01T00:00:40Z"},
        **more,
    }


def harbor_job(folder: Path, trials: Sequence[dict[str, Any]], attempts: int | None = 2) -> Path:
    """Write a job's folder."""
    write(folder / "result.json", {"id": "j", "n_total_trials": len(trials), "stats": {}})
    if attempts is not None:
        write(folder / "config.json", {"job_name": "j", "n_attempts": attempts})
    for one in trials:
        write(folder / one["trial_name"] / "result.json", one)
        write(folder / one["trial_name"] / "config.json", {"trial_name": one["trial_name"]})
    return folder


def old_trial(task: str = "fix", number: int = 1, resolved: bool | None = True, **more: Any) -> dict[str, Any]:
    """A trial's result of Terminal-Bench's first harness."""
    return {
        "id": f"{task}-{number}",
        "trial_name": f"{task}.{number}-of-2.run",
        "task_id": task,
        "instruction": f"please {task}",
        "is_resolved": resolved,
        "failure_mode": "none" if resolved else "unset",
        "total_input_tokens": 9,
        "total_output_tokens": 1,
        "trial_started_at": "2025-09-01T00:00:00",
        "trial_ended_at": "2025-09-01T00:00:30",
        **more,
    }


def promptfoo_result(test: int = 0, *, success: bool = True, city: str = "Paris", **more: Any) -> dict[str, Any]:
    """A result of promptfoo."""
    return {
        "promptIdx": 0,
        "testIdx": test,
        "testCase": {"vars": {"city": city}, "assert": [{"type": "contains", "value": city}]},
        "provider": {"id": "openai:gpt", "label": ""},
        "prompt": {"raw": f"say {city}", "label": "say {{city}}"},
        "vars": {"city": city},
        "response": {"output": city, "tokenUsage": {"prompt": 4, "completion": 2, "total": 6}, "cached": False},
        "error": None if success else "expected more",
        "failureReason": 0 if success else 1,
        "gradingResult": {"pass": success, "score": float(success), "reason": ""},
        "success": success,
        "score": float(success),
        "latencyMs": 1500,
        "cost": 0.001,
        **more,
    }


def promptfoo_output(results: Sequence[Any], **more: Any) -> dict[str, Any]:
    """The output file of promptfoo."""
    inner = {"version": 3, "timestamp": "2025-01-01T00:00:00Z", "prompts": [], "results": list(results), "stats": {}}
    return {"evalId": "eval-1", "results": inner, "config": {}, "shareableUrl": None, **more}
