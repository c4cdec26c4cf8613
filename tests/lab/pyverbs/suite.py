#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rdma-core's own tests on a device of this machine.

    suite.py [--known FILE] DEVICE RESULTS [NAME]... [-- OPTION_OF_THEIRS...]

Debian's package python3-pyverbs brings them along as documentation. They run in a process apart, one after another: one
that hangs or crashes is its own failure, and the next ones go on in a new process. NAMEs choose those whose name begins
with one of them. RESULTS gets one JSON object a line, of test, result and why; standard error how it goes. The status is
0 if nothing failed but what is known to: FILE has a line "TEST why" for each. One of those that has passed is a failure,
too, so that the list stays true.
"""
import argparse
import gzip
import io
import json
import os
import pathlib
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGED = pathlib.Path("/usr/share/doc/rdma-core/tests")
# An emulated machine takes its time; this is for those that would never end.
LIMIT = 90
LOADING = 600  # until the first one begins: their modules are many
LONGEST_REASON = 300


def unpack(folder):
    """Their package, with the name that its modules know each other by."""
    place = pathlib.Path(folder, "tests")
    place.mkdir()
    for file in PACKAGED.iterdir():
        if file.suffix == ".gz":
            (place / file.stem).write_bytes(gzip.decompress(file.read_bytes()))
        else:
            shutil.copy(file, place)


# ---- The process that runs them -----------------------------------------------------------------------------------

class Result(unittest.TestResult):
    """Tells of each test, at once."""

    def __init__(self, tell):
        super().__init__()
        self._tell = tell
        self._found = None

    def startTest(self, test):
        super().startTest(test)
        self._found = ("passed", "")
        self._tell({"begin": test.id()})

    def stopTest(self, test):
        super().stopTest(test)
        self._tell({"test": test.id(), "result": self._found[0], "why": self._found[1]})

    def _fail(self, error):
        self._found = ("failed", " ".join(f"{error[0].__name__}: {error[1]}".split())[-LONGEST_REASON:])

    def addError(self, test, err):
        if not hasattr(test, "_testMethodName"):  # a class or a module that could not be set up
            self._tell({"test": str(test), "result": "failed", "why": str(err[1])})
            return
        self._fail(err)

    def addFailure(self, test, err):
        self._fail(err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._fail(err)

    def addSkip(self, test, reason):
        self._found = ("skipped", " ".join(reason.split())) if self._found[0] == "passed" else self._found


def tests_in(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_in(part)
        else:
            yield part


def run_tests(folder, options, chosen, done):
    """In the order of their names, without those that are done."""
    sys.path[:0] = [folder, f"{folder}/tests"]
    report = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what they print
    from args_parser import parser
    sys.argv[1:] = options
    parser.parse_args()
    tests = sorted(tests_in(unittest.defaultTestLoader.discover(f"{folder}/tests", top_level_dir=folder)),
                   key=lambda test: test.id())
    result = Result(lambda words: report.write(json.dumps(words) + "\n"))
    for test in tests:
        if test.id() not in done and (not chosen or test.id().startswith(tuple(chosen))):
            # A suite of one, which sets up the test's class and module.
            unittest.TestSuite([test]).run(result)


# ---- The process that waits for it --------------------------------------------------------------------------------

def attend(process, found, say):
    """Takes in what a process tells, until it ends or hangs. Returns the test that it was at, or None, and why."""
    current = None
    limit = LOADING
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        rest = b""
        while True:
            if not selector.select(limit):
                process.kill()
                process.wait()
                return current, f"it had not ended after {limit} seconds"
            limit = LIMIT
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                process.wait()
                return current, f"its process ended with status {process.returncode}"
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                words = json.loads(line)
                current = words.get("begin")
                if current is None:
                    found.append(words)
                    say(words)


def known_failures(text):
    """The names of the tests that the text lists; what else is on a line, and a line that begins with #, is for
    people."""
    return {line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")}


def surprises(found, known):
    """What is not as it was known to be, a line each."""
    lines = [f"{words['test']} failed: {words['why']}" for words in found
             if words["result"] == "failed" and words["test"] not in known]
    return lines + [f"{words['test']} passed, and is listed as one that fails" for words in found
                    if words["result"] == "passed" and words["test"] in known]


def arguments():
    words, options = sys.argv[1:], []
    if "--" in words:
        words, options = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--known", type=pathlib.Path)
    parser.add_argument("device")
    parser.add_argument("results")
    parser.add_argument("chosen", nargs="*")
    return parser.parse_args(words), options


def main():
    asked, options = arguments()
    known = known_failures(asked.known.read_text(encoding="utf-8")) if asked.known else set()
    if not PACKAGED.is_dir():
        sys.exit(f"suite.py: there is no {PACKAGED} (Debian: python3-pyverbs; a dpkg that leaves documentation out "
                 "leaves these tests out)")
    found = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, open(asked.results, "w", buffering=1, encoding="utf-8") as file:
        unpack(folder)

        def say(words):
            file.write(json.dumps(words) + "\n")
            print(f"{words['result']:8}{words['test']} {words['why']}", file=sys.stderr, flush=True)

        while True:
            task = {"folder": folder, "options": ["--dev", asked.device, *options], "chosen": asked.chosen,
                    "done": [words["test"] for words in found]}
            with subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                process.stdin.write(json.dumps(task).encode())
                process.stdin.close()
                culprit, why = attend(process, found, say)
            if culprit is None:
                break
            found.append({"test": culprit, "result": "failed", "why": why})
            say(found[-1])
    counts = {result: sum(words["result"] == result for words in found) for result in ("passed", "failed", "skipped")}
    print(", ".join(f"{count} {result}" for result, count in counts.items()), f"in {time.monotonic() - began:.0f} s",
          file=sys.stderr)
    unexpected = surprises(found, known)
    for line in unexpected:
        print(line, file=sys.stderr)
    return 0 if process.returncode == 0 and counts["passed"] and not unexpected else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main())
    given = json.load(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8"))
    run_tests(given["folder"], given["options"], given["chosen"], set(given["done"]))
