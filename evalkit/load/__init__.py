"""YAML to plans: every mistake at once, each with its place."""
