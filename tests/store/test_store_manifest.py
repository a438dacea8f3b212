"""`run.json` holds the plan, and the plan is what was asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from store_makers import ORIGIN, a_manifest, a_task, a_variant

from evalkit.core.errors import StoreError
from evalkit.core.plan import Gate, Spec, Suite, Task, TrialKey, Variant, trial_key
from evalkit.store.manifest import FILE, Manifest, fingerprint, planned_keys, read, united, write
from evalkit.store.redact import MARK, Redactor

NO_SECRETS = Redactor.of({})


def suites_of(*tasks: Task) -> tuple[Suite, ...]:
    """One suite."""
    return (Suite(name="s", tasks=tasks),)


def planned(manifest: Manifest) -> list[tuple[str, str, int]]:
    """The planned trials in short."""
    return [(key.task, key.variant, key.index) for key in planned_keys(manifest)]


def counts(manifest: Manifest) -> dict[tuple[str, str], int]:
    """How many trials of which task under which variant."""
    return {(task.task, name): count for task in manifest.plan for name, count in task.trials.items()}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    manifest = a_manifest(
        gates=(Gate(min=0.5),),
        baseline="v1",
        natures={"v1": "simulated"},
        prices="2025-11",
        settings={"jobs": 8, "sandbox": "none"},
        origin=replace(ORIGIN, packages={"pydantic": "2"}, commit="abc", dirty=True, command="evalkit run s.yaml"),
    )
    assert write(tmp_path, manifest, NO_SECRETS) == manifest
    assert read(tmp_path) == manifest


def test_variables_that_hold_keys_are_those_of_providers_and_those_that_a_loop_passes_on() -> None:
    loop = Spec(kind="command", options={"run": "x", "env": ["MY_LLM", "OTHER"]})
    provider = Spec(kind="anthropic", options={"api_key_env": "PEER"})
    manifest = a_manifest(variants=(Variant(name="v1", provider=provider), Variant(name="v2", loop=loop)))
    assert list(manifest.key_variables) == ["PEER", "MY_LLM", "OTHER"]


def test_planned_keys_are_those_of_the_trials_that_are_run(tmp_path: Path) -> None:
    task, variants = a_task(trials=2), (a_variant("v1"), a_variant("v2", "other"))
    write(tmp_path, a_manifest((task,), variants), NO_SECRETS)
    manifest = read(tmp_path)
    assert list(planned_keys(manifest)) == [
        trial_key(task, task.digest, variant, variant.digest, index) for variant in variants for index in (1, 2)
    ]
    assert manifest.trials == 4


def test_digests_are_read_and_not_computed_anew(tmp_path: Path) -> None:
    write(tmp_path, a_manifest((a_task(trials=1),)), NO_SECRETS)
    values = json.loads((tmp_path / FILE).read_text())
    values["plan"][0]["digest"], values["digests"]["v1"] = "older task", "older variant"
    (tmp_path / FILE).write_text(json.dumps(values))
    assert list(planned_keys(read(tmp_path))) == [
        TrialKey(suite="s", task="t1", variant="v1", index=1, task_digest="older task", variant_digest="older variant")
    ]


def test_secrets_do_not_reach_it(tmp_path: Path) -> None:
    secret = "hunter2hunter2"  # noqa: S105  # it is to be found nowhere
    manifest = a_manifest(
        (a_task(prompt=f"log in with {secret}"),), origin=replace(ORIGIN, command=f"evalkit run --header {secret}")
    )
    seen = write(tmp_path, manifest, Redactor.of({"A_TOKEN": secret}))
    assert secret not in (tmp_path / FILE).read_text()
    assert seen.origin.command.endswith(MARK)
    assert seen == read(tmp_path)
    assert list(planned_keys(seen)) == list(planned_keys(manifest))


def test_a_kind_of_part_is_no_secret(tmp_path: Path) -> None:
    manifest = a_manifest()
    assert {"scripted", "react", "full", "equals", "bare"} <= set(manifest.names)
    assert write(tmp_path, manifest, Redactor.of({"API_KEY_OF": "scripted"}, manifest.names)) == manifest


def test_hostile_text_in_a_prompt_is_kept_or_escaped(tmp_path: Path) -> None:
    write(tmp_path, a_manifest((a_task(prompt="\x00 \u2028 𝕏 </script>"),)), NO_SECRETS)
    assert read(tmp_path).suites[0].tasks[0].prompt == "\x00 \u2028 𝕏 </script>"
    write(tmp_path, a_manifest((replace(a_task(), tags=("\ud800",)),)), NO_SECRETS)
    assert read(tmp_path).suites[0].tasks[0].tags == ("\\ud800",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is damaged"),
        ("[1]", "is damaged"),
        ("{}", "is damaged"),
        ('{"schema": []}', "is damaged"),
        ('{"schema": 1}', "is damaged"),
        ("[" * 100_000, "is damaged"),
        ('{"schema": 2}', "schema number 2, this evalkit reads 1"),
    ],
)
def test_a_file_that_is_no_manifest_is_a_clear_error(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(StoreError, match=words):
        read(tmp_path)


def test_a_plan_with_an_unknown_variant_is_damaged(tmp_path: Path) -> None:
    values = {**json.loads(_text(tmp_path)), "digests": {}}
    (tmp_path / FILE).write_text(json.dumps(values))
    with pytest.raises(StoreError, match="variants without a digest: v1"):
        read(tmp_path)


def _text(folder: Path) -> str:
    """A manifest's text."""
    write(folder, a_manifest(), NO_SECRETS)
    return (folder / FILE).read_text()


