import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total([10, 20]), 30)

    def test_with_discount(self):
        self.assertEqual(total([100, 100], discount=25), 150)


if __name__ == "__main__":
    unittest.main()
