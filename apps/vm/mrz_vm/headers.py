# SPDX-License-Identifier: BSD-3-Clause
"""Builds modules for a guest's kernel, with the headers that Debian has for it."""

import dataclasses
import pathlib
import shutil
import sys
import tempfile

from mrz_vm import kernel as kernels
from mrz_vm import packages
from mrz_vm.tools import output_of, tool

# From where the packages expect to be.
INSTALLED = "/usr/src/"


@dataclasses.dataclass(frozen=True)
class Headers:
    """In the cache."""

    folder: pathlib.Path
    release: str

    @property
    def tree(self):
        return self.folder / f"usr/src/linux-headers-{self.release}"

    @property
    def version(self):
        """Debian's, of the packages of this kernel."""
        return (self.folder / "version").read_text(encoding="utf-8").strip()

    def build(self, folder, *variables):
        """Builds the modules of `folder`, which has a Kbuild file or a makefile. Raises Failure."""
        # What debuggers would like to know of types takes another program (pahole).
        output_of([tool("make", "make"), "-C", str(self.tree), f"M={folder}", f"CC={tool('gcc-12', 'gcc-12')}",
                   "CONFIG_DEBUG_INFO_BTF_MODULES=", *variables, "modules"],
                  f"building the modules in {folder}", text=True)


def have(cache, version):
    """The headers, from the cache or from Debian's mirror. Raises Failure."""
    release = kernels.have(cache, version).release
    return Headers(cache.entry(f"headers-{release}", lambda folder: fetch(version, release, folder, cache)), release)


def fetch(version, release, folder, cache):
    package = f"linux-headers-{release}"
    print(f"mrz-vm: fetching {package}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as work:
        source = packages.Packages(work, kernels.SUITES[version])
        fetched = source.download(package)
        packages.unpack(fetched, folder)
        for pattern in (r"linux-headers-[\w.+-]+-common", r"linux-kbuild-[\w.+]+"):
            packages.unpack(source.download(source.dependency(package, pattern)), folder)
        (folder / "version").write_text(packages.version_of(fetched) + "\n", encoding="utf-8")
    makefile = Headers(folder, release).tree / "Makefile"
    # The entry's place is known, although it is not there yet.
    moved = f"{cache.folder}/headers-{release}{INSTALLED}"
    makefile.write_text(makefile.read_text(encoding="utf-8").replace(INSTALLED, moved), encoding="utf-8")


def build_module(cache, version, folder):
    """Builds the modules of a folder of the caller's, in that folder."""
    have(cache, version).build(folder.absolute())


def siw(cache, version):
    """The siw driver, soft iWARP, as a file: Debian has its source, and does not build it."""
    headers = have(cache, version)

    def fill(folder):
        package = f"linux-source-{version}"
        print(f"mrz-vm: fetching {package} and building siw", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as work:
            fetched = packages.Packages(work, kernels.SUITES[version]).download(package, headers.version)
            packages.unpack(fetched, work)
            place = f"{package}/drivers/infiniband/sw/siw"
            output_of([tool("tar", "tar"), "-xf", f"{work}/usr/src/{package}.tar.xz", "-C", work, place], "tar")
            headers.build(f"{work}/{place}", "CONFIG_RDMA_SIW=m")
            shutil.move(f"{work}/{place}/siw.ko", folder / "siw.ko")

    return cache.entry(f"siw-{headers.release}", fill) / "siw.ko"
