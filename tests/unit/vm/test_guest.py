# SPDX-License-Identifier: BSD-3-Clause
import unittest

from mrz_vm.guest import Guest
from mrz_vm.outcome import Failure
from mrz_vm.quantities import hugepages

GIB = 1 << 30


class Guests(unittest.TestCase):
    def refusal(self, **wish):
        with self.assertRaises(Failure) as refused:
            Guest(**wish).check()
        return str(refused.exception)

    def test_that_can_be_are_let_be(self):
        Guest().check()
        Guest(memory=4 * GIB, nodes=2, cpus=3, hugepages=hugepages("2M=512@0,2M=512@1")).check()

    def test_that_cannot_be_are_refused_with_what_helps(self):
        self.assertIn("--cpus 3", self.refusal(nodes=3, cpus=2))
        self.assertIn("whole 2 MiB", self.refusal(nodes=3, cpus=3, memory=GIB))
        self.assertIn("--nodes 3", self.refusal(nodes=2, hugepages=hugepages("2M=1@2")))
        self.assertIn("--memory 3G", self.refusal(memory=GIB, hugepages=hugepages("1G=2")))
        self.assertIn("do not fit node 1",
                      self.refusal(memory=8 * GIB, nodes=2, cpus=2, hugepages=hugepages("1G=5@1")))
