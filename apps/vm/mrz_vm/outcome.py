# SPDX-License-Identifier: BSD-3-Clause
"""How a run ends, where it is not with the program's own exit status."""

import enum


class Status(enum.IntEnum):
    """Exit statuses of mrz-vm's own. They are part of its interface: mrz-vm(1) documents them."""

    PANIC = 120  # The guest's kernel panicked.
    LOST = 121  # The guest did not boot, or ended without a word about the program.
    MISSING = 122  # What a guest needs is not on this machine: QEMU, a kernel, busybox.
    TIMEOUT = 124  # The program, or the booting, took longer than it was given.
    FAILED = 125  # mrz-vm could not do what was asked, which may be a wrong option.


class Failure(Exception):
    """Ends mrz-vm with `status`. `console` is what the guest said last, if that tells why; `log` what its adapters
    did."""

    def __init__(self, message, status=Status.FAILED, console=""):
        super().__init__(message)
        self.status = status
        self.console = console
        self.log = ""


def missing(message):
    return Failure(message, Status.MISSING)
