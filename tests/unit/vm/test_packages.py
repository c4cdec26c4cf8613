# SPDX-License-Identifier: BSD-3-Clause
import re
import unittest

from mrz_vm import kernel, packages


class Mirror(unittest.TestCase):
    LISTED = ("nodistro||http://other/\nbookworm-security|bookworm-security|http://a/security/\n"
              "oldstable|bookworm|mirror+file:/etc/list\nbookworm-updates|bookworm-updates|http://a/debian/\n")

    def test_is_that_of_the_machines_own_release(self):
        self.assertEqual(packages.mirror(self.LISTED, "bookworm"), "mirror+file:/etc/list")
        self.assertEqual(packages.mirror(self.LISTED, "bookworm-security"), "http://a/security/")
        self.assertIsNone(packages.mirror(self.LISTED, "trixie"))

    def test_of_a_machine_whose_release_has_no_name_is_unknown(self):
        self.assertEqual(packages.codename_of('NAME="Debian"\nVERSION_CODENAME=bookworm\nID=debian\n'), "bookworm")
        self.assertIsNone(packages.codename_of("NAME=other\n"))


class KernelPackages(unittest.TestCase):
    def test_are_the_ones_with_all_drivers(self):
        for name in ("linux-image-6.1.0-57-amd64", "linux-image-6.12.95+deb12-amd64"):
            self.assertTrue(re.fullmatch(kernel.IMAGE, name), name)
        for name in ("linux-image-cloud-amd64", "linux-image-6.1.0-57-cloud-amd64", "linux-image-6.1.0-57-rt-amd64",
                     "linux-image-amd64", "linux-image-6.1.0-57-amd64-unsigned"):
            self.assertFalse(re.fullmatch(kernel.IMAGE, name), name)
