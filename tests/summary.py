#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up what `meson test` ran: summary.py BUILD SUITE...

Counts each GoogleTest case on its own, from the XML that its program wrote, and every other test as one. A program
that died before it wrote any, or failed though its cases passed (a sanitizer's finding at exit), is one failure.
Prints "N passed, N failed, N skipped" last; the status is 1 unless something passed and all did.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ET


def cases(xml_file):
    """Yields (name, result, detail) for each case of a GoogleTest report."""
    for case in ET.parse(xml_file).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            yield name, "failed", ""
        elif skipped is not None or case.get("status") == "notrun":
            yield name, "skipped", skipped.get("message", "") if skipped is not None else "disabled"
        else:
            yield name, "passed", ""


def main():
    build = pathlib.Path(sys.argv[1])
    counted = set()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    remarks = []

    def count(name, result, detail=""):
        counts[result] += 1
        if result != "passed":
            remarks.append(" ".join(f"{result}: {name} {detail}".split()))

    for suite in sys.argv[2:]:
        log = build / "meson-logs" / f"{suite}.json"
        if not log.exists():
            count(f"suite {suite}", "failed", "(nothing was run)")
            continue
        for line in log.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            reports = []
            for word in test["command"]:
                # A program that ran more than once wrote NAME.xml, NAME_1.xml, …
                name = re.compile(re.escape(pathlib.PurePath(word).name) + r"(_\d+)?\.xml")
                reports += (file for file in (build / "results" / suite).glob("*.xml") if name.fullmatch(file.name))
            # One a test, in the order in which they were written, which is that of the log.
            reports = sorted({report for report in reports if report not in counted},
                             key=lambda report: (len(report.name), report.name))[:1]
            counted.update(reports)
            found = [case for report in reports for case in cases(report)]
            for case in found:
                count(*case)
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                if not found:
                    count(test["name"], "passed")
            elif test["result"] == "SKIP":
                count(test["name"], "skipped")
            elif not any(result == "failed" for _, result, _ in found):
                count(test["name"], "failed", f"({test['result'].lower()}, status {test['returncode']})")

    for remark in remarks:
        print(remark)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 0 if counts["passed"] and not counts["failed"] and not counts["skipped"] else 1


sys.exit(main())
