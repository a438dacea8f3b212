import unittest

from recent import Recent


class TestRecent(unittest.TestCase):
    def test_keeps_values(self):
        cache = Recent(2)
        cache.put("a", 1)
        self.assertEqual(cache.get("a"), 1)
        self.assertEqual(cache.get("b", "none"), "none")
        self.assertIsNone(cache.get("b"))

    def test_nothing_is_a_value_too(self):
        cache = Recent(1)
        cache.put("a", None)
        self.assertIsNone(cache.get("a", "none"))

    def test_drives_out_the_oldest(self):
        cache = Recent(2)
        for key in "abcd":
            cache.put(key, key)
        self.assertEqual([cache.get(key) for key in "abcd"], [None, None, "c", "d"])

    def test_reading_counts_as_use(self):
        cache = Recent(2)
        cache.put("a", 1)
        cache.put("b", 2)
        cache.get("a")
        cache.put("c", 3)
        self.assertEqual([cache.get(key) for key in "abc"], [1, None, 3])

    def test_asking_for_what_is_not_there_keeps_nothing(self):
        cache = Recent(1)
        cache.put("a", 1)
        cache.get("x")
        self.assertEqual(cache.get("a"), 1)

    def test_writing_anew_counts_as_use(self):
        cache = Recent(2)
        cache.put("a", 1)
        cache.put("b", 2)
        cache.put("a", 3)
        cache.put("c", 4)
        self.assertEqual([cache.get(key) for key in "abc"], [3, None, 4])


if __name__ == "__main__":
    unittest.main()
