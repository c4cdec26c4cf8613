#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast mrz-testpmd forwards, beside dpdk-testpmd.

A pair is one fresh process of each, with the same two net_null ports, since where memory comes to lie differs from
process to process. Both stay while each engine is measured; they forward in turns (ABBA), in short windows, because a
neighbour disturbs a virtual machine for seconds. A rate is what the program itself prints: packets a second between
two "show port stats all". A process has the median of its windows, a pair the ratio of the two.

Pools of whole arenas stand beside native ones, external buffers in an arena beside testpmd's. Needs root; the
hugepages that it needs are reserved and put back.
"""

import argparse
import json
import math
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time

ENGINES = ("io", "mac", "macswap", "rxonly", "txonly")
# mrz-testpmd's --mp-alloc -> dpdk-testpmd's.
BESIDE = {"arena": "native", "arena-extbuf": "xbuf"}
PAGE_SIZE = 2 << 20
POOL = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
PATIENCE = 60  # Seconds, for one answer.
# Seconds from the start of forwarding to its measurement. The scheduler weighs a session by what it did on each CPU
# in the last tenth of a second, and starting is not the same work for both.
SETTLING = 0.1
QUIET = 0.97  # A forwarding lcore that had less of its CPU was disturbed.


def say(text):
    print(text, file=sys.stderr, flush=True)


class Hugepages:
    """A page pool that has as many free pages as it takes, for as long as it takes."""

    def __init__(self, pages):
        self.pages = pages
        self.added = 0

    def __enter__(self):
        free = self._read("free_hugepages") - self._read("resv_hugepages")
        before = self._read("nr_hugepages")
        if free < self.pages:
            self._write(before + self.pages - free)
            self.added = self._read("nr_hugepages") - before
            if free + self.added < self.pages:
                self.__exit__()
                raise SystemExit(f"forwarding.py: {self.pages} free hugepages of 2 MiB are needed, the kernel gave "
                                 f"{self.added} to the {free} there are; try: fewer --total-num-mbufs")
        return self

    def __exit__(self, *_):
        if self.added:
            self._write(self._read("nr_hugepages") - self.added)

    @staticmethod
    def _read(name):
        return int((POOL / name).read_text())

    @staticmethod
    def _write(pages):
        (POOL / "nr_hugepages").write_text(str(pages))


class Forwarder:
    """A process at whose prompt commands are typed."""

    def __init__(self, program, kind, options):
        # At a terminal both show a prompt before they read, and answers come at once, not when a buffer is full.
        self.terminal, slave = pty.openpty()
        self.command = [program, "--vdev=net_null0,size=64", "--vdev=net_null1,size=64", "--no-pci", "--in-memory",
                        "--no-telemetry", "-l", options.lcores, "--", "-i", f"--mp-alloc={kind}",
                        f"--burst={options.burst}", f"--mbcache={options.mbcache}",
                        f"--total-num-mbufs={options.total_num_mbufs}", f"--rxd={options.rxd}",
                        f"--txd={options.txd}"]
        self.process = subprocess.Popen(self.command, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True)
        os.close(slave)
        self.text = ""
        self.share = 1.0  # Of its CPU that the forwarding lcore had, in the worst window.
        try:
            self._wait_for(lambda text: "testpmd> " in text)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self._type("quit")
                # Whatever it has to say at its end is to find room.
                self._read_until(lambda: self.process.poll() is not None)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            os.close(self.terminal)
        if kind is None and self.process.returncode != 0:
            raise SystemExit(f"{' '.join(self.command)}: exit status {self.process.returncode}\n{self.text}")

    def ask(self, command, done=None):
        """The answer to a command; it ends where \\p done finds its end, else at the next prompt."""
        self.text = ""
        self._type(command)
        self._wait_for(done or (lambda text: text.rstrip(" ").endswith("testpmd>") and "\n" in text))
        return self.text

    def rates(self):
        """Packets a second since the last time this was asked: received, sent; the mean of both ports."""
        text = self.ask("show port stats all", lambda text: len(re.findall(r"Tx-pps:\s+\d+\s+\S+.*\n", text)) == 2)
        return tuple(statistics.fmean(int(n) for n in re.findall(direction + r"-pps:\s+(\d+)", text))
                     for direction in ("Rx", "Tx"))

    def window(self, engine, seconds):
        """One window of forwarding: packets a second."""
        self.ask("start")
        time.sleep(SETTLING)
        self.rates()
        began, ran = time.monotonic(), self._ran()
        time.sleep(seconds)
        received, sent = self.rates()
        # The thread that forwards is the one that had most.
        most = max(now - before for now, before in zip(self._ran(), ran))
        self.share = min(self.share, most / (time.monotonic() - began))
        self.ask("stop")
        return received if engine == "rxonly" else sent

    def _ran(self):
        """Seconds of CPU time of each thread."""
        return [int((task / "schedstat").read_text().split()[0]) / 1e9
                for task in sorted(pathlib.Path(f"/proc/{self.process.pid}/task").iterdir())]

    def _type(self, command):
        os.write(self.terminal, command.encode() + b"\n")

    def _wait_for(self, done):
        self._read_until(lambda: done(self.text))

    def _read_until(self, done):
        deadline = time.monotonic() + PATIENCE
        while not done():
            ready, _, _ = select.select([self.terminal], [], [], 0.05)
            try:
                more = os.read(self.terminal, 65536) if ready else b""
            except OSError:  # EIO: nobody holds the other side any more.
                more = b""
                self.process.wait(PATIENCE)
            # Without what moves a cursor.
            self.text += re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\r", "", more.decode(errors="replace"))
            if self.process.poll() is not None and not more and not done():
                raise SystemExit(f"{' '.join(self.command)}: ended, exit status {self.process.returncode}\n{self.text}")
            if time.monotonic() > deadline:
                raise SystemExit(f"{' '.join(self.command)}: no answer in {PATIENCE} s\n{self.text}")


def measure_pair(mrz, testpmd, engine, options):
    """Windows in turns, ABBA; the median of each one's."""
    mrz.ask(f"set fwd {engine}")
    testpmd.ask(f"set fwd {engine}")
    rates = {mrz: [], testpmd: []}
    for turn in range(options.windows):
        for side in (mrz, testpmd) if turn % 2 == 0 else (testpmd, mrz):
            rates[side].append(side.window(engine, options.seconds / options.windows))
    return statistics.median(rates[mrz]), statistics.median(rates[testpmd])


