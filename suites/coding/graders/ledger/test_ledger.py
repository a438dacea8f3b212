import unittest

from ledger import Ledger


def ledger(*amounts):
    made = Ledger()
    for amount in amounts:
        made.add("entry", amount)
    return made


class TestLedger(unittest.TestCase):
    def test_balance(self):
        self.assertEqual(ledger().balance(), "0.00")
        self.assertEqual(ledger("0.10", "0.20").balance(), "0.30")
        self.assertEqual(ledger("19.90", "-3").balance(), "16.90")

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(ledger("0.25").share(2), "0.13")
        self.assertEqual(ledger("0.05").share(2), "0.03")
        self.assertEqual(ledger("1.00").share(3), "0.33")
        self.assertEqual(ledger("2.00").share(3), "0.67")

    def test_large_amounts_keep_their_cents(self):
        self.assertEqual(ledger("90071992547409.93", "0.01").balance(), "90071992547409.94")


if __name__ == "__main__":
    unittest.main()
