import unittest

import settings
from client import Client


class TestClient(unittest.TestCase):
    def test_default(self):
        self.assertEqual(Client().patience(), 2.5)
        self.assertEqual(Client().longest(), 7.5)

    def test_given_in_seconds(self):
        self.assertEqual(Client(timeout_seconds=4).patience(), 4)
        self.assertEqual(Client(timeout_seconds=0.5, tries=2).longest(), 1.0)

    def test_the_old_name_is_unknown(self):
        with self.assertRaises(KeyError):
            Client(timeout_ms=100)

    def test_the_other_settings_stay(self):
        self.assertEqual(settings.DEFAULTS, {"host": "localhost", "timeout_seconds": 2.5, "tries": 3})


if __name__ == "__main__":
    unittest.main()
