import unittest

from intervals import length, merge


class TestIntervals(unittest.TestCase):
    def test_apart(self):
        self.assertEqual(merge([(5, 6), (1, 2)]), [(1, 2), (5, 6)])

    def test_overlapping(self):
        self.assertEqual(merge([(1, 3), (2, 5)]), [(1, 5)])

    def test_touching(self):
        self.assertEqual(merge([(1, 2), (2, 3)]), [(1, 3)])

    def test_one_inside_the_other(self):
        self.assertEqual(merge([(1, 9), (2, 3)]), [(1, 9)])

    def test_length(self):
        self.assertEqual(length([(0, 4), (1, 2), (6, 7)]), 5)


if __name__ == "__main__":
    unittest.main()
