# SPDX-License-Identifier: BSD-3-Clause
import os
import pathlib
import socket
import sys
import tempfile
import unittest

from mrz_vm import hca
from mrz_vm.outcome import Failure, Status


class Wishes(unittest.TestCase):
    def test_are_options_of_the_program_but_for_its_log_and_place(self):
        self.assertEqual(hca.wish(""), hca.Wish())
        self.assertEqual(hca.wish("flag,name=a=b,log=/tmp/a,,b,program=/c"),
                         hca.Wish(("--flag", "--name=a=b"), pathlib.Path("/tmp/a,b"), "/c"))
        self.assertEqual(hca.wish("name="), hca.Wish(("--name=",)))
        self.assertEqual(hca.wish("link-type=ethernet,address=10.1.0.1"),
                         hca.Wish(("--link-type=ethernet",), address="10.1.0.1"))

    def test_that_are_none_are_refused(self):
        for text in ("--flag", "a,", "=b", "A=b", "socket=/tmp/s", "log", "log=a,log=b", "program=", "link=/tmp/l",
                     "address=10.1.0.1", "link-type=ethernet,address=10.1.0.1/24", "link-type=ethernet,address=a"):
            with self.assertRaises(ValueError, msg=text):
                hca.wish(text)

    def test_of_one_run_are_linked_each_with_each_other(self):
        wishes = [hca.Wish(("--name=a",)), hca.Wish(), hca.Wish(("--link-type=ethernet",)), hca.wish("name=d,link=/l")]
        self.assertEqual([wished.options for wished in hca.linked(wishes, pathlib.Path("/run"))],
                         [("--name=a", "--link=/run/link0-1", "--link=/run/link0-3"),
                          ("--link=/run/link0-1", "--link=/run/link1-3"), ("--link-type=ethernet",),
                          ("--name=d", "--link=/l", "--link=/run/link0-3", "--link=/run/link1-3")])


class Program(unittest.TestCase):
    def test_is_the_one_built_or_installed_with_the_launcher(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder).resolve()
            for name in ("vm", "hca"):
                (here / name).mkdir()
            with self.assertRaises(Failure) as failed:
                hca.program_beside(here / "vm/mrz-vm")
            self.assertEqual(failed.exception.status, Status.MISSING)
            for place in (here / "hca/mrz-hca", here / "vm/mrz-hca"):  # the second is preferred
                place.touch(0o700)
                self.assertEqual(hca.program_beside(here / "vm/mrz-vm"), str(place))


class Listening(unittest.TestCase):
    def test_is_seen_only_once_clients_are_waited_for(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            path = pathlib.Path(folder, "a b")
            server.bind(str(path))
            self.assertFalse(hca.listens(path, hca.SOCKETS.read_text(encoding="utf-8")))
            server.listen()
            self.assertTrue(hca.listens(path, hca.SOCKETS.read_text(encoding="utf-8")))
            self.assertFalse(hca.listens(f"{path}2", hca.SOCKETS.read_text(encoding="utf-8")))


class Adapters(unittest.TestCase):
    """With a program in mrz-hca's place."""

    LISTENS = ("import signal, socket, sys\nserver = socket.socket(socket.AF_UNIX)\n"
               "server.bind(sys.argv[1].partition('=')[2])\nprint(sys.argv[2:], flush=True)\nserver.listen()\n"
               "signal.pause()\n")

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, text):
        path = self.folder / "program"
        path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        path.chmod(0o700)
        return str(path)

    def test_listen_each_on_a_socket_of_its_own_and_end_with_the_run(self):
        program = self.program(self.LISTENS)
        wishes = [hca.Wish(("--name=a",), self.folder / "log", program), hca.Wish(("--b",), self.folder / "log2", program)]
        with hca.adapters(wishes, self.folder, "/nowhere/mrz-vm") as running:
            self.assertEqual(len({adapter.socket for adapter in running}), 2)
            self.assertFalse(any(adapter.ended() for adapter in running))
            link = f"'--link={self.folder}/link0-1'"
            self.assertEqual((self.folder / "log").read_text(encoding="utf-8"), f"['--name=a', {link}]\n")
            self.assertEqual((self.folder / "log2").read_text(encoding="utf-8"), f"['--name=mrz-hca1', '--b', {link}]\n")
        self.assertTrue(all(adapter.ended() for adapter in running))
        with self.assertRaises(OSError):
            os.fstat(running[0].descriptor)

    def test_that_do_not_start_are_told_of_with_what_they_said(self):
        program = self.program("import sys\nsys.exit('no such option')\n")
        with self.assertRaises(Failure) as failed:
            with hca.adapters([hca.Wish(program=program)], self.folder, ""):
                self.fail("it has ended")
        self.assertIn("it ended with status 1", str(failed.exception))
        self.assertIn("no such option", failed.exception.log)

    def test_whose_socket_cannot_have_its_path_are_refused(self):
        with self.assertRaises(Failure) as failed:
            with hca.adapters([hca.Wish(program="/bin/true")], self.folder / ("x" * 100), ""):
                self.fail("there is no such folder")
        self.assertIn("too long", str(failed.exception))
