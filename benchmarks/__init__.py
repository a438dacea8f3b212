"""Benchmarks: programs, not tests. `python -m benchmarks.NAME` prints one JSON object as its last line."""
