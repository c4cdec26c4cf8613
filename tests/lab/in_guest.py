#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test program in a guest: in_guest.py MRZ_VM [OPTION OF MRZ_VM]... -- PROGRAM [ARGUMENT]...

The program gets the variables of tests (GTEST_*, MRZ_*), and its report comes to where it was wanted. Where there can
be no guest the test is skipped, saying why; where MRZ_STRICT is set that is a failure.
"""
import os
import pathlib
import subprocess
import sys

MISSING = 122  # mrz-vm(1)
SKIPPED = 77  # Meson's.


def main():
    mrz_vm, *rest = sys.argv[1:]
    options, program = rest[: rest.index("--")], rest[rest.index("--") :]
    for name, value in os.environ.items():
        if name.startswith(("GTEST_", "MRZ_")):
            options += ["--env", f"{name}={value}"]
    report = os.environ.get("GTEST_OUTPUT", "").removeprefix("xml:")
    if report:
        folder = pathlib.Path(report if report.endswith("/") else pathlib.Path(report).parent)
        options += ["--output", str(folder.absolute())]
    status = subprocess.run([mrz_vm, "run", *options, *program], check=False).returncode
    if status == MISSING and not os.environ.get("MRZ_STRICT"):
        return SKIPPED
    return status


sys.exit(main())
