# SPDX-License-Identifier: BSD-3-Clause
"""Builds the probe for a kernel of mrz-vm's cache, and keeps it there."""

import hashlib
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "apps/vm"))

from mrz_vm import headers  # noqa: E402

SOURCES = ("mrz_umem.c", "Kbuild")


def have(cache, version):
    """The module's file. Raises mrz_vm.outcome.Failure."""
    kernel = headers.have(cache, version)
    text = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in SOURCES)).hexdigest()[:12]

    def fill(folder):
        with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as work:
            for name in SOURCES:
                shutil.copy(HERE / name, work)
            kernel.build(work)
            shutil.move(f"{work}/mrz_umem.ko", folder / "mrz_umem.ko")

    return cache.entry(f"probe-{kernel.release}-{text}", fill) / "mrz_umem.ko"
