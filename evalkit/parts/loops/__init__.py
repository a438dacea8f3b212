"""One file a kind: control flow, and nothing else."""
