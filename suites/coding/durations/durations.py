"""Durations as people write them."""

UNITS = {"s": 1, "m": 60, "h": 3600}


def parse(text):
    """Return the seconds of a duration such as `90s`, `5m` or `2h`; raise ValueError for anything else."""
    number, unit = text[:-1], text[-1:]
    if not number.isdigit() or unit not in UNITS:
        raise ValueError(f"not a duration: {text!r}")
    return int(number) * UNITS[unit]
