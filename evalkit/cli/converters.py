"""What a word of the command line means as a number, the same for flags, environment and file.

Invariant: what is taken is a number to everybody, and finite; what is not is told with what was expected.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

WHOLE = re.compile(r"[-+]?[0-9]{1,20}")


def whole(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """Make a converter to a whole number from `least` to `most`."""
    limits = f"of at least {least}" if most == 2**63 - 1 else f"from {least} to {most:,}"

    def convert(text: str) -> int:
        """Convert, or say what was expected."""
        number = int(text) if WHOLE.fullmatch(text.strip()) else least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {limits}")
        return number

    return convert


def real(text: str) -> float:
    """Read a number as a float, NaN for what is none; digits of other scripts and `1_0`, which Python takes, are none."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def positive(text: str) -> float:
    """Convert to a number above zero, or say what was expected."""
    if not 0.0 < real(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return real(text)


def seconds(text: str) -> float:
    """Convert to a number of seconds, or say what was expected."""
    if not 0.0 <= real(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, 0 or more")
    return real(text)


def share(text: str) -> float:
    """Convert to a number from 0 to 1, or say what was expected."""
    if not 0.0 <= real(text) <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return real(text)
