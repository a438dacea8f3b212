import unittest

from stats import mean, median


class TestStats(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_median_of_one(self):
        self.assertEqual(median([7]), 7)

    def test_median_of_two(self):
        self.assertEqual(median([10, 20]), 15)

    def test_median_of_an_odd_number(self):
        self.assertEqual(median([9, 1, 4]), 4)

    def test_median_of_an_even_number(self):
        self.assertEqual(median([4, 1, 9, 2]), 3)
        self.assertEqual(median([1, 2, 3, 4, 5, 100]), 3.5)

    def test_the_list_itself_stays_as_it_is(self):
        values = [3, 1, 2]
        median(values)
        self.assertEqual(values, [3, 1, 2])


if __name__ == "__main__":
    unittest.main()
