# SPDX-License-Identifier: BSD-3-Clause
"""The machine: QEMU's command line, and the kernel's."""

import dataclasses
import json
import pathlib

from mrz_vm.job import output_tag
from mrz_vm.quantities import PAGE_SIZES

# Quiet, quick, and the end at a panic: without a device to reset, QEMU ends. An oops is no state to go on in.
KERNEL = ("console=ttyS0 loglevel=4 panic=-1 oops=panic mitigations=off nokaslr tsc=reliable no_timer_check "
          "init_on_alloc=0 apparmor=0 audit=0 random.trust_cpu=on nowatchdog")


@dataclasses.dataclass(frozen=True)
class Files:
    """What QEMU gets: files, and the ends of sockets that it inherits."""

    qemu: tuple[str, ...]  # The first words of its command.
    kernel: pathlib.Path
    initramfs: pathlib.Path
    console: pathlib.Path
    control: int
    out: int
    err: int
    devices: tuple[str, ...] = ()  # Sockets of the processes that offer one.


def escaped(text):
    """A value within an option of QEMU's, where a comma ends it."""
    return str(text).replace(",", ",,")


def kernel_command_line(guest):
    words = [KERNEL]
    for page in sorted(PAGE_SIZES):
        pages = [asked for asked in guest.hugepages if asked.page == page]
        if pages:
            counts = ",".join(f"{asked.count}" if asked.node is None else f"{asked.node}:{asked.count}"
                              for asked in pages)
            words.append(f"hugepagesz={page} hugepages={counts}")
    if guest.iommu:
        words.append("intel_iommu=on")
    if guest.append:
        words.append(guest.append)
    return " ".join(words)


def memory(guest):
    # Memory that another process can map, only where one does.
    kind = "memory-backend-memfd,share=on" if guest.has_devices_of_others else "memory-backend-ram"
    each = guest.memory // guest.nodes
    options = ["-m", f"{guest.memory // (1 << 20)}M", "-smp", str(guest.cpus)]
    for node in range(guest.nodes):
        options += ["-object", f"{kind},id=memory{node},size={each}"]
        if guest.nodes > 1:
            cpus = "".join(f",cpus={cpu}" for cpu in range(node, guest.cpus, guest.nodes))
            options += ["-numa", f"node,nodeid={node},memdev=memory{node}{cpus}"]
    return options


def share(identifier, tag, path, extra):
    return ["-fsdev", f"local,id={identifier},path={escaped(path)},security_model=none{extra}",
            "-device", f"virtio-9p-pci,fsdev={identifier},mount_tag={tag}"]


def ports(files):
    options = ["-device", "virtio-serial-pci"]
    for number, (name, descriptor) in enumerate(
            (("control", files.control), ("out", files.out), ("err", files.err)), start=1):
        options += ["-chardev", f"socket,id={name},fd={descriptor}",
                    "-device", f"virtserialport,chardev={name},nr={number},name=mrz-vm.{name}"]
    return options


def device_of_another(number, socket):
    """A device that the process at `socket` offers, in a slot of its own, as PCI Express has them."""
    slot = f"slot{number}"
    device = {"driver": "vfio-user-pci", "bus": slot, "socket": {"type": "unix", "path": str(socket)}}
    return ["-device", f"pcie-root-port,id={slot},chassis={number + 1},slot={number + 1}",
            "-device", json.dumps(device)]


def command(guest, files, outputs, accelerator):
    """QEMU's whole command line."""
    irqchip = ",kernel-irqchip=split" if guest.iommu and accelerator == "kvm" else ""
    backend = ",memory-backend=memory0" if guest.nodes == 1 else ""
    line = [*files.qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-name", "mrz-vm", "-machine", f"q35{irqchip}{backend}", "-cpu", "max",
            "-accel", "kvm" if accelerator == "kvm" else "tcg,thread=multi,tb-size=1024"]
    line += memory(guest)
    line += ["-kernel", str(files.kernel), "-initrd", str(files.initramfs), "-append", kernel_command_line(guest)]
    line += ["-chardev", f"file,id=console,path={escaped(files.console)}", "-serial", "chardev:console"]
    if guest.iommu:
        # Interrupt remapping, without which VFIO refuses every device; addresses as long as those of programs, which
        # DPDK wants to use as they are; news of each mapping, for devices of other processes. It comes before the
        # devices that it stands before.
        line += ["-device", "intel-iommu,intremap=on,aw-bits=48,caching-mode=on"]
    line += ports(files)
    line += share("root", "host", "/", ",readonly=on,multidevs=remap")
    for number, path in enumerate(outputs):
        line += share(output_tag(number), output_tag(number), path, ",multidevs=remap")
    if guest.iommu:
        # A port whose DMA the IOMMU translates, at 0000:00:10.0. There is nothing behind it.
        line += ["-netdev", "hubport,id=net0,hubid=0",
                 "-device", "virtio-net-pci,netdev=net0,addr=0x10,iommu_platform=on,disable-legacy=on"]
    if guest.cable:
        # Datagrams, so that neither guest has to be there first.
        near, far = (escaped(guest.cable.socket(end)) for end in (guest.cable.end, 3 - guest.cable.end))
        line += ["-netdev", f"dgram,id=cable,local.type=unix,local.path={near},remote.type=unix,remote.path={far}",
                 "-device", f"virtio-net-pci,netdev=cable,mac={guest.cable.mac}"]
    for number, socket in enumerate(files.devices):
        line += device_of_another(number, socket)
    return line
