# SPDX-License-Identifier: BSD-3-Clause
"""Runs a guest, passes on what its program prints, and finds out how it ended."""

import os
import selectors
import shutil
import socket
import subprocess
import sys
import time

from mrz_vm import emulator, initramfs, machine
from mrz_vm.outcome import Failure, Status
from mrz_vm.run_folder import run_folder

PANIC = "Kernel panic - not syncing"
LAST_LINES = 25
# Seconds that a guest which has said how it ended has to turn itself off.
FAREWELL = 30


class Ended(Exception):
    """The program ended, with this exit status."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Progress:
    """What the guest has told on its control port."""

    def __init__(self):
        self.running = False
        self.status = None
        self.failure = None
        self._rest = b""

    @property
    def ended(self):
        """Whether it has told how the run ended, and has nothing left but to turn itself off."""
        return self.status is not None or self.failure is not None

    def hear(self, data):
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, _, value = line.decode(errors="replace").partition(" ")
            if word == "running":
                self.running = True
            elif word == "status":
                self.status = int(value)
            elif word == "failed":
                self.failure = value


def said_on(console):
    """The lines of the guest's console."""
    try:
        text = console.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.replace("\r", "").rstrip().splitlines()


def last_lines(said):
    return "\n".join(said[-LAST_LINES:])


def around_panic(said):
    """Why the kernel panicked, and what it said about it; None if it did not."""
    for number, line in enumerate(said):
        if PANIC in line:
            begin = max(0, number - LAST_LINES // 2)
            return "\n".join(said[begin : begin + LAST_LINES])
    return None


def verdict(progress, console, qemu_status, qemu_log):
    """The program's exit status, once QEMU has ended. Raises Failure where there is none."""
    if progress.status is not None:
        return progress.status
    panic, said = around_panic(said_on(console)), last_lines(said_on(console))
    if progress.failure is not None:
        raise Failure(progress.failure, console=said)
    when = "while it ran the program" if progress.running else "while it booted"
    if panic is not None:
        raise Failure(f"the guest's kernel panicked {when}", Status.PANIC, panic)
    if qemu_status != 0:
        raise Failure(f"QEMU ended with status {qemu_status} {when}: {' '.join(qemu_log.split())}",
                      Status.LOST if said else Status.FAILED, said)
    raise Failure(f"the guest ended {when}, without a word", Status.LOST, said)


def copy(data, descriptor):
    while data:
        data = data[os.write(descriptor, data):]


def attend(process, sockets, progress, deadline):
    """Passes on output until QEMU has ended. Returns whether it did so in time."""
    control, out, err = sockets
    uses = {control: progress.hear, out: lambda data: copy(data, sys.stdout.fileno()),
            err: lambda data: copy(data, sys.stderr.fileno())}
    with selectors.DefaultSelector() as selector:
        for place in sockets:
            selector.register(place, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                data = key.fileobj.recv(1 << 16)
                if data:
                    uses[key.fileobj](data)
                else:
                    selector.unregister(key.fileobj)
            if progress.ended:
                deadline = min(deadline, time.monotonic() + FAREWELL)
    try:
        process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def keep(console, place):
    """It matters less than how the run ended, so that it cannot be kept is only said."""
    try:
        shutil.copyfile(console, place)
    except OSError as error:
        print(f"mrz-vm: {place} cannot be written: {error.strerror}", file=sys.stderr, flush=True)


def run(guest, job, kernel, siw, options):
    """Boots the guest; returns its program's exit status. Raises Failure."""
    qemu = emulator.find(options.qemu)
    if guest.vfio_user and not emulator.knows_device(qemu, "vfio-user-pci"):
        raise Failure(f"{qemu} has no vfio-user-pci device, which came with QEMU 10.1: name another by --qemu",
                      Status.MISSING)
    with run_folder() as folder:
        console = folder / "console"
        try:
            return boot(guest, job, kernel, siw, options, qemu, folder)
        finally:
            if options.console and console.exists():
                keep(console, options.console)


def boot(guest, job, kernel, siw, options, qemu, folder):
    console = folder / "console"
    (folder / "initramfs").write_bytes(initramfs.build(kernel, guest, job, siw))
    pairs = [socket.socketpair() for _ in range(3)]
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    files = machine.Files(qemu, kernel.image, folder / "initramfs", console, *(end.fileno() for end in theirs))
    command = machine.command(guest, files, job.outputs, emulator.accelerator(options.accel))
    log = folder / "qemu.log"
    with open(log, "wb") as opened:
        process = emulator.start(command, opened, [end.fileno() for end in theirs])
    for end in theirs:
        end.close()
    progress = Progress()
    try:
        in_time = attend(process, ours, progress, time.monotonic() + options.timeout)
    finally:
        process.kill()
        process.wait()
        for end in ours:
            end.close()
    if not in_time and not progress.ended:
        what = "the program had not ended" if progress.running else "the guest had not booted"
        raise Failure(f"{what} after {options.timeout} seconds", Status.TIMEOUT,
                      last_lines(said_on(console)))
    return verdict(progress, console, process.returncode if in_time else 0,
                   log.read_text(encoding="utf-8", errors="replace"))
