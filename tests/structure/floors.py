#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves the house: floors.py COMPILE_COMMANDS SOURCE_ROOT BUILT_FLOOR...

Asks the compiler, by the very commands that the build uses for each floor of lib/, which headers it finds: those of
floors below, and no others. Every public header must compile alone, without a warning.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

# Which floors' headers a floor sees besides its own, as doc/architecture.md has it. A floor may be named before it is
# there.
SEES = {
    "base": set(),
    "layouts": set(),
    "host": {"base"},
    "plan": {"base"},
    "hugepage": {"base", "host", "plan"},
    "hca": {"base"},
    "device": {"base", "host", "plan"},
    "region": {"base", "host", "plan", "device"},
    "cache": {"base", "host", "plan", "device", "region"},
    "zone": {"base", "host", "plan", "device", "region", "hugepage"},
    "telemetry": {"base", "host", "plan", "device", "region", "cache", "hugepage", "zone"},
    "capi": {"base", "host", "plan", "device", "region", "cache", "hugepage", "zone", "telemetry"},
}
# Floors that know no DPDK.
WITHOUT_DPDK = {"base", "host", "plan", "hugepage", "hca", "device", "region", "cache"}
# Files that alone of their floor know DPDK, by a library of their own.
APART = {("cache", "dpdk_memory.cpp"), ("region", "checksum.cpp"), ("region", "quiescence.cpp")}
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]

COMPILE_COMMANDS, SOURCE_ROOT = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
BUILT = set(sys.argv[3:])
FOLDERS = {path.name for path in (SOURCE_ROOT / "lib").iterdir() if path.is_dir()}


def floor_commands():
    """The compiler's command for one file of each floor, without that file and what it writes."""
    commands = {}
    for entry in json.loads(COMPILE_COMMANDS.read_text(encoding="utf-8")):
        file = pathlib.Path(os.path.normpath(pathlib.Path(entry["directory"]) / entry["file"]))
        parts = file.relative_to(SOURCE_ROOT).parts if file.is_relative_to(SOURCE_ROOT) else ()
        if len(parts) < 3 or parts[0] != "lib" or parts[1] in commands or parts[1:] in APART:
            continue
        words = []
        arguments = iter(shlex.split(entry["command"]))
        for word in arguments:
            if word in ("-o", "-MF", "-MQ"):
                next(arguments)
            elif word not in ("-c", "-MD", entry["file"]):
                words.append(word)
        commands[parts[1]] = (words, entry["directory"])
    return commands


def headers_of(floor):
    """As one includes them: mrzone/plan.hpp, or hca/hca.hpp where they are not for programs."""
    folder = SOURCE_ROOT / "lib" / floor / "include"
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.h*"))


def run(command, directory, source, *options):
    """(whether the compiler was content, what it wrote, what it said)"""
    result = subprocess.run(
        [*command, *options, "-"], cwd=directory, input=source, text=True, capture_output=True, check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    return result.returncode == 0, result.stdout, result.stderr


def found(command, directory, headers):
    """Which of the headers an #include finds. Only the preprocessor runs, since that is what looks for them."""
    source = "".join(f"#if __has_include(<{header}>)\nFOUND {header}\n#endif\n" for header in headers)
    good, wrote, said = run(command, directory, source, "-E", "-P", "-x", "c++")
    assert good, said
    # In a header's name the preprocessor may put spaces between what it takes for operators.
    return {line.removeprefix("FOUND").replace(" ", "") for line in wrote.splitlines() if line.startswith("FOUND")}


class Floors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = floor_commands()

    def each(self, cases, check):
        """check(case) for all, as many at once as there are processors; returns the message of one that fails."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [message for message in pool.map(check, cases) if message]
        self.assertFalse(wrong, "\n".join(["", *wrong]))

    def test_every_floor_is_named_here_and_every_built_one_checked(self):
        self.assertLessEqual(FOLDERS, set(SEES))
        self.assertEqual(set(self.commands), BUILT)

    def test_includes_look_down_only(self):
        headers = {header: other for other in FOLDERS for header in headers_of(other)}
        for floor, command in self.commands.items():
            below = {header for header, other in headers.items() if other == floor or other in SEES[floor]}
            self.assertEqual(found(*command, headers), below, f"what lib/{floor} can include")

    def test_no_floor_is_reached_by_its_folder(self):
        files = [str(path.relative_to(SOURCE_ROOT / "lib")) for path in (SOURCE_ROOT / "lib").glob("**/*.hpp")]
        for floor, command in self.commands.items():
            self.assertEqual(found(*command, files), set(), f"what lib/{floor} can reach by folders")
        climbing = re.compile(r'^\s*#\s*include\s*["<][^">]*\.\./', re.MULTILINE)
        self.assertEqual([], [str(path) for path in (SOURCE_ROOT / "lib").glob("**/*.[ch]pp")
                              if climbing.search(path.read_text(encoding="utf-8"))])

    def test_lower_floors_know_no_dpdk(self):
        for floor in self.commands:
            if floor in WITHOUT_DPDK | {"zone", "telemetry"}:
                self.assertEqual(bool(found(*self.commands[floor], ["rte_eal.h"])), floor not in WITHOUT_DPDK,
                                 f"whether lib/{floor} can include <rte_eal.h>")

    def test_every_public_header_compiles_alone(self):
        includes = [f"-I{SOURCE_ROOT}/lib/{floor}/include" for floor in FOLDERS]

        def check(case):
            header, compiler, standard, language = case
            good, _, said = run([compiler, f"-std={standard}", *WARNINGS, *includes], "/",
                                f"#include <{header}>\n#include <{header}>\n", "-fsyntax-only", "-x", language)
            return None if good else f"{header} as {standard}: {said}"

        headers = [header for floor in FOLDERS for header in headers_of(floor)]
        cases = [(header, "c++", "c++20", "c++") for header in headers]
        cases += [(header, "cc", "c11", "c") for header in headers if header.endswith(".h")]
        self.each(cases, check)


unittest.main(argv=sys.argv[:1], verbosity=2)
