"""A process that plays a run until it is killed: prints a key's digest once its record is on the disk."""

from __future__ import annotations

import sys
from pathlib import Path

from store_makers import a_manifest, a_record, a_start, a_task

from evalkit.store.manifest import planned_keys
from evalkit.store.runstore import RunStore

GROUP = 5


def main(folder: Path, trials: int) -> None:
    """Create the run or go on with it; say what is durable, then what is done in all."""
    manifest = a_manifest((a_task(trials=trials),))
    fresh = not (folder / "run.json").exists()
    with RunStore.create(folder, manifest) if fresh else RunStore.open(folder, write=True) as store:
        done = store.done()
        print("ready", flush=True)  # noqa: T201  # the parent reads it
        told: list[str] = []
        for key in planned_keys(store.manifest):
            if key.digest in done:
                continue
            store.begin(a_start(store.manifest, key))
            store.keep(a_record(key, answer="x" * 3000))
            told.append(key.digest)
            if len(told) == GROUP:
                store.flush()
                print("\n".join(told), flush=True)  # noqa: T201  # the parent reads it
                told = []


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
