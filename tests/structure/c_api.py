#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the C API is one thing: c_api.py SOURCE_ROOT LIBRARY NM CALL=PAGE...

What mrzone.h declares is what the library exports, under the version that c_symbols.txt says; that, and what lookup.h
defines inline, is what the manual pages document. CALL=PAGE names the page that is installed under the name of each
call.
"""
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE_ROOT, LIBRARY, NM = sys.argv[1:4]
PAGE_OF = dict(argument.split("=") for argument in sys.argv[4:])
HEADER = pathlib.Path(SOURCE_ROOT, "lib/capi/include/mrzone/mrzone.h")
LOOKUP_HEADER = pathlib.Path(SOURCE_ROOT, "lib/region/include/mrzone/lookup.h")
SYMBOLS = pathlib.Path(SOURCE_ROOT, "tests/structure/c_symbols.txt")
MANUALS = pathlib.Path(SOURCE_ROOT, "doc/man")


def plain(declaration):
    """One spelling of a type and name: "const char *text"."""
    return re.sub(r"\s*\*\s*", "*", re.sub(r"\s+", " ", declaration)).strip()


def calls_in(header, pattern):
    """name -> (return type, parameters), of what the pattern finds in the header"""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {name: (plain(result), [plain(parameter) for parameter in parameters.split(",")])
            for result, name, parameters in re.findall(pattern, text, re.MULTILINE)}


def declared():
    """What the library has to export."""
    return calls_in(HEADER, r"^MRZ_API\s+([^;(]*?)(\w+)\(([^;]*)\);")


def inlined():
    """What is in the header itself; a name that ends with _ is not for callers."""
    return calls_in(LOOKUP_HEADER, r"^static inline\s+([^;(]*?)(\w*[^_\W])\(([^;{]*)\)\n\{")


def documented(page):
    """name -> (return type, parameters), as the page's synopsis has it"""
    text = (MANUALS / f"{page}.3").read_text(encoding="utf-8")
    calls = re.findall(r'^\.Ft "?(.*?)"?\n\.Fo (\w+)\n(.*?)^\.Fc$', text, re.MULTILINE | re.DOTALL)
    return {name: (plain(result), [plain(parameter) for parameter in re.findall(r'\.Fa "?(.*?)"?\n', parameters)])
            for result, name, parameters in calls}


class CApi(unittest.TestCase):
    def test_the_header_declares_what_the_library_exports(self):
        listed = SYMBOLS.read_text(encoding="utf-8").splitlines()
        self.assertEqual(listed, sorted(listed))
        self.assertEqual(sorted(declared()), [line.split("@")[0] for line in listed])

    def test_the_library_exports_what_is_listed_with_its_version(self):
        lines = subprocess.run([NM, "--dynamic", "--defined-only", "--with-symbol-versions", LIBRARY],
                               check=True, capture_output=True, text=True).stdout.splitlines()
        # C++ names are mangled; a version node is an absolute symbol.
        exported = sorted(name for _, kind, name in map(str.split, lines) if kind != "A" and not name.startswith("_Z"))
        self.assertEqual(SYMBOLS.read_text(encoding="utf-8").splitlines(), exported)

    def test_each_call_has_a_page_that_spells_it_as_the_header(self):
        calls = declared() | inlined()
        self.assertIn("mrz_lookup", calls)
        self.assertEqual(set(calls), set(PAGE_OF) - {"mrzone"})
        pages = {}
        for page in sorted(set(PAGE_OF.values())):
            for name, spelling in documented(page).items():
                self.assertEqual(PAGE_OF.get(name), page, name)
                pages[name] = spelling
        self.assertEqual(calls, pages)

    def test_pages_name_only_what_is_there(self):
        header = HEADER.read_text(encoding="utf-8") + LOOKUP_HEADER.read_text(encoding="utf-8")
        for path in sorted(MANUALS.glob("*.3")):
            text = path.read_text(encoding="utf-8")
            self.assertIn(path.stem, PAGE_OF.values())
            names = set(re.findall(r"^\.Nm (\w+)", text, re.MULTILINE))
            self.assertEqual(names, {call for call, page in PAGE_OF.items() if page == path.stem}, path.name)
            for word in set(re.findall(r"\b(?:mrz|MRZ)_[a-zA-Z_]+", text)):
                if word != path.stem.upper():
                    self.assertRegex(header, rf"\b{word}\b", path.name)


unittest.main(argv=sys.argv[:1], verbosity=2)
