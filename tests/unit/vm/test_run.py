# SPDX-License-Identifier: BSD-3-Clause
import pathlib
import tempfile
import unittest

from mrz_vm import emulator
from mrz_vm.outcome import Failure, Status
from mrz_vm.run import Progress, verdict


class Verdict(unittest.TestCase):
    def verdict(self, heard=b"", said="", qemu_status=0, qemu_log=""):
        progress = Progress()
        for byte in heard:
            progress.hear(bytes([byte]))  # however they are split
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as console:
            console.write(said)
            console.flush()
            return verdict(progress, pathlib.Path(console.name), qemu_status, qemu_log)

    def failure(self, status, **end):
        with self.assertRaises(Failure) as failed:
            self.verdict(**end)
        self.assertEqual(failed.exception.status, status)
        return failed.exception

    def test_is_the_programs_status_even_if_the_guest_did_not_end_well(self):
        self.assertEqual(self.verdict(heard=b"running\nstatus 137\n"), 137)
        self.assertEqual(self.verdict(heard=b"running\nstatus 0\n", said="Kernel panic - not syncing: x", qemu_status=1), 0)

    def test_is_a_panic_with_what_led_to_it(self):
        said = "\r\n".join(["before"] * 100 + ["why", "Kernel panic - not syncing: x"] + ["behind"] * 100)
        failure = self.failure(Status.PANIC, heard=b"running\n", said=said)
        self.assertIn("while it ran the program", str(failure))
        self.assertIn("why\nKernel panic - not syncing: x\nbehind", failure.console)
        self.assertLess(len(failure.console.splitlines()), 30)
        self.assertIn("while it booted", str(self.failure(Status.PANIC, said=said)))

    def test_is_what_the_guest_says_it_could_not_do(self):
        self.assertEqual(str(self.failure(Status.FAILED, heard=b"failed no such module\n")), "no such module")

    def test_is_that_the_guest_was_lost(self):
        self.failure(Status.LOST, said="booting\n")
        self.assertIn("while it ran", str(self.failure(Status.LOST, heard=b"running\n")))
        # Half a word is none.
        self.failure(Status.LOST, heard=b"running\nstatus 0")

    def test_is_what_qemu_says(self):
        self.assertIn("invalid option", str(self.failure(Status.FAILED, qemu_status=1, qemu_log="qemu:\n invalid option")))
        self.failure(Status.LOST, qemu_status=-9, said="booting")


class Accelerator(unittest.TestCase):
    def choice(self, cpuinfo, kvm="/dev/null", asked="auto"):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(cpuinfo)
            file.flush()
            return emulator.accelerator(asked, pathlib.Path(file.name), pathlib.Path(kvm))

    def test_is_kvm_where_the_processor_can(self):
        self.assertEqual(self.choice("flags\t\t: fpu vmx sse\n"), "kvm")
        self.assertEqual(self.choice("flags\t\t: fpu sse svm\n"), "kvm")
        self.assertEqual(self.choice("flags\t\t: fpu sse vmx_like\n"), "tcg")
        self.assertEqual(self.choice("flags\t\t: vmx\n", kvm="/nowhere"), "tcg")
        self.assertEqual(self.choice("", asked="kvm"), "kvm")
