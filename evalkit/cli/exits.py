"""Exit codes, the one table that scripts and CI rely on."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the process says to its caller; 1 means that a gate failed and nothing else."""

    OK = 0
    GATE_FAILED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INVALID = 4
    INTERRUPTED = 130


TABLE = """exit codes:
  0    passed, or measured
  1    a gate failed, and nothing else
  2    usage or configuration is wrong; nothing was run
  3    inconclusive: the interval holds the bound, or fewer than k trials a task
  4    run invalid or incomplete: errors over budget, the run's dollar cap, nothing selected, unlike runs
  130  interrupted; what was finished is saved"""
