# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""

import argparse
import json
import os
import pathlib
import signal
import sys

from mrz_vm import cache, hca, headers, kernel, newer_qemu, quantities, run
from mrz_vm.guest import Guest
from mrz_vm.job import Job
from mrz_vm.outcome import Failure, Status

# What the guest has of its own, instead of the host's.
GUESTS_OWN = ("/proc", "/sys", "/dev", "/run")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        # argparse's own status, 2, could be the program's.
        self.print_usage(sys.stderr)
        self.exit(Status.FAILED, f"mrz-vm: {message}\n")


def of_quantity(read):
    def convert(text):
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return convert


def number_from(least):
    def convert(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} on")
        return int(text)
    return convert


def variable(text):
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def parser(version):
    top = Parser(prog="mrz-vm", description="Boots a stock Debian kernel under QEMU and runs a program of this machine "
                                            "in it.", epilog="Details: man mrz-vm")
    top.add_argument("--version", action="version", version=f"mrz-vm {version}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--cache", metavar="FOLDER", type=pathlib.Path, default=cache.default_folder(),
                        help="where kernels are kept (default: %(default)s)")
    kernels = sorted(kernel.SUITES)

    fetch = commands.add_parser("fetch", parents=[common], help="fetch kernels into the cache, and do nothing else",
                                description="Fetches kernels from the mirror that this machine's apt uses.")
    fetch.add_argument("--kernel", choices=kernels, action="append", help="which one (default: all)")
    fetch.add_argument("--headers", action="store_true", help="and what building modules takes")
    fetch.add_argument("--qemu", action="store_true", help="and a QEMU for --hca and --vfio-user")
    fetch.add_argument("--siw", action="store_true", help="and the siw driver, built")

    build = commands.add_parser("build-module", parents=[common], help="build kernel modules for a guest",
                                description="Builds the kernel modules of a folder with a Kbuild file, in that folder, "
                                            "with the headers that Debian has for the kernel.")
    build.add_argument("--kernel", choices=kernels, default=kernels[0], help="(default: %(default)s)")
    build.add_argument("folder", type=pathlib.Path)

    runs = commands.add_parser(
        "run", parents=[common], usage="mrz-vm run [options] -- PROGRAM [ARGUMENT]...",
        help="run a program in a guest",
        description="Runs PROGRAM as root in a guest that sees this machine's files, and cannot change them. Its output "
                    "is mrz-vm's, and so is its exit status, but for 120 (the guest panicked), 121 (it ended without a "
                    "word), 122 (QEMU or a kernel is missing), 124 (time is up) and 125 (mrz-vm failed), each with a "
                    "message.")
    machine = runs.add_argument_group("the machine")
    machine.add_argument("--kernel", choices=kernels, default=kernels[0], help="(default: %(default)s)")
    machine.add_argument("--memory", metavar="SIZE", type=of_quantity(quantities.size), default="4G",
                         help="hugepages included (default: %(default)s)")
    machine.add_argument("--cpus", metavar="N", type=number_from(1), default=2, help="(default: %(default)s)")
    machine.add_argument("--nodes", metavar="N", type=number_from(1), default=1,
                         help="NUMA nodes, of equal memory (default: %(default)s)")
    machine.add_argument("--hugepages", metavar="PAGE=COUNT[@NODE],...", type=of_quantity(quantities.hugepages),
                         default=(), help="set aside at boot: 2M=512,1G=1 or 2M=256@0,2M=256@1")
    machine.add_argument("--iommu", action="store_true", help="an Intel IOMMU, and a network port behind it")
    machine.add_argument("--hca", metavar="OPTION[=VALUE],...", nargs="?", const="", action="append", default=[],
                         type=of_quantity(hca.wish), help="an adapter that mrz-hca is, mlx5_0, with options of its; the next is mlx5_1, linked with "
                                                  "it; link=PATH links it with another guest's; address=A is its network device's")
    machine.add_argument("--cable", metavar="PATH:END", type=of_quantity(quantities.cable),
                         help="a network link to the guest that is at the other end, 1 or 2: 10.2.0.1 and 10.2.0.2")
    machine.add_argument("--vfio-user", metavar="SOCKET", action="append", default=[],
                         help="a PCI device that another process offers there")
    machine.add_argument("--append", metavar="WORDS", default="", help="more of the kernel's command line")
    machine.add_argument("--accel", choices=("auto", "kvm", "tcg"), default="auto",
                         help="how it runs (default: kvm if the processor can)")
    machine.add_argument("--qemu", metavar="PROGRAM", help="the QEMU to use")
    inside = runs.add_argument_group("in the guest")
    inside.add_argument("--output", metavar="FOLDER", action="append", default=[], type=pathlib.Path,
                        help="may be written, by the same path; made if it is not there")
    inside.add_argument("--env", metavar="NAME=VALUE", action="append", default=[], type=variable,
                        help="a variable of the program's environment, which is not this one's")
    inside.add_argument("--module", metavar="NAME", action="append", default=[], help="a kernel module to load, by its name or file")
    inside.add_argument("--rdma", choices=("none", "rxe", "siw"), default="none",
                        help="an RDMA device, rxe0 or siw0, with the address 10.0.0.1 (default: %(default)s)")
    inside.add_argument("--netns", action="store_true", help="two network namespaces with a link between them")
    about = runs.add_argument_group("the run")
    about.add_argument("--timeout", metavar="SECONDS", type=number_from(1), default=600, help="(default: %(default)s)")
    about.add_argument("--console", metavar="FILE", type=pathlib.Path, help="what the guest's kernel said")
    about.add_argument("--outcome", metavar="FILE", type=pathlib.Path, help="how it ended, as JSON")
    return top


