# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernels, as a guest needs them."""

import dataclasses
import pathlib
import sys
import tempfile

from mrz_vm import kernel_image, packages
from mrz_vm.outcome import missing
from mrz_vm.tools import output_of, tool

# By the name that --kernel takes: the suites whose newest linux-image-amd64 it is. (The "cloud" kernels have neither
# 9p nor RDMA.)
SUITES = {"6.1": ("bookworm", "bookworm-security"), "6.12": ("bookworm-backports",)}
IMAGE = r"linux-image-[0-9][\w.+]*(?:-[0-9]+)?-amd64"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel in the cache."""

    folder: pathlib.Path

    @property
    def image(self):
        return self.folder / "vmlinux"

    @property
    def modules(self):
        """The folder that is /lib/modules/RELEASE in the guest."""
        return next((self.folder / "lib/modules").iterdir())

    @property
    def release(self):
        return self.modules.name


def have(cache, version):
    """The kernel, from the cache or from Debian's mirror. Raises Failure."""
    return Kernel(cache.entry(f"kernel-{version}", lambda folder: fetch(version, folder)))


def fetch(version, folder):
    print(f"mrz-vm: fetching Debian's kernel {version}", file=sys.stderr, flush=True)
    depmod = tool("depmod", "kmod")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as work:
        source = packages.Packages(work, SUITES[version])
        package = source.dependency("linux-image-amd64", IMAGE)
        plain = pathlib.Path(work, "plain")
        packages.unpack(source.download(package), plain)
        # Where /lib is a link to usr/lib packages may have moved their files.
        modules = next((place for place in (plain / "lib/modules", plain / "usr/lib/modules") if place.is_dir()), None)
        images = list((plain / "boot").glob("vmlinuz-*"))
        if modules is None or len(images) != 1:
            raise missing(f"{package} has no kernel and modules where they are expected")
        (folder / "vmlinux").write_bytes(kernel_image.vmlinux(images[0].read_bytes()))
        (folder / "lib").mkdir()
        modules.rename(folder / "lib/modules")
    release = Kernel(folder).release
    output_of([depmod, "-b", str(folder), release], "depmod")
    print(f"mrz-vm: fetched {package}", file=sys.stderr, flush=True)