def summarize(pairs):
    """Of (mrz, testpmd): the medians, and that of the ratios with its 95 % interval by bootstrap."""
    ratios = [mrz / testpmd for mrz, testpmd in pairs]
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(10000))
    return {"pairs": len(pairs), "mrz_pps": statistics.median(mrz for mrz, _ in pairs),
            "testpmd_pps": statistics.median(testpmd for _, testpmd in pairs), "ratio": statistics.median(ratios),
            "low": medians[249], "high": medians[9749], "ratios": ratios}


def show(results):
    print(f"{'pool':>12} {'beside':>7} {'engine':>8} {'Mpps':>7} {'beside':>7} {'ratio':>6}  95 % interval")
    for kind, engines in results["rates"].items():
        for engine, row in engines.items():
            print(f"{kind:>12} {results['beside'][kind]:>7} {engine:>8} {row['mrz_pps'] / 1e6:7.2f} "
                  f"{row['testpmd_pps'] / 1e6:7.2f} {row['ratio']:6.3f}  {row['low']:.3f} to {row['high']:.3f}")
        print(f"{kind:>12} {results['beside'][kind]:>7} {'all':>8} {'':7} {'':7} {results['means'][kind]:6.3f}  "
              "geometric mean")
    for kind, text in results["plans"].items():
        print(f"\nentries of the pools, {kind}:\n{text}")


