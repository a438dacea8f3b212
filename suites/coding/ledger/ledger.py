"""A ledger of amounts in euros and cents."""


class Ledger:
    """Entries of one account."""

    def __init__(self):
        self.entries = []

    def add(self, text, amount):
        """Enter an amount given as text, such as `19.90` or `-3`."""
        self.entries.append((text, float(amount)))

    def balance(self):
        """Return the sum of all entries as text with two decimals."""
        return f"{sum(amount for _, amount in self.entries):.2f}"

    def share(self, people):
        """Return what each of some people pays, as text; half a cent is rounded up."""
        return f"{float(self.balance()) / people:.2f}"
