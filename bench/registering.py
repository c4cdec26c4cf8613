#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What registering costs an mlx5 adapter by each way, beside the other: umems of direct verbs, and ibv_reg_mr.

mrz-bench's rows register/mlx5/... and register/verbs/... are run in a guest of mrz-vm, in turns, and mrz-hca, its
adapter, tells which commands came of each, and how many bytes these had. With --registration=command ibv_reg_mr is a
command that carries every translation; with umr the driver fills keys that it keeps by work requests.

Under an emulator time tells nothing but ratios, of the same run. Needs root and what tests/run.sh lab installs.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

MEMORY = ("4K/64MiB", "THP/64MiB", "2M/64MiB", "2M/1GiB", "1G/1GiB")
WAYS = ("mlx5", "verbs")
PROGRAMS = ("bench/mrz-bench", "apps/vm/mrz-vm", "apps/hca/mrz-hca")
COMMANDS = ("CREATE_MKEY", "QUERY_MKEY", "CREATE_UMEM")

# Runs a script after the other, each of which is there once its name is.
LOOP = """
cd "$1"
echo ready >&2
next=1
until [ -e end ]; do
    if [ -e script.$next ]; then
        sh script.$next >out.$next 2>err.$next </dev/null
        echo $? >status.$next.new
        mv status.$next.new status.$next
        next=$((next + 1))
    else
        sleep 0.1
    fi
done
"""


class Guest:
    def __init__(self, build, folder, kernel, registration):
        self.folder = folder
        self.hca = build / "apps" / "hca" / "mrz-hca"
        self.scripts = 0
        self.process = subprocess.Popen(
            [build / "apps" / "vm" / "mrz-vm", "run", "--kernel", kernel, "--timeout", "3000", "--memory", "10G",
             "--output", folder, f"--hca=registration={registration},control={folder / 'control'}",
             "--", "/bin/sh", "-c", LOOP, "sh", folder],
            stderr=sys.stderr)

    def run(self, command):
        self.scripts += 1
        script = self.folder / f"script.{self.scripts}"
        script.with_suffix(".new").write_text(shlex.join(map(str, command)) + "\n")
        script.with_suffix(".new").rename(script)
        status = self.folder / f"status.{self.scripts}"
        while not status.exists():
            if self.process.poll() is not None:
                raise SystemExit(f"registering.py: the guest has ended with status {self.process.returncode}")
            time.sleep(0.1)
        out = (self.folder / f"out.{self.scripts}").read_text()
        if int(status.read_text()) != 0:
            raise SystemExit("registering.py: " + out + (self.folder / f"err.{self.scripts}").read_text())
        return out

    def commands(self):
        answer = subprocess.run([self.hca, "control", self.folder / "control", "get", "counters"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        counted = json.loads(answer)["commands"]
        return {name: counted.get(name, {"times": 0, "bytes": 0}) for name in COMMANDS}

    def __enter__(self):
        self.run(["true"])  # Its adapter can be asked from then on.
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()

    def end(self):
        (self.folder / "end").touch()
        return self.process.wait()


def measure(guest, bench, way, memory):
    """One registration: milliseconds, entries, commands and their bytes; None where the guest has no such memory."""
    before = guest.commands()
    result = guest.folder / "row.json"
    guest.run([bench, f"--benchmark_filter=^register/{way}/{memory}(/|$)", "--benchmark_repetitions=1",
               "--benchmark_report_aggregates_only=false", f"--benchmark_out={result}", "--benchmark_out_format=json"])
    after = guest.commands()
    rows = [row for row in json.loads(result.read_text())["benchmarks"]
            if row.get("run_type") == "iteration" and not row.get("error_occurred")]
    if not rows:
        return None
    return {
        "ms": statistics.median(row["real_time"] for row in rows),
        "tables_ms": statistics.median(row["tables_ms"] for row in rows),
        "entries": rows[0]["entries"],
        "commands": sum(after[name]["times"] - before[name]["times"] for name in COMMANDS) / len(rows),
        "bytes": sum(after[name]["bytes"] - before[name]["bytes"] for name in COMMANDS) / len(rows),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--kernel", default="6.1", help="of the guest (6.1)")
    parser.add_argument("--registration", choices=("command", "umr"), default="command")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    for program in PROGRAMS:
        if not (build / program).exists():
            raise SystemExit(f"registering.py: {build / program} is missing: ninja -C {build}")
    measured = {}
    with tempfile.TemporaryDirectory(prefix="mrz-registering-") as name:
        with Guest(build, pathlib.Path(name), arguments.kernel, arguments.registration) as guest:
            for _ in range(arguments.rounds):
                for memory in MEMORY:
                    for way in WAYS:
                        one = measure(guest, build / "bench" / "mrz-bench", way, memory)
                        if one:
                            measured.setdefault((memory, way), []).append(one)
            status = guest.end()
    if status != 0:
        raise SystemExit(status)
    print(f"{'memory':12}{'way':8}{'entries':>9}{'commands':>10}{'bytes':>12}{'ms':>10}")
    for memory in MEMORY:
        for way in WAYS:
            rows = measured.get((memory, way))
            if not rows:
                print(f"{memory:12}{way:8}   the guest has no such memory")
                continue
            median = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
            print(f"{memory:12}{way:8}{median['entries']:9.0f}{median['commands']:10.0f}{median['bytes']:12.0f}"
                  f"{median['ms']:10.2f}")


main()
