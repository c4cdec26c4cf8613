# SPDX-License-Identifier: BSD-3-Clause
"""What kind of guest is asked for, and whether that can be."""

import dataclasses

from mrz_vm.outcome import Failure
from mrz_vm.quantities import Cable, Hugepages, size_text

# What the kernel, the program and what it writes outside of its output folders have to live in.
LEAST_ORDINARY_MEMORY = 512 << 20


@dataclasses.dataclass(frozen=True)
class Guest:
    kernel: str = "6.1"
    memory: int = 4 << 30
    cpus: int = 2
    nodes: int = 1
    hugepages: tuple[Hugepages, ...] = ()
    iommu: bool = False
    rdma: str = "none"
    netns: bool = False
    modules: tuple[str, ...] = ()
    append: str = ""
    vfio_user: tuple[str, ...] = ()  # Sockets of processes that offer a device.
    adapters: int = 0  # Of mrz-hca.
    addresses: tuple[tuple[int, str], ...] = ()  # Of adapters, by their numbers.
    cable: Cable | None = None

    @property
    def has_devices_of_others(self):
        return bool(self.vfio_user) or self.adapters > 0

    def check(self):
        """Raises Failure for a guest that cannot be."""
        if self.cpus < self.nodes:
            raise Failure(f"{self.nodes} nodes need as many CPUs at least, of which there are {self.cpus}: try "
                          f"--cpus {self.nodes}")
        if self.memory % (self.nodes * (2 << 20)) != 0:
            raise Failure(f"{size_text(self.memory)} of memory cannot be split into {self.nodes} nodes of whole 2 MiB")
        for pages in self.hugepages:
            if pages.node is not None and pages.node >= self.nodes:
                raise Failure(f"hugepages are asked for on node {pages.node}, and there are {self.nodes} nodes: try "
                              f"--nodes {pages.node + 1}")
        asked = sum(pages.bytes for pages in self.hugepages)
        if asked + LEAST_ORDINARY_MEMORY > self.memory:
            raise Failure(f"{size_text(asked)} of hugepages leave less than {size_text(LEAST_ORDINARY_MEMORY)} of "
                          f"{size_text(self.memory)} of memory: try --memory "
                          f"{size_text(round_up(asked + LEAST_ORDINARY_MEMORY, 1 << 30))}")
        for node in range(self.nodes):
            asked = sum(pages.bytes for pages in self.hugepages if pages.node == node)
            if asked > self.memory // self.nodes:
                raise Failure(f"{size_text(asked)} of hugepages do not fit node {node}, which has "
                              f"{size_text(self.memory // self.nodes)}: try a larger --memory")


def round_up(number, unit):
    return (number + unit - 1) // unit * unit
