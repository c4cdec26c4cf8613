# SPDX-License-Identifier: BSD-3-Clause
import unittest

from mrz_vm.quantities import Cable, Hugepages, cable, hugepages, size, size_text


class Sizes(unittest.TestCase):
    def test_are_read_with_units(self):
        for text, value in (("4096", 4096), ("4K", 4096), ("512M", 512 << 20), ("6GiB", 6 << 30), ("1GB", 1 << 30)):
            self.assertEqual(size(text), value, text)

    def test_that_are_none_are_refused(self):
        for text in ("", "G", "0", "-1G", "1.5G", "1T", "1 G", "0x10"):
            with self.assertRaises(ValueError, msg=text):
                size(text)

    def test_are_written_as_they_are_read(self):
        for value in (1, 1000, 4096, 3 << 20, 3 << 29, 5 << 30):
            self.assertEqual(size(size_text(value)), value)
        self.assertEqual(size_text(3 << 29), "1536M")


class Pages(unittest.TestCase):
    def test_are_read_with_their_nodes(self):
        self.assertEqual(hugepages("2M=512"), (Hugepages("2M", 512),))
        self.assertEqual(hugepages("2M=1@0,2M=2@1,1G=3"), (Hugepages("2M", 1, 0), Hugepages("2M", 2, 1), Hugepages("1G", 3)))
        self.assertEqual(sum(pages.bytes for pages in hugepages("2M=512,1G=2")), 3 << 30)

    def test_that_contradict_each_other_are_refused(self):
        for text in ("", "2M", "4M=1", "2M=-1", "2M=1@", "2M=1,2M=2", "2M=1@0,2M=2@0", "2M=1,2M=1@0", "2M=1,"):
            with self.assertRaises(ValueError, msg=text):
                hugepages(text)


class Cables(unittest.TestCase):
    def test_have_two_ends(self):
        self.assertEqual(cable("/tmp/a:b:2"), Cable("/tmp/a:b", 2))
        self.assertNotEqual(cable("a:1").mac, cable("a:2").mac)
        for text in ("", "a", ":1", "a:", "a:0", "a:3", "a:12"):
            with self.assertRaises(ValueError, msg=text):
                cable(text)
