# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import tempfile
import unittest

from mrz_vm import cache
from mrz_vm.outcome import Failure


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = cache.Cache(pathlib.Path(self.folder.name, "not/there/yet"))

    def entries(self):
        return sorted(path.name for path in self.cache.folder.iterdir())

    def test_fills_an_entry_once(self):
        fills = []

        def fill(folder):
            fills.append(folder)
            (folder / "file").write_text("whole", encoding="utf-8")

        for _ in range(2):
            self.assertEqual((self.cache.entry("a", fill) / "file").read_text(encoding="utf-8"), "whole")
        self.assertEqual(len(fills), 1)
        self.assertEqual(self.entries(), ["a", "lock"])

    def test_has_nothing_of_what_failed(self):
        def fill(folder):
            (folder / "half").touch()
            raise Failure("no network")

        with self.assertRaises(Failure):
            self.cache.entry("a", fill)
        self.assertEqual(self.entries(), ["lock"])

    def test_has_nothing_of_what_was_killed_once_somebody_fills_it(self):
        self.cache.folder.mkdir(parents=True)
        (self.cache.folder / (cache.UNFINISHED + "left")).mkdir()
        self.cache.entry("a", lambda folder: None)
        self.assertEqual(self.entries(), ["a", "lock"])

    def test_tells_where_it_cannot_be(self):
        with self.assertRaisesRegex(Failure, "/proc/nowhere cannot be used.*--cache"):
            cache.Cache("/proc/nowhere").entry("a", lambda folder: None)
