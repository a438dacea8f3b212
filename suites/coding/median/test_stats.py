import unittest

from stats import mean, median


class TestStats(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_median_of_an_odd_number(self):
        self.assertEqual(median([9, 1, 4]), 4)

    def test_median_of_an_even_number(self):
        self.assertEqual(median([4, 1, 9, 2]), 3)


if __name__ == "__main__":
    unittest.main()
