# SPDX-License-Identifier: BSD-3-Clause
"""What the guest has to do, as text for its shell."""

import dataclasses
import pathlib
import shlex

# virtio ports, by the numbers that machine.py gives them.
CONTROL, OUT, ERR = "/dev/vport0p1", "/dev/vport0p2", "/dev/vport0p3"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# All that a program has of an environment, besides what it is given.
ENVIRONMENT = {"PATH": PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root", "TERM": "dumb", "LANG": "C.UTF-8"}


@dataclasses.dataclass(frozen=True)
class Job:
    command: tuple[str, ...]
    folder: pathlib.Path
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    outputs: tuple[pathlib.Path, ...] = ()


def output_tag(number):
    """By which the guest mounts an output folder."""
    return f"output{number}"


def pool_file(pages):
    page = {"2M": "2048kB", "1G": "1048576kB"}[pages.page]
    place = "/sys/kernel/mm" if pages.node is None else f"/sys/devices/system/node/node{pages.node}"
    return f"{place}/hugepages/hugepages-{page}/nr_hugepages"


def set_up(guest, job, modules, siw=None):
    """What the guest's scripts take in: words, and a function. `siw` is the module's file, if it is needed."""
    lines = [f"pages {pool_file(pages)} {pages.count}" for pages in guest.hugepages]
    lines += [f"share {output_tag(number)} {shlex.quote(str(path))}" for number, path in enumerate(job.outputs)]
    lines += [f"load {shlex.quote(name)}" for name in guest.modules]
    if siw is not None:
        lines += [f"load {shlex.quote(str(siw))}"]
    if guest.rdma != "none":
        lines += [f"set_up_{guest.rdma}"]
    if guest.adapters:
        lines += [f"set_up_adapters {guest.adapters}"]
    lines += [f"set_up_address mlx5_{number} {address}" for number, address in guest.addresses]
    if guest.cable:
        lines += [f"set_up_cable {guest.cable.mac} 10.2.0.{guest.cable.end}"]
    if guest.netns:
        lines += ["set_up_namespaces"]
    function = "".join(f"    {line}\n" for line in lines or [":"])
    return (f"control={CONTROL}\nout_port={OUT}\nerr_port={ERR}\nmodules={shlex.quote(str(modules))}\n"
            f"set_up_job() {{\n{function}}}\n")


def program(job):
    """The script that becomes the program."""
    environment = [f"{name}={value}" for name, value in (ENVIRONMENT | job.environment).items()]
    return (f"cd {shlex.quote(str(job.folder))} || exit 126\n"
            # By its path: busybox's shell has an env of its own, which runs applets instead of programs.
            f"exec /usr/bin/env -i {shlex.join(environment)} {shlex.join(job.command)}\n")
