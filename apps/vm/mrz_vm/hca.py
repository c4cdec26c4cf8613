# SPDX-License-Identifier: BSD-3-Clause
"""The adapters of a guest that mrz-hca is, each a process beside QEMU, which lives as long as the run at most."""

import contextlib
import dataclasses
import ipaddress
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from mrz_vm import emulator
from mrz_vm.outcome import Failure, missing

NAME = "mrz-hca"
ETHERNET = "--link-type=ethernet"
LAST_LINES = 15
# Seconds until it must listen, and until it must have ended once it was told to.
PATIENCE = 20
SOCKETS = pathlib.Path("/proc/net/unix")
LONGEST_SOCKET = 107  # unix(7), sun_path


@dataclasses.dataclass(frozen=True)
class Wish:
    """One adapter: `options` are mrz-hca's; its log goes to a file of the user's, or to the run's folder; its network
    device has the address."""

    options: tuple[str, ...] = ()
    log: pathlib.Path | None = None
    program: str | None = None
    address: str | None = None


def wish(text):
    """"link-type=ethernet,log=FILE,flag"; a comma within a value is written twice. Raises ValueError."""
    options, own = [], {}
    for part in re.split(r"(?<!,),(?!,)", text) if text else []:
        name, equals, value = part.replace(",,", ",").partition("=")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(f"'{part}' is not OPTION or OPTION=VALUE, with an option of {NAME}, or log, program or "
                             "address")
        if name == "socket":
            raise ValueError("the socket is mrz-vm's to choose")
        if name in ("log", "program", "address"):
            if not value or name in own:
                raise ValueError(f"'{text}' has to name one {'address' if name == 'address' else 'file'} as {name}")
            own[name] = value
        else:
            options += [f"--{name}={value}"] if equals else [f"--{name}"]
    # Those of one guest get names that differ; what others are named nobody knows.
    if given(options, "link") and not given(options, "name"):
        raise ValueError(f"'{text}' links devices of several runs, which need different names: add name=NAME")
    if "address" in own:
        if ETHERNET not in options:
            raise ValueError(f"'{text}' gives an address to an adapter without a network device: add link-type=ethernet")
        ipaddress.IPv4Address(own["address"])
    return Wish(tuple(options), pathlib.Path(own["log"]).absolute() if "log" in own else None, own.get("program"),
                own.get("address"))


def given(options, name):
    return any(option.startswith(f"--{name}=") for option in options)


def named(wished, number):
    """So that an adapter has the same addresses in each run: by itself it makes them of its socket's path."""
    if given(wished.options, "name"):
        return wished
    return dataclasses.replace(wished, options=(f"--name={NAME}{number}", *wished.options))


def linked(wishes, folder):
    """Each adapter with each other, over sockets in `folder`: they are one subnet. Ethernet has no such links."""
    wishes = list(wishes)
    ports = [number for number, wished in enumerate(wishes) if ETHERNET not in wished.options]
    for pair in itertools.combinations(ports, 2):
        link = f"--link={folder / 'link{}-{}'.format(*pair)}"
        for number in pair:
            wishes[number] = dataclasses.replace(wishes[number], options=(*wishes[number].options, link))
    return wishes


def program_beside(launcher):
    """mrz-hca as it was built or installed with this mrz-vm."""
    here = pathlib.Path(launcher).resolve().parent
    for place in (here / NAME, here.parent / "hca" / NAME):
        if os.access(place, os.X_OK):
            return str(place)
    raise missing(f"there is no {NAME} in {here} or {here.parent / 'hca'}; another place is named by "
                  "--hca program=FILE")


def listens(path, table):
    """Whether a process waits for clients at the socket `path`, by the text of /proc/net/unix; to try would be to
    become its client."""
    for line in table.splitlines():
        # Num RefCount Protocol Flags Type St Inode Path; the flag is the kernel's __SO_ACCEPTCON.
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7] == str(path) and int(fields[3], 16) & 0x10000:
            return True
    return False


def how_ended(status):
    return f"signal {-status} ended it" if status < 0 else f"it ended with status {status}"


class Adapter:
    """A process of mrz-hca."""

    def __init__(self, wished, program, socket, log):
        self.socket = socket
        self.log = log
        self._process = None
        if len(os.fsencode(socket)) > LONGEST_SOCKET:
            raise Failure(f"{socket} is too long for the path of a socket ({LONGEST_SOCKET} bytes)")
        with open(log, "wb") as opened:
            self._process = emulator.start([program, f"--socket={socket}", *wished.options], opened)
        self.descriptor = os.pidfd_open(self._process.pid)

    def wait_until_it_listens(self):
        until = time.monotonic() + PATIENCE
        while not listens(self.socket, SOCKETS.read_text(encoding="utf-8", errors="replace")):
            if self.ended():
                raise Failure(f"{NAME} does not start: {how_ended(self.status())}")
            if time.monotonic() > until:
                raise Failure(f"{NAME} does not listen on its socket, {PATIENCE} seconds after its start")
            time.sleep(0.02)

    def ended(self):
        return self._process.poll() is not None

    def status(self):
        return self._process.returncode

    def last_lines(self):
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.rstrip().splitlines()[-LAST_LINES:])

    def end(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            print(f"mrz-vm: {NAME} did not end for {PATIENCE} seconds after SIGTERM", file=sys.stderr, flush=True)
            self._process.kill()
            self._process.wait()
        os.close(self.descriptor)


@contextlib.contextmanager
def adapters(wishes, folder, launcher):
    """One process for each wish, with sockets in `folder`, for as long as the context lasts. A Failure that ends it is
    given what they said last."""
    running = []
    try:
        for number, wished in enumerate(linked(wishes, folder)):
            wished = named(wished, number)
            log = wished.log or folder / f"hca{number}.log"
            running.append(Adapter(wished, wished.program or program_beside(launcher), folder / f"hca{number}", log))
        for adapter in running:
            adapter.wait_until_it_listens()
        yield running
    except Failure as failure:
        failure.log = "\n".join(filter(None, (adapter.last_lines() for adapter in running)))
        raise
    finally:
        for adapter in running:
            adapter.end()
