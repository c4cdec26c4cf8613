# SPDX-License-Identifier: BSD-3-Clause
"""The QEMU process: which one, how it is started, and that it never outlives mrz-vm."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess

from mrz_vm.outcome import Failure, Status, missing
from mrz_vm.tools import tool

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def find(path):
    if path is None:
        return tool("qemu-system-x86_64", "qemu-system-x86")
    if not os.access(path, os.X_OK):
        raise missing(f"there is no QEMU at {path}")
    return path


def knows_device(qemu, device):
    done = subprocess.run([qemu, "-device", "help"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    return f'name "{device}"' in done.stdout


def accelerator(asked, cpuinfo=pathlib.Path("/proc/cpuinfo"), kvm=pathlib.Path("/dev/kvm")):
    """"kvm" where it can run a stock kernel. A device without the processor's own virtualization is another kind of
    KVM, in which stock kernels do not start."""
    if asked != "auto":
        return asked
    can = (os.access(kvm, os.R_OK | os.W_OK) and
           re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE))
    return "kvm" if can else "tcg"


def start(command, log, descriptors):
    """Starts QEMU, which the kernel kills when this process ends, however it does."""
    parent = os.getpid()

    def tie_to_parent():
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=descriptors,
                                preexec_fn=tie_to_parent, start_new_session=True)
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}", Status.MISSING) from error
