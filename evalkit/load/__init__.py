"""YAML files to plans: every mistake is told, with its place and the way to mend it."""

from evalkit.load.together import doubts, load

__all__ = ["doubts", "load"]
