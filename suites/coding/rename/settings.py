"""Settings of the client."""

DEFAULTS = {
    "host": "localhost",
    "timeout_ms": 2500,
    "tries": 3,
}


def load(given):
    """Return the settings: what is given, and defaults for the rest; raise KeyError for an unknown name."""
    unknown = set(given) - set(DEFAULTS)
    if unknown:
        raise KeyError(", ".join(sorted(unknown)))
    return {**DEFAULTS, **given}
