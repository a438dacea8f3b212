import unittest

from ledger import Ledger


class TestLedger(unittest.TestCase):
    def test_balance(self):
        ledger = Ledger()
        ledger.add("tea", "0.10")
        ledger.add("cake", "0.20")
        self.assertEqual(ledger.balance(), "0.30")

    def test_half_a_cent_is_rounded_up(self):
        ledger = Ledger()
        ledger.add("lunch", "0.25")
        self.assertEqual(ledger.share(2), "0.13")

    def test_large_amounts_keep_their_cents(self):
        ledger = Ledger()
        ledger.add("house", "90071992547409.93")
        ledger.add("key", "0.01")
        self.assertEqual(ledger.balance(), "90071992547409.94")


if __name__ == "__main__":
    unittest.main()
