# SPDX-License-Identifier: BSD-3-Clause
import lzma
import pathlib
import tempfile
import unittest

from mrz_vm import modules
from mrz_vm.outcome import Failure

DEPENDENCIES = """kernel/a/base.ko:
kernel/a/middle-part.ko: kernel/a/base.ko
kernel/b/top.ko.xz: kernel/a/middle-part.ko kernel/a/base.ko
kernel/b/other.ko: kernel/a/base.ko
"""


class Modules(unittest.TestCase):
    def test_come_after_what_they_need_and_once(self):
        self.assertEqual(modules.in_order(DEPENDENCIES, ["top", "built_in", "other", "middle_part"]),
                         ["kernel/a/base.ko", "kernel/a/middle-part.ko", "kernel/b/top.ko.xz", "kernel/b/other.ko"])

    def test_are_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("a.ko", b"plain"), ("a.ko.xz", lzma.compress(b"plain"))):
                path = pathlib.Path(folder, name)
                path.write_bytes(content)
                self.assertEqual(modules.content(path), b"plain")
            path = pathlib.Path(folder, "a.ko.gz")
            path.touch()
            with self.assertRaises(Failure):
                modules.content(path)
