import unittest

from recent import Recent


class TestRecent(unittest.TestCase):
    def test_keeps_values(self):
        cache = Recent(2)
        cache.put("a", 1)
        self.assertEqual(cache.get("a"), 1)
        self.assertEqual(cache.get("b", "none"), "none")

    def test_drives_out_the_oldest(self):
        cache = Recent(2)
        for key in "abc":
            cache.put(key, key)
        self.assertIsNone(cache.get("a"))

    def test_reading_counts_as_use(self):
        cache = Recent(2)
        cache.put("a", 1)
        cache.put("b", 2)
        cache.get("a")
        cache.put("c", 3)
        self.assertEqual(cache.get("a"), 1)
        self.assertIsNone(cache.get("b"))

    def test_writing_anew_counts_as_use(self):
        cache = Recent(2)
        cache.put("a", 1)
        cache.put("b", 2)
        cache.put("a", 3)
        cache.put("c", 4)
        self.assertEqual(cache.get("a"), 3)


if __name__ == "__main__":
    unittest.main()
