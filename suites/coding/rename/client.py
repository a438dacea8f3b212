"""A client that asks a host and gives up after a time."""

from settings import load


class Client:
    """Asks as its settings say."""

    def __init__(self, **given):
        self.settings = load(given)

    def patience(self):
        """Return for how many seconds one try waits."""
        return self.settings["timeout_ms"] / 1000

    def longest(self):
        """Return for how many seconds all tries together may wait."""
        return self.patience() * self.settings["tries"]
