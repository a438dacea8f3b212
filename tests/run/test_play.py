"""From a trial to its parts: each tool finds its own files, whoever brought it."""

from __future__ import annotations

from pathlib import Path

from evalkit.core.plan import Spec, Task, Trial, Variant, trial_key
from evalkit.core.record import Acted, TrialRecord
from evalkit.run.play import play


def tool(name: str) -> Spec:
    """A tool made of the function `which` in tools.py."""
    return Spec(kind="python", options={"function": "tools.py:which", "name": name})


def played(suite: Path, config: Path) -> TrialRecord:
    """Play a trial that calls a tool of its task and one of its variant."""
    task = Task(
        suite="s", id="t", prompt="p", graders=(Spec(kind="contains", options={"text": "ok"}),), base=str(suite),
        tools=(tool("of_task"),),
    )  # fmt: skip
    script = [{"calls": [["of_task", {}], ["of_variant", {}]]}, {"text": "ok"}]
    provider = Spec(kind="scripted", options={"script": script})
    variant = Variant(name="v", provider=provider, extra_tools=(tool("of_variant"),), base=str(config))
    return play(Trial(key=trial_key(task, "", variant, "", 1), task=task, variant=variant, seed=0))


def test_files_of_a_variants_tools_start_from_the_variants_folder(tmp_path: Path) -> None:
    """Also where the same task and variant are played from another folder in the same process."""
    for folder in ("suite", "config", "moved"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tools.py").write_text(f"def which(): return {folder!r}")
    for config in ("config", "moved"):
        record = played(tmp_path / "suite", tmp_path / config)
        said = [event.result.content for event in record.events if isinstance(event, Acted)]
        assert said == ["suite", config], record.error
