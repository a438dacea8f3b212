"""How a program ended, in words."""

from __future__ import annotations


def ended(code: int) -> str:
    """Say how a program ended."""
    return f"the program ended with exit status {code}" if code >= 0 else f"the program was ended by signal {-code}"
