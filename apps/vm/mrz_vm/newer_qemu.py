# SPDX-License-Identifier: BSD-3-Clause
"""A QEMU that this machine does not have: of a later Debian, with all its libraries, in the cache. Nothing is installed,
and no root of its own is needed: it runs among the machine's files, and takes none of the machine's libraries."""

import pathlib
import sys
import tempfile

from mrz_vm import packages
from mrz_vm.emulator import Qemu
from mrz_vm.outcome import missing

# The first Debian with vfio-user-pci, which came with QEMU 10.1: 13 itself has 10.0, its backports have what follows.
# A development suite would do, too, but is another one each day, and sometimes cannot be installed.
SUITES = ("trixie", "trixie-backports")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Where the packages have the firmware that QEMU gives to a guest, in the order in which Debian's QEMU looks.
DATA = ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")


def started_from(folder):
    """QEMU as it was unpacked in `folder`. Its own loader is told where libraries are, and QEMU where its modules and
    its data are, for which Debian's would look in /usr only. (A root of its own would take rights that not every
    container gives, and mounts of all that QEMU is to see.)"""
    libraries = folder / LIBRARIES
    return Qemu((str(libraries / "ld-linux-x86-64.so.2"), "--inhibit-cache", "--library-path", str(libraries),
                 str(folder / "usr/bin/qemu-system-x86_64"),
                 *(word for data in DATA for word in ("-L", str(folder / data)))),
                {"QEMU_MODULE_DIR": str(libraries / "qemu")})


def have(cache):
    """The QEMU, from the cache or from Debian's mirror. Raises Failure."""
    return started_from(cache.entry("qemu", fetch))


def fetch(folder):
    print(f"mrz-vm: fetching QEMU of Debian's {SUITES[-1]}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as work:
        source = packages.Packages(work, SUITES)
        for package in source.download_with_all("qemu-system-x86", SUITES[-1]):
            packages.unpack(package, pathlib.Path(work, "root"))
        pathlib.Path(work, "root/usr").rename(folder / "usr")
    qemu = started_from(folder)
    if not qemu.knows_device("vfio-user-pci"):
        raise missing(f"QEMU of Debian's {SUITES[-1]} has no vfio-user-pci device")
    print(f"mrz-vm: fetched {qemu.version()}", file=sys.stderr, flush=True)
