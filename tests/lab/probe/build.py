# SPDX-License-Identifier: BSD-3-Clause
"""Builds the probe for a kernel of mrz-vm's cache, and keeps it there."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "apps/vm"))

from mrz_vm import kernel, packages  # noqa: E402
from mrz_vm.outcome import missing  # noqa: E402
from mrz_vm.tools import tool  # noqa: E402

SOURCE = HERE / "mrz_umem.c"


def have(cache, version):
    """The module's file. Raises mrz_vm.outcome.Failure."""
    release = kernel.have(cache, version).release
    text = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return cache.entry(f"probe-{release}-{text}", lambda folder: build(version, release, folder)) / "mrz_umem.ko"


def build(version, release, folder):
    make, gcc = tool("make", "make"), tool("gcc-12", "gcc-12")
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as work:
        headers = fetch_headers(version, release, pathlib.Path(work))
        module = pathlib.Path(work, "module")
        module.mkdir()
        shutil.copy(SOURCE, module)
        (module / "Makefile").write_text("obj-m := mrz_umem.o\n", encoding="utf-8")
        # What debuggers would like to know of types takes another program (pahole).
        done = subprocess.run([make, "-C", str(headers), f"M={module}", f"CC={gcc}", "CONFIG_DEBUG_INFO_BTF_MODULES=",
                               "modules"], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise missing(f"the probe cannot be built for Linux {release}: {done.stdout}{done.stderr}")
        shutil.copy(module / "mrz_umem.ko", folder)


def fetch_headers(version, release, work):
    """The folder to build in: packages that are unpacked wherever it may be, not where they would be installed."""
    source = packages.Packages(work, kernel.SUITES[version])
    headers = f"linux-headers-{release}"
    plain = work / "plain"
    for package in (headers, source.dependency(headers, r"linux-headers-[0-9][\w.+-]*-common"),
                    source.dependency(headers, r"linux-kbuild-[0-9][\w.+-]*")):
        packages.unpack(source.download(package), plain)
    folder = plain / "usr/src" / headers
    makefile = folder / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    makefile.write_text(re.sub(r"(?<!\w)/usr/", f"{plain}/usr/", text), encoding="utf-8")
    return folder
