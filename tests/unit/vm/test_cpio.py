# SPDX-License-Identifier: BSD-3-Clause
import stat
import unittest

from mrz_vm.cpio import Archive


def read(archive):
    """name → (mode, content), by the format's description and not by what wrote it."""
    found, at = {}, 0
    while True:
        if archive[at : at + 6] != b"070701":
            raise ValueError(f"no header at {at}")
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size]
        if name[-1:] != b"\0":
            raise ValueError("a name does not end")
        at += (110 + name_size + 3) // 4 * 4
        content = archive[at : at + size]
        at += (size + 3) // 4 * 4
        if name == b"TRAILER!!!\0":
            if at != len(archive):
                raise ValueError("something is behind the trailer")
            return found
        found[name[:-1].decode()] = (mode, content)


class Cpio(unittest.TestCase):
    def test_holds_what_was_added_at_every_alignment(self):
        archive = Archive()
        for length in range(9):
            archive.file("f" * (length + 1), b"x" * length, executable=length % 2 == 1)
        found = read(archive.bytes())
        for length in range(9):
            mode = stat.S_IFREG | (0o755 if length % 2 == 1 else 0o644)
            self.assertEqual(found["f" * (length + 1)], (mode, b"x" * length))

    def test_has_folders_before_what_is_in_them_and_once(self):
        archive = Archive()
        archive.file("a/b/one", b"1")
        archive.file("a/b/two", b"2")
        archive.folder("a")
        self.assertEqual(list(read(archive.bytes())), ["a", "a/b", "a/b/one", "a/b/two"])
        self.assertEqual(read(archive.bytes())["a"], (stat.S_IFDIR | 0o755, b""))
