# SPDX-License-Identifier: BSD-3-Clause
"""The QEMU process: which one, how it is started, and that it never outlives mrz-vm."""

import ctypes
import dataclasses
import os
import pathlib
import re
import signal
import subprocess

from mrz_vm.outcome import Failure, Status, missing
from mrz_vm.tools import tool

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass(frozen=True)
class Qemu:
    """How one is started: the first words of its command, and variables that it needs."""

    command: tuple[str, ...]
    variables: dict[str, str] = dataclasses.field(default_factory=dict)

    def environment(self):
        # What a caller wants loaded into programs of this machine would not fit one that has its own libraries.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
        return (kept if self.variables else dict(os.environ)) | self.variables

    def _says(self, *words):
        try:
            done = subprocess.run([*self.command, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False, env=self.environment())
        except OSError as error:
            raise Failure(f"{self.command[0]} cannot be run: {error.strerror}", Status.MISSING) from error
        return done.stdout

    def knows_device(self, device):
        # Of this one device: a list of all would need all modules.
        return f"{device} options:" in self._says("-device", f"{device},help")

    def version(self):
        return self._says("--version").partition("\n")[0]


def named(path):
    if not os.access(path, os.X_OK):
        raise missing(f"there is no QEMU at {path}")
    return Qemu((path,))


def of_this_machine():
    return Qemu((tool("qemu-system-x86_64", "qemu-system-x86"),))


def accelerator(asked, cpuinfo=pathlib.Path("/proc/cpuinfo"), kvm=pathlib.Path("/dev/kvm")):
    """"kvm" where it can run a stock kernel. A device without the processor's own virtualization is another kind of
    KVM, in which stock kernels do not start."""
    if asked != "auto":
        return asked
    can = (os.access(kvm, os.R_OK | os.W_OK) and
           re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE))
    return "kvm" if can else "tcg"


def start(command, log, descriptors=(), environment=None):
    """Starts QEMU, or what it is to meet; the kernel kills it when this process ends, however it does."""
    parent = os.getpid()

    def tie_to_parent():
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=descriptors,
                                env=environment, preexec_fn=tie_to_parent, start_new_session=True)
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}", Status.MISSING) from error
