# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

LAB = pathlib.Path(__file__).resolve().parents[2] / "lab/pyverbs"

PARSER = """
import sys
class Parser:
    def parse_args(self):
        self.words = sys.argv[1:]
parser = Parser()
"""
TESTS = """
import os, unittest
from args_parser import parser
class Case(unittest.TestCase):
    def test_a_passes(self):
        print("in the way")
        self.assertEqual(parser.words, ["--dev", "device0", "--gid", "1"])
    def test_b_crashes(self):
        os._exit(3)
    def test_c_fails(self):
        self.fail("it is  red")
    def test_d_is_skipped(self):
        self.skipTest("no device")
    def test_e_fails_in_a_part(self):
        with self.subTest(part=1):
            self.fail("blue")
"""


def module(name):
    spec = importlib.util.spec_from_file_location(name, LAB / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Suite(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        packaged = self.folder / "packaged"
        packaged.mkdir()
        for name, text in (("__init__.py", ""), ("args_parser.py", PARSER), ("test_x.py", TESTS)):
            (packaged / name).write_text(text, encoding="utf-8")
        self.suite = module("suite")
        self.suite.PACKAGED = packaged

    def run_it(self, *words, known=""):
        (self.folder / "known").write_text(known, encoding="utf-8")
        results = self.folder / "results"
        line = ["suite.py", "--known", str(self.folder / "known"), "device0", str(results), *words, "--", "--gid", "1"]
        with mock.patch("sys.argv", line), contextlib.redirect_stderr(io.StringIO()) as said:
            status = self.suite.main()
        found = [json.loads(text) for text in results.read_text(encoding="utf-8").splitlines()]
        return status, {words["test"].rpartition(".")[2]: words for words in found}, said.getvalue()

    def test_goes_on_behind_a_test_that_crashes(self):
        status, found, _ = self.run_it()
        self.assertEqual(status, 1)
        self.assertEqual({name: words["result"] for name, words in found.items()}, {
            "test_a_passes": "passed", "test_b_crashes": "failed", "test_c_fails": "failed",
            "test_d_is_skipped": "skipped", "test_e_fails_in_a_part": "failed"})
        self.assertIn("status 3", found["test_b_crashes"]["why"])
        self.assertIn("it is red", found["test_c_fails"]["why"])
        self.assertEqual(found["test_d_is_skipped"]["why"], "no device")

    def test_runs_what_is_chosen_and_is_content_if_that_passes(self):
        status, found, _ = self.run_it("tests.test_x.Case.test_a", "tests.test_x.Case.test_d")
        self.assertEqual((status, sorted(found)), (0, ["test_a_passes", "test_d_is_skipped"]))

    def test_knows_what_fails_and_wants_that_to_stay_true(self):
        known = "# no reason is needed\ntests.test_x.Case.test_c_fails it is red\n"
        chosen = ("tests.test_x.Case.test_a", "tests.test_x.Case.test_c")
        self.assertEqual(self.run_it(*chosen, known=known)[0], 0)
        status, _, said = self.run_it(*chosen, known=known + "tests.test_x.Case.test_a_passes why\n")
        self.assertEqual(status, 1)
        self.assertIn("test_a_passes passed, and is listed", said)


class Table(unittest.TestCase):
    def test_counts_by_file_and_names_what_failed(self):
        table = module("table")
        words = [{"test": "tests.test_x.Case.test_a", "result": "passed", "why": ""},
                 {"test": "tests.test_x.Case.test_b", "result": "failed", "why": "a|b"},
                 {"test": "tests.test_y.Case.test_c", "result": "skipped", "why": "none"}]
        self.assertEqual(table.summary({"6.1": words})[2:], [
            "| test\\_x | 1 / 1 / 0 |", "| test\\_y | 0 / 0 / 1 |", "| **all** | 1 / 1 / 1 |"])
        self.assertIn("| test\\_x.Case.test\\_b | a\\|b |", table.failures("6.1", words))
        self.assertIn("| 1 | none |", table.skips("6.1", words))
