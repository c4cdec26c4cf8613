# SPDX-License-Identifier: BSD-3-Clause
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from mrz_vm import cache, emulator, newer_qemu, run
from mrz_vm.guest import Guest
from mrz_vm.outcome import Failure, Status


class NewerQemu(unittest.TestCase):
    FOLDER = pathlib.Path("/cache/qemu")

    def test_takes_nothing_of_the_machines(self):
        qemu = newer_qemu.started_from(self.FOLDER)
        named = [word for word in qemu.command if word.startswith("/")] + list(qemu.variables.values())
        self.assertTrue(all(word.startswith("/cache/qemu/usr/") for word in named), named)
        self.assertIn("--inhibit-cache", qemu.command)
        with mock.patch.dict(os.environ, {"LD_PRELOAD": "x.so", "LD_LIBRARY_PATH": "/lib"}):
            self.assertFalse({"LD_PRELOAD", "LD_LIBRARY_PATH"} & qemu.environment().keys())
            # The machine's own may need them.
            self.assertEqual(emulator.Qemu(("qemu",)).environment()["LD_PRELOAD"], "x.so")


class Choice(unittest.TestCase):
    """Which QEMU a guest gets, with programs in the place of this machine's."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kept = cache.Cache(self.folder / "cache")
        (self.folder / "cache/qemu").mkdir(parents=True)

    def this_machine_has(self, text):
        path = self.folder / "qemu-system-x86_64"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o700)
        self.enterContext(mock.patch("mrz_vm.tools.PATH", str(self.folder)))
        return (str(path),)

    def test_is_this_machines_if_it_can(self):
        old = self.this_machine_has("exit 1")
        self.assertEqual(run.find_qemu(Guest(), None, self.kept).command, old)
        new = self.this_machine_has('echo "vfio-user-pci options:"')
        self.assertEqual(run.find_qemu(Guest(adapters=1), None, self.kept).command, new)

    def test_is_else_the_newer_one(self):
        self.this_machine_has("exit 1")
        newer = newer_qemu.started_from(self.folder / "cache/qemu")
        self.assertEqual(run.find_qemu(Guest(adapters=1), None, self.kept), newer)
        self.assertEqual(run.find_qemu(Guest(vfio_user=("/s",)), None, self.kept), newer)
        self.enterContext(mock.patch("mrz_vm.tools.PATH", "/nowhere"))
        self.assertEqual(run.find_qemu(Guest(adapters=1), None, self.kept), newer)

    def test_is_nothing_else_than_what_is_named(self):
        self.assertEqual(run.find_qemu(Guest(), "/bin/false", self.kept).command, ("/bin/false",))
        for guest, path in ((Guest(), "/nowhere/qemu"), (Guest(adapters=1), "/bin/false")):
            with self.assertRaises(Failure) as failed:
                run.find_qemu(guest, path, self.kept)
            self.assertEqual(failed.exception.status, Status.MISSING)
