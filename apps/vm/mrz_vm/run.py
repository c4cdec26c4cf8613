# SPDX-License-Identifier: BSD-3-Clause
"""Runs a guest, passes on what its program prints, and finds out how it ended."""

import contextlib
import os
import selectors
import shutil
import socket
import subprocess
import sys
import time

from mrz_vm import emulator, hca, initramfs, machine, newer_qemu
from mrz_vm.outcome import Failure, Status, missing
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


def notice_end(adapter, progress):
    """A guest that has not begun its program cannot without the adapter; one that has may want to see what happens."""
    if progress.ended:
        return
    what = f"{hca.NAME} ended before the guest did: {hca.how_ended(adapter.status())}"
    if not progress.running:
        raise Failure(what)
    print(f"mrz-vm: {what}", file=sys.stderr, flush=True)


def attend(process, sockets, adapters, progress, deadline):
    """Passes on output until QEMU has ended. Returns whether it did so in time."""
    control, out, err = sockets
    uses = {control: progress.hear, out: lambda data: copy(data, sys.stdout.fileno()),
            err: lambda data: copy(data, sys.stderr.fileno())}
    with selectors.DefaultSelector() as selector:
        for place in sockets:
            selector.register(place, selectors.EVENT_READ)
        for adapter in adapters:
            selector.register(adapter.descriptor, selectors.EVENT_READ, adapter)
        to_hear = len(sockets)
        while to_hear > 0:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                if key.data is not None and key.data.ended():
                    selector.unregister(key.fileobj)
                    notice_end(key.data, progress)
                    continue
                data = key.fileobj.recv(1 << 16)
                if data:
                    uses[key.fileobj](data)
                else:
                    selector.unregister(key.fileobj)
                    to_hear -= 1
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


def find_qemu(guest, named, cache):
    """The QEMU that was named, else this machine's, or where that is too old for the guest one that is fetched."""
    needed = "vfio-user-pci"
    if named is not None:
        qemu = emulator.named(named)
        if guest.has_devices_of_others and not qemu.knows_device(needed):
            raise missing(f"{named} has no {needed} device, which came with QEMU 10.1")
        return qemu
    if not guest.has_devices_of_others:
        return emulator.of_this_machine()
    with contextlib.suppress(Failure):  # that there is none here is none where another is fetched
        qemu = emulator.of_this_machine()
        if qemu.knows_device(needed):
            return qemu
    return newer_qemu.have(cache)


def run(guest, job, kernel, siw, qemu, options):
    """Boots the guest; returns its program's exit status. Raises Failure."""
    with run_folder() as folder:
        console = folder / "console"
        try:
            with hca.adapters(options.hca, folder, sys.argv[0]) as adapters:
                return boot(guest, job, kernel, siw, options, qemu, folder, adapters)
        finally:
            if options.console and console.exists():
                keep(console, options.console)


def boot(guest, job, kernel, siw, options, qemu, folder, adapters):
    console = folder / "console"
    (folder / "initramfs").write_bytes(initramfs.build(kernel, guest, job, siw))
    pairs = [socket.socketpair() for _ in range(3)]
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    devices = (*guest.vfio_user, *(str(adapter.socket) for adapter in adapters))
    files = machine.Files(qemu.command, kernel.image, folder / "initramfs", console,
                          *(end.fileno() for end in theirs), devices)
    command = machine.command(guest, files, job.outputs, emulator.accelerator(options.accel))
    log = folder / "qemu.log"
    with open(log, "wb") as opened:
        process = emulator.start(command, opened, [end.fileno() for end in theirs], qemu.environment())
    for end in theirs:
        end.close()
    progress = Progress()
    try:
        in_time = attend(process, ours, adapters, progress, time.monotonic() + options.timeout)
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