def arguments():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15, help="fresh pairs of processes (15)")
    parser.add_argument("--seconds", type=float, default=1.2, help="that each forwards, an engine (1.2)")
    parser.add_argument("--windows", type=int, default=6, help="turns that these seconds are cut into (6)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="separated by commas (%(default)s)")
    parser.add_argument("--pools", default=",".join(BESIDE), help="of mrz-testpmd (%(default)s)")
    parser.add_argument("--program", default=str(root / "build-release/apps/testpmd/mrz-testpmd"), help="(%(default)s)")
    parser.add_argument("--testpmd", default="dpdk-testpmd", help="(%(default)s)")
    parser.add_argument("--same", action="store_true",
                        help="dpdk-testpmd beside itself: how much of a difference is this machine's noise")
    parser.add_argument("--lcores", default="0,1", help="the EAL's -l (%(default)s)")
    parser.add_argument("--burst", type=int, default=32, help="(32)")
    parser.add_argument("--mbcache", type=int, default=250, help="(250)")
    parser.add_argument("--total-num-mbufs", type=int, default=32768, help="(32768)")
    parser.add_argument("--rxd", type=int, default=512, help="(512)")
    parser.add_argument("--txd", type=int, default=512, help="(512)")
    parser.add_argument("--json", action="store_true", help="one object on standard output instead of tables")
    options = parser.parse_args()
    options.engines = options.engines.split(",")
    options.pools = options.pools.split(",")
    if min(options.pairs, options.windows) < 1 or options.seconds <= 0:
        parser.error("--pairs, --windows and --seconds are more than 0")
    if unknown := [kind for kind in options.pools if kind not in BESIDE]:
        parser.error(f"--pools: {unknown[0]} is none of {', '.join(BESIDE)}")
    return options


def main():
    options = arguments()
    if os.geteuid() != 0:
        raise SystemExit("forwarding.py: needs root, for hugepages; try: sudo bench/forwarding.py")
    # So that pools and processes are given back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    program = options.testpmd if options.same else options.program
    for name, how in ((program, "meson setup build-release -Dbuildtype=release && ninja -C build-release"),
                      (options.testpmd, "apt install dpdk-dev")):
        if shutil.which(name) is None:
            raise SystemExit(f"forwarding.py: there is no program {name}; try: {how}")
    rates = {kind: {engine: [] for engine in options.engines} for kind in options.pools}
    plans = {}
    shares = []
    # Two processes with 2,500 bytes a buffer, and what an EAL takes for itself.
    pages = 2 * (math.ceil(options.total_num_mbufs * 2560 / PAGE_SIZE) + 64)
    with Hugepages(pages):
        for pair in range(options.pairs):
            for kind in options.pools:
                with Forwarder(program, BESIDE[kind] if options.same else kind, options) as mrz, \
                        Forwarder(options.testpmd, BESIDE[kind], options) as testpmd:
                    for engine in options.engines:
                        rates[kind][engine].append(measure_pair(mrz, testpmd, engine, options))
                        one, other = rates[kind][engine][-1]
                        say(f"pair {pair + 1} of {options.pairs}, {kind}, {engine}: {one / 1e6:.2f} beside "
                            f"{other / 1e6:.2f} Mpps, {one / other:.3f}")
                    shares += [mrz.share, testpmd.share]
                    if kind not in plans and not options.same:
                        plans[kind] = mrz.ask("show plan").rpartition("\n")[0].partition("\n")[2]
    results = {"schema": 1, "beside": {kind: BESIDE[kind] for kind in options.pools},
               "rates": {kind: {engine: summarize(pairs) for engine, pairs in engines.items()}
                         for kind, engines in rates.items()}, "plans": plans,
               "disturbed": sum(share < QUIET for share in shares), "processes": len(shares)}
    results["means"] = {kind: statistics.geometric_mean(row["ratio"] for row in engines.values())
                        for kind, engines in results["rates"].items()}
    if results["disturbed"]:
        say(f"this machine is not quiet: in {results['disturbed']} of {len(shares)} processes the forwarding lcore did "
            f"not have its CPU for itself; the worst had {min(shares):.0%}")
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        show(results)


if __name__ == "__main__":
    main()
