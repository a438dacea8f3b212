"""Inspect's logs as trials: epochs, scorers, limits, errors, both file forms and both ways of packing."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import pytest
from importer_files import (
    ZSTANDARD,
    headers,
    importer,
    inspect_header,
    inspect_log,
    inspect_sample,
    notes,
    rows,
    write,
    zipped,
)

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._rows import Imported


def one(path: Path, **sample: Any) -> Imported:
    """The only trial of a log of one sample."""
    (trial,) = rows("inspect_log", inspect_log(path / "a.eval", [inspect_sample(**sample)]))
    return trial


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, ZSTANDARD])
def test_samples_in_epochs_are_trials(tmp_path: Path, method: int) -> None:
    if method == ZSTANDARD:
        pytest.importorskip("zstandard", reason="the extra `zstd` is not installed")
    samples = [inspect_sample(one, epoch) for one in (1, 2) for epoch in (1, 2)]
    path = inspect_log(tmp_path / "a.eval", samples, method)
    assert importer("inspect_log").recognise(path)
    found = rows("inspect_log", path)
    assert [(trial.task, trial.trial) for trial in found] == [("1", 1), ("1", 2), ("2", 1), ("2", 2)]
    assert found[0].input_digest == found[1].input_digest != found[2].input_digest
    first = found[0]
    assert (first.suite, first.variant, first.passed, first.stop) == ("popularity", "openai/gpt", True, "finished")
    assert (first.turns, first.input_tokens, first.output_tokens, first.seconds) == (1, 5, 2, 1.5)
    assert (first.answer, first.input, first.model, first.usd) == ("a", "question 1", "m", None)


def test_the_header_is_the_plan(tmp_path: Path) -> None:
    (header,) = headers("inspect_log", inspect_log(tmp_path / "a.eval", [inspect_sample()], ids=(1, 2, 3), epochs=4))
    assert (header.trials, header.first, header.tasks) == (4, 1, ("1", "2", "3"))
    settings = {"model": "openai/gpt", "temperature": 0.5, "inspect_ai": "0.3.1", "message_limit": 30}
    assert header.settings == settings


def test_a_json_log_tells_the_same_as_an_archive(tmp_path: Path) -> None:
    samples = [inspect_sample(1, epoch) for epoch in (1, 2)]
    path = write(tmp_path / "a.json", {**inspect_header(), "samples": samples})
    assert importer("inspect_log").recognise(path)
    packed = rows("inspect_log", inspect_log(tmp_path / "a.eval", samples))
    plain = rows("inspect_log", path)
    for trial, other in zip(packed, plain, strict=True):
        assert [getattr(trial, name) for name in ("task", "trial", "passed", "turns", "input_digest")] == [
            getattr(other, name) for name in ("task", "trial", "passed", "turns", "input_digest")
        ]


@pytest.mark.parametrize(
    ("value", "passed", "reward"),
    [
        ("C", True, None),
        ("I", False, None),
        ("N", False, None),
        ("P", None, 0.5),
        (1, None, 1.0),
        (0.25, None, 0.25),
        (True, True, None),
        ("yes", True, None),
        ("0.5", None, 0.5),
        ({"accuracy": "C"}, True, None),
    ],
)
def test_scores(tmp_path: Path, value: Any, passed: bool | None, reward: float | None) -> None:
    trial = one(tmp_path, value=value)
    assert (trial.passed, trial.reward, trial.error) == (passed, reward, "")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"scores": {"match": {"value": math.nan}}}, "not scored"),
        ({"scores": {"match": {"value": None}}}, "is empty"),
        ({"scores": {}}, "has no score"),
        ({"scores": None}, "has no score"),
        ({"error": {"message": "sandbox died", "traceback": "…"}}, "sandbox died"),
        ({"error": "old text"}, "old text"),
        ({"invalidation": {"author": "x"}}, "invalidated"),
    ],
)
def test_what_says_nothing_of_the_agent_is_an_error(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    trial = one(tmp_path, **more)
    assert said in trial.error
    assert (trial.passed, trial.reward, trial.stop) == (None, None, "error:harness")


@pytest.mark.parametrize(
    ("limit", "stop"),
    [
        ({"type": "message", "limit": 30}, "cap:turns"),
        ({"type": "time", "limit": 3}, "cap:seconds"),
        ({"type": "token", "limit": 3}, "cap:tokens"),
        ({"type": "context", "limit": 3}, "context_overflow"),
        ({"type": "operator", "limit": 1}, "other:operator"),
        ("cost", "cap:usd"),
        (None, "finished"),
    ],
)
def test_a_limit_is_the_stop_and_leaves_the_score_alone(tmp_path: Path, limit: Any, stop: str) -> None:
    trial = one(tmp_path, limit=limit)
    assert (trial.stop, trial.passed) == (stop, True)


def test_of_several_scorers_one_is_chosen(tmp_path: Path) -> None:
    scores = {"match": {"value": "C"}, "judge": {"value": {"right": 0.0, "kind": 1.0}}}
    path = inspect_log(tmp_path / "a.eval", [inspect_sample(scores=scores)])
    with pytest.raises(ConfigurationError, match=r"scores of 2 scorers: match, judge .*--scorer"):
        rows("inspect_log", path)
    assert rows("inspect_log", path, scorer="match")[0].passed is True
    assert rows("inspect_log", path, scorer="judge.kind")[0].reward == 1.0
    with pytest.raises(ConfigurationError, match=r"has the values right, kind .write --scorer judge.KEY"):
        rows("inspect_log", path, scorer="judge")
    with pytest.raises(ConfigurationError, match=r"no score of 'mach' .did you mean match"):
        rows("inspect_log", path, scorer="mach")
    with pytest.raises(ConfigurationError, match=r"there are: match, judge"):
        rows("inspect_log", path, scorer="zzz")


@pytest.mark.parametrize("value", ["rather good", [1, 0], ["C"], {}])
def test_a_score_of_another_kind_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"neither a number nor one of C, I, P, N|has the values"):
        one(tmp_path, value=value)


def test_a_log_that_never_ended_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "a.eval",
        {"_journal/start.json": inspect_header() | {"status": None}, "samples/1_epoch_1.json": inspect_sample()},
    )
    assert "status is started" in notes("inspect_log", path)
    assert [trial.task for trial in rows("inspect_log", path)] == ["1"]


def test_a_chunked_sample_is_read_from_its_shell(tmp_path: Path) -> None:
    shell = inspect_sample("a/b", turn_count=7)
    del shell["messages"], shell["events"]
    members: dict[str, Any] = {"header.json": inspect_header(), "samples/a/b_epoch_1/sample.json": shell}
    members["samples/a/b_epoch_1/events/0.json"] = [{"event": "x"}]
    (trial,) = rows("inspect_log", zipped(tmp_path / "a.eval", members))
    assert (trial.task, trial.turns) == ("a/b", 7)


def test_tokens_and_dollars_are_of_all_models(tmp_path: Path) -> None:
    usage = {
        "a": {
            "input_tokens": 5,
            "output_tokens": 2,
            "total_tokens": 17,
            "input_tokens_cache_read": 10,
            "total_cost": 0.5,
        },
        "b": {"input_tokens": 1, "output_tokens": 1, "total_cost": 0.25},
    }
    trial = one(tmp_path, model_usage=usage)
    assert (trial.input_tokens, trial.output_tokens, trial.usd) == (16, 3, 0.75)


def test_the_last_reply_of_many_says_nothing_of_all_tokens(tmp_path: Path) -> None:
    trial = one(tmp_path, messages=[{"role": "assistant", "content": "a"}] * 3)
    assert (trial.turns, trial.input_tokens, trial.output_tokens) == (3, None, None)


def test_an_input_of_messages_is_known_without_their_ids(tmp_path: Path) -> None:
    first = one(tmp_path, input=[{"id": "r4nd0m", "role": "user", "content": "q"}])
    second = one(tmp_path, input=[{"id": "0th3r", "role": "user", "content": [{"type": "text", "text": "q"}]}])
    third = one(tmp_path, input=[{"id": "x", "role": "user", "content": "q"}])
    assert first.input == second.input == "q"
    assert first.input_digest == third.input_digest
    assert one(tmp_path, input="attachment://3").input_digest == ""


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "holds neither header.json nor"),
        ({"header.json": "[]"}, "holds neither"),
        ({"header.json": "{}"}, "has no `eval`"),
        ({"header.json": "{"}, "header.json: is cut off"),
        ({"header.json": inspect_header(), "samples/1_epoch_1.json": "[]"}, "samples/1_epoch_1.json"),
        ({"header.json": inspect_header(), "samples/1_epoch_1.json": "{}"}, "id is None"),
        ({"header.json": inspect_header(), "samples/1_epoch_1.json": b"\xff"}, "is no UTF-8 text"),
    ],
)
def test_other_archives_are_a_sentence(tmp_path: Path, members: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        rows("inspect_log", zipped(tmp_path / "a.eval", members))


def test_what_is_no_archive_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.eval").write_bytes(b"PK no")
    with pytest.raises(ConfigurationError, match=r"a\.eval: cannot be unpacked"):
        rows("inspect_log", tmp_path / "a.eval")
    with pytest.raises(ConfigurationError, match=r"b\.json: cannot be read"):
        rows("inspect_log", tmp_path / "b.json")
