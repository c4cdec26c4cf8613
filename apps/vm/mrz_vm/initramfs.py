# SPDX-License-Identifier: BSD-3-Clause
"""Puts the initramfs together: busybox, the modules that lead to the host's root, the guest's scripts and its job."""

import pathlib

from mrz_vm import job as jobs
from mrz_vm import modules
from mrz_vm.cpio import Archive
from mrz_vm.outcome import missing
from mrz_vm.tools import tool

SCRIPTS = pathlib.Path(__file__).parent / "guest"
FIRST_MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")
EMPTY_FOLDERS = ("proc", "sys", "dev", "host", "layer", "root")


def static_busybox():
    content = pathlib.Path(tool("busybox", "busybox-static")).read_bytes()
    # The name of the loader that a dynamic program asks for.
    if b"/lib64/ld-linux" in content[:4096]:
        raise missing("this machine's busybox needs libraries (Debian: apt-get install busybox-static)")
    return content


def build(kernel, guest, job):
    """The archive, as bytes."""
    archive = Archive()
    for name in EMPTY_FOLDERS:
        archive.folder(name)
    archive.file("bin/busybox", static_busybox(), executable=True)
    archive.file("init", (SCRIPTS / "init.sh").read_bytes(), executable=True)
    for script in SCRIPTS.glob("*.sh"):
        if script.name != "init.sh":
            archive.file(f"mrz-vm/{script.name}", script.read_bytes())
    archive.file("mrz-vm/job.sh", jobs.set_up(guest, job, kernel.modules).encode())
    archive.file("mrz-vm/program.sh", jobs.program(job).encode())
    names = []
    for path in modules.in_order((kernel.modules / "modules.dep").read_text(encoding="utf-8"), FIRST_MODULES):
        names.append(modules.name_of(path) + ".ko")
        archive.file(f"modules/{names[-1]}", modules.content(kernel.modules / path))
    archive.file("modules/list", "".join(f"{name}\n" for name in names).encode())
    return archive.bytes()