def arguments(words, version):
    """Everything behind the first "--" is the program's."""
    before, program = words, []
    if "--" in words:
        before, program = words[: words.index("--")], words[words.index("--") + 1 :]
    top = parser(version)
    options = top.parse_args(before)
    if options.command == "run" and not program:
        top.error("no program is named; it stands behind --")
    if options.command != "run" and program:
        top.error("only 'run' takes a program")
    options.program = program
    return options


def refuse_hidden(path, what):
    for folder in GUESTS_OWN:
        if path.is_relative_to(folder):
            raise Failure(f"{what}, {path}, cannot be seen in the guest, which has a {folder} of its own")


def fetch_all(options):
    kept = cache.Cache(options.cache)
    if options.qemu:
        newer_qemu.have(kept)
    for version in options.kernel or sorted(kernel.SUITES):
        kernel.have(kept, version)
        if options.headers:
            headers.have(kept, version)
        if options.siw:
            headers.siw(kept, version)


def run_program(options):
    if options.outcome:
        options.outcome.write_text("", encoding="utf-8")  # one of an earlier run would be believed
    # A file has a path, and a name has none.
    modules = tuple(os.path.abspath(name) if "/" in name else name for name in options.module)
    guest = Guest(kernel=options.kernel, memory=options.memory, cpus=options.cpus, nodes=options.nodes,
                  hugepages=options.hugepages, iommu=options.iommu, rdma=options.rdma, netns=options.netns,
                  modules=modules, append=options.append, vfio_user=tuple(options.vfio_user),
                  adapters=len(options.hca), cable=options.cable,
                  addresses=tuple((number, wished.address) for number, wished in enumerate(options.hca) if wished.address))
    guest.check()
    folder = pathlib.Path.cwd()
    refuse_hidden(folder, "the working folder")
    refuse_hidden(options.cache.absolute(), "the cache folder")
    outputs = tuple(path.absolute() for path in options.output)
    for path in outputs:
        path.mkdir(parents=True, exist_ok=True)
    job = Job(tuple(options.program), folder, dict(options.env), outputs)
    kept = cache.Cache(options.cache)
    siw = headers.siw(kept, options.kernel) if options.rdma == "siw" else None
    return run.run(guest, job, kernel.have(kept, options.kernel), siw, run.find_qemu(guest, options.qemu, kept), options)


def report(options, outcome, status, message=None):
    if getattr(options, "outcome", None):
        told = {"outcome": outcome, "status": status} | ({"message": message} if message else {})
        try:
            options.outcome.write_text(json.dumps(told) + "\n", encoding="utf-8")
        except OSError as error:
            print(f"mrz-vm: {options.outcome} cannot be written: {error.strerror}", file=sys.stderr, flush=True)


class Killed(BaseException):
    def __init__(self, number):
        super().__init__(number)
        self.number = number


def on_signal(number, _):
    raise Killed(number)


def main(version, words=None):
    options = arguments(sys.argv[1:] if words is None else words, version)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        if options.command == "fetch":
            fetch_all(options)
            return 0
        if options.command == "build-module":
            headers.build_module(cache.Cache(options.cache), options.kernel, options.folder)
            return 0
        status = run_program(options)
        report(options, "exited", status)
        return status
    except Failure as failure:
        if failure.log:
            print(f"mrz-vm: the end of mrz-hca's log:\n{failure.log}", file=sys.stderr)
        if failure.console:
            print(f"mrz-vm: the end of the guest's console:\n{failure.console}", file=sys.stderr)
        print(f"mrz-vm: {failure}", file=sys.stderr, flush=True)
        report(options, failure.status.name.lower(), int(failure.status), str(failure))
        return int(failure.status)
    except Killed as killed:
        return 128 + killed.number
    except BrokenPipeError:
        # Nobody reads any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        print(f"mrz-vm: {error}", file=sys.stderr, flush=True)
        report(options, "failed", int(Status.FAILED), str(error))
        return int(Status.FAILED)
