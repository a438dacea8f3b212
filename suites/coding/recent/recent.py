"""A cache that keeps what was used last."""


class Recent:
    """Holds at most `size` values; a new one drives out the one that was used longest ago."""

    def __init__(self, size):
        self.size = size
        self.values = {}

    def get(self, key, default=None):
        """Return the value of a key, or the default."""
        return self.values.get(key, default)

    def put(self, key, value):
        """Keep a value under a key."""
        self.values[key] = value
        if len(self.values) > self.size:
            oldest = next(iter(self.values))
            del self.values[oldest]
