import unittest

from durations import parse


class TestDurations(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(parse("90s"), 90)
        self.assertEqual(parse("5m"), 300)

    def test_several_units(self):
        self.assertEqual(parse("1h30m"), 5400)
        self.assertEqual(parse("1h1m1s"), 3661)

    def test_nonsense(self):
        for text in ("", "90", "m", "5x", "5m3"):
            with self.assertRaises(ValueError):
                parse(text)


if __name__ == "__main__":
    unittest.main()