def test_a_cut_off_file_is_damaged(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(_text(tmp_path)[:-100])
    with pytest.raises(StoreError, match=r"run\.json: is damaged.*restore it from a copy"):
        read(tmp_path)


def test_no_folder_and_no_run_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        read(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is no folder"):
        read(tmp_path / "file")
    with pytest.raises(StoreError, match=r"is no run: it holds no run\.json"):
        read(tmp_path)


BOTH = (a_task("t1"), a_task("t2"))
VARIANTS = (a_variant("v1"), a_variant("v2", "other"))
WHOLE = a_manifest(BOTH, VARIANTS)


def union(
    old: Manifest, new: Manifest, tasks: Sequence[Task] = BOTH, variants: Sequence[Variant] = VARIANTS
) -> Manifest:
    """The plan of a folder that goes on."""
    return united(old, new, suites_of(*tasks), variants)


def test_the_same_command_again_has_the_same_plan() -> None:
    assert union(WHOLE, WHOLE) == WHOLE


def test_a_filter_adds_to_the_plan_and_takes_nothing_from_it() -> None:
    one = a_manifest((a_task("t2"),), (a_variant("v1"),), run="other", created=9.0)
    assert counts(union(WHOLE, one)) == counts(WHOLE)
    assert union(WHOLE, one).created == WHOLE.created
    assert union(WHOLE, one).run == WHOLE.run
    assert union(one, WHOLE).plan == WHOLE.plan


def test_only_what_was_asked_for_is_planned() -> None:
    first = a_manifest((a_task("t1"),), (a_variant("v1"),))
    second = a_manifest((a_task("t2"),), (a_variant("v2", "other"),))
    assert counts(union(first, second)) == {("t1", "v1"): 2, ("t2", "v2"): 2}
    assert planned(union(first, second)) == [("t1", "v1", 1), ("t1", "v1", 2), ("t2", "v2", 1), ("t2", "v2", 2)]


def test_more_trials_are_more_and_fewer_take_none_away() -> None:
    more = a_manifest((a_task("t1", trials=5),), (a_variant("v1"),))
    both = union(WHOLE, more)
    assert counts(both) == {("t1", "v1"): 5, ("t1", "v2"): 2, ("t2", "v1"): 2, ("t2", "v2"): 2}
    assert [task.trials for task in both.suites[0].tasks] == [5, 2]
    assert counts(union(both, WHOLE)) == counts(both)


def test_an_edited_task_is_planned_as_it_is_now() -> None:
    edited = a_task("t1", prompt="do it well", trials=1)
    now = (edited, a_task("t2"))
    both = union(a_manifest((a_task("t1", trials=9), a_task("t2")), VARIANTS), a_manifest(now, VARIANTS), now)
    assert both.plan[0].digest == edited.digest
    assert counts(both)["t1", "v1"] == 1


def test_an_edited_task_that_was_not_chosen_is_missing_and_not_old() -> None:
    edited = a_task("t1", prompt="do it well")
    now = (edited, a_task("t2"))
    both = union(WHOLE, a_manifest((a_task("t2"),), VARIANTS), now)
    assert both.plan[0].digest == edited.digest
    assert both.suites[0].tasks[0].prompt == "do it well"
    assert counts(both) == counts(WHOLE)


def test_an_edited_variant_is_planned_as_it_is_now() -> None:
    variants = (a_variant("v1", "new"), VARIANTS[1])
    both = union(WHOLE, a_manifest((a_task("t1"),), variants[:1]), variants=variants)
    assert both.digests["v1"] == variants[0].digest
    assert counts(both) == counts(WHOLE)


def test_what_the_files_no_longer_hold_is_no_longer_planned() -> None:
    both = union(WHOLE, a_manifest(BOTH[:1], VARIANTS[:1]), BOTH[:1], VARIANTS[:1])
    assert counts(both) == {("t1", "v1"): 2}
    assert set(both.digests) == {"v1"}


def test_baseline_and_natures_stay_while_their_variants_do() -> None:
    old = replace(WHOLE, baseline="v2", natures={"v1": "live", "v2": "live"})
    new = a_manifest(BOTH, VARIANTS[:1], natures={"v1": "simulated"})
    assert union(old, new).baseline == "v2"
    assert union(old, new).natures == {"v1": "simulated", "v2": "live"}
    assert union(old, new, variants=VARIANTS[:1]).baseline is None
    assert union(old, new, variants=VARIANTS[:1]).natures == {"v1": "simulated"}


def test_a_fingerprint_tells_runs_apart_by_names_files_and_seed() -> None:
    suites = suites_of(*BOTH)
    mark = fingerprint(suites, VARIANTS, 0)
    assert fingerprint(suites_of(a_task("t1", prompt="edited")), tuple(reversed(VARIANTS)), 0) == mark
    assert fingerprint(suites, (a_variant("v1", "edited"), VARIANTS[1]), 0) == mark
    assert fingerprint(suites, VARIANTS, 1) != mark
    assert fingerprint(suites, VARIANTS[:1], 0) != mark
    assert fingerprint(suites, (), 0) != mark
    assert fingerprint((replace(suites[0], name="x"),), VARIANTS, 0) != mark
    assert fingerprint((replace(suites[0], source="a/s.yaml"),), VARIANTS, 0) != mark


def test_a_variant_added_to_a_file_goes_on_in_the_same_folder() -> None:
    variants = tuple(replace(variant, source="c.yaml") for variant in VARIANTS)
    assert fingerprint((), variants, 0) == fingerprint((), variants[:1], 0)
    assert fingerprint((), variants, 0) != fingerprint((), (*variants, replace(VARIANTS[0], source="d.yaml")), 0)


def test_a_source_is_the_same_however_it_is_written() -> None:
    relative, absolute = "suites/x.yaml", str(Path.cwd() / "suites/x.yaml")
    marks = {
        fingerprint((Suite(name="s", tasks=(), source=path),), (), 0) for path in (relative, absolute, f"./{relative}")
    }
    assert len(marks) == 1


def test_a_variant_that_nobody_edited_keeps_the_lesser_nature_of_its_earlier_records() -> None:
    simulated = replace(WHOLE, natures={"v1": "simulated"})
    assert union(simulated, replace(WHOLE, natures={"v1": "live"})).natures == {"v1": "simulated"}
    edited = replace(VARIANTS[0], max_tokens=77)
    anew = a_manifest(BOTH, (edited, *VARIANTS[1:]), natures={"v1": "live"})
    assert union(simulated, anew, variants=(edited, *VARIANTS[1:])).natures["v1"] == "live"


@pytest.mark.parametrize("created", [1e400, -1.0, 1e18, "NaN"])
def test_a_run_that_no_calendar_holds_is_damaged(created: float | str, tmp_path: Path) -> None:
    write(tmp_path, a_manifest(), NO_SECRETS)
    values = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**values, "created": float(created)}))
    with pytest.raises(StoreError, match="is damaged"):
        read(tmp_path)


def test_a_pipe_is_no_manifest_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(StoreError, match="is no file"):
        read(tmp_path)


def test_a_folder_whose_name_is_no_path_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path / ("a" * 300))
