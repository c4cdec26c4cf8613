#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What suite.py found, as Markdown: table.py TITLE=RESULTS...

A row a file of tests with the counts of each run, "passed / failed / skipped"; below it the tests that failed, and why
tests were skipped, with how many.
"""
import collections
import json
import pathlib
import sys

RESULTS = ("passed", "failed", "skipped")


def read(text):
    return [json.loads(line) for line in text.splitlines()]


def file_of(test):
    """"tests.test_qp.QPTest.test_create" → "test_qp"."""
    return test.split(".")[1]


def short(test):
    return ".".join(test.split(".")[1:])


def cell(text):
    return text.replace("|", "\\|").replace("<", "\\<").replace("_", "\\_").replace("*", "\\*")


def counts(words):
    numbers = collections.Counter(word["result"] for word in words)
    return " / ".join(str(numbers[result]) for result in RESULTS)


def summary(runs):
    files = sorted({file_of(word["test"]) for words in runs.values() for word in words})
    lines = ["| tests | " + " | ".join(runs) + " |", "|---" * (len(runs) + 1) + "|"]
    for file in files:
        lines.append(f"| {cell(file)} | " + " | ".join(
            counts([word for word in words if file_of(word["test"]) == file]) for words in runs.values()) + " |")
    lines.append("| **all** | " + " | ".join(counts(words) for words in runs.values()) + " |")
    return lines


def failures(title, words):
    failed = [word for word in words if word["result"] == "failed"]
    if not failed:
        return [f"Failed on {title}: none."]
    return [f"Failed on {title}:", "", "| test | why |", "|---|---|",
            *(f"| {cell(short(word['test']))} | {cell(word['why'])} |" for word in failed)]


def skips(title, words):
    reasons = collections.Counter(word["why"] for word in words if word["result"] == "skipped")
    return [f"Skipped on {title}:", "", "| tests | why |", "|---|---|",
            *(f"| {number} | {cell(why)} |" for why, number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])))]


def main():
    runs = {}
    for word in sys.argv[1:]:
        title, _, file = word.partition("=")
        runs[title] = read(pathlib.Path(file).read_text(encoding="utf-8"))
    print("passed / failed / skipped\n")
    for part in (summary(runs), *(failures(*run) for run in runs.items()), *(skips(*run) for run in runs.items())):
        print("\n".join(part) + "\n")


if __name__ == "__main__":
    main()
