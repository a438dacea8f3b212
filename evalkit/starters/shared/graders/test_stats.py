"""Decides the task `mend-median`; the agent never sees it."""

import unittest

from stats import median


class Median(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(median([5, 1, 3]), 3)

    def test_even(self):
        self.assertEqual(median([8, 1, 3, 5]), 4)


if __name__ == "__main__":
    unittest.main()
