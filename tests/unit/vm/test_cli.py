# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import io
import pathlib
import unittest

from mrz_vm import cli, hca
from mrz_vm.outcome import Status
from mrz_vm.quantities import Hugepages


class Arguments(unittest.TestCase):
    def refusal(self, *words):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            cli.arguments(list(words), "0")
        self.assertEqual(end.exception.code, Status.FAILED)
        return said.getvalue()

    def test_all_behind_the_dashes_is_the_programs(self):
        options = cli.arguments(["run", "--memory", "2G", "--", "program", "--memory", "--", "-x"], "0")
        self.assertEqual(options.program, ["program", "--memory", "--", "-x"])
        self.assertEqual(options.memory, 2 << 30)

    def test_are_read(self):
        options = cli.arguments(["run", "--hugepages", "2M=8@1,1G=1", "--env", "A=b=c", "--env", "D=", "--module", "m",
                                 "--", "x"], "0")
        self.assertEqual(options.hugepages, (Hugepages("2M", 8, 1), Hugepages("1G", 1)))
        self.assertEqual(options.env, [("A", "b=c"), ("D", "")])
        self.assertEqual(options.module, ["m"])
        self.assertEqual(options.memory, 4 << 30)

    def test_of_adapters_are_read(self):
        options = cli.arguments(["run", "--hca", "--hca", "link-type=ethernet,log=/tmp/log", "--vfio-user", "a",
                                 "--vfio-user", "b", "--", "x"], "0")
        self.assertEqual(options.hca, [hca.Wish(), hca.Wish(("--link-type=ethernet",), pathlib.Path("/tmp/log"))])
        self.assertEqual(options.vfio_user, ["a", "b"])

    def test_are_refused_with_a_status_that_is_no_programs(self):
        self.assertIn("no program is named", self.refusal("run", "--memory", "2G"))
        self.assertIn("NAME=VALUE", self.refusal("run", "--env", "A", "--", "x"))
        self.assertIn("invalid choice", self.refusal("run", "--kernel", "5.10", "--", "x"))
        self.assertIn("no number from 1 on", self.refusal("run", "--cpus", "0", "--", "x"))
        self.assertIn("is not OPTION or OPTION=VALUE", self.refusal("run", "--hca=--name", "--", "x"))
        self.assertIn("only 'run' takes a program", self.refusal("fetch", "--", "x"))
        self.assertIn("required", self.refusal())
