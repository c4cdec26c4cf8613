# SPDX-License-Identifier: BSD-3-Clause
import dataclasses
import json
import pathlib
import unittest

from mrz_vm import machine
from mrz_vm.guest import Guest
from mrz_vm.quantities import cable, hugepages

FILES = machine.Files(("qemu", "-L", "data"), pathlib.Path("/cache/vmlinux"), pathlib.Path("/run/initramfs"),
                      pathlib.Path("/run/a,b/console"), 5, 6, 7)


def line(outputs=(), accelerator="tcg", devices=(), **wish):
    return machine.command(Guest(**wish), dataclasses.replace(FILES, devices=devices), outputs, accelerator)


def values(command, option):
    return [command[i + 1] for i, word in enumerate(command) if word == option]


class Command(unittest.TestCase):
    def test_a_plain_guest_has_one_node_and_no_network(self):
        command = line(memory=3 << 30, cpus=4)
        self.assertEqual(command[:3], ["qemu", "-L", "data"])
        self.assertEqual(values(command, "-m"), ["3072M"])
        self.assertEqual(values(command, "-smp"), ["4"])
        self.assertEqual(values(command, "-object"), [f"memory-backend-ram,id=memory0,size={3 << 30}"])
        self.assertEqual(values(command, "-machine"), ["q35,memory-backend=memory0"])
        self.assertEqual(values(command, "-numa") + values(command, "-netdev"), [])
        self.assertEqual(values(command, "-kernel"), ["/cache/vmlinux"])
        self.assertEqual(values(command, "-initrd"), ["/run/initramfs"])

    def test_nodes_share_memory_and_processors(self):
        command = line(memory=4 << 30, cpus=3, nodes=2)
        self.assertEqual(values(command, "-object"), [f"memory-backend-ram,id=memory{i},size={2 << 30}" for i in (0, 1)])
        self.assertEqual(values(command, "-numa"), ["node,nodeid=0,memdev=memory0,cpus=0,cpus=2",
                                                    "node,nodeid=1,memdev=memory1,cpus=1"])
        self.assertEqual(values(command, "-machine"), ["q35"])

    def test_the_root_can_only_be_read_and_outputs_can_be_written(self):
        command = line(outputs=[pathlib.Path("/tmp/a,b"), pathlib.Path("/c")])
        root, first, second = values(command, "-fsdev")
        self.assertIn("path=/,", root)
        self.assertIn("readonly=on", root)
        self.assertIn("path=/tmp/a,,b,", first)
        self.assertIn("path=/c,", second)
        self.assertNotIn("readonly", first + second)
        self.assertIn("virtio-9p-pci,fsdev=output1,mount_tag=output1", values(command, "-device"))

    def test_ports_are_numbered_as_the_guest_knows_them(self):
        command = line()
        for number, (name, descriptor) in enumerate((("control", 5), ("out", 6), ("err", 7)), start=1):
            self.assertIn(f"socket,id={name},fd={descriptor}", values(command, "-chardev"))
            self.assertIn(f"virtserialport,chardev={name},nr={number},name=mrz-vm.{name}", values(command, "-device"))
        self.assertIn("file,id=console,path=/run/a,,b/console", values(command, "-chardev"))

    def test_an_iommu_stands_before_what_it_translates(self):
        devices = values(line(iommu=True), "-device")
        self.assertTrue(devices[0].startswith("intel-iommu,intremap=on"))
        self.assertIn("virtio-net-pci,netdev=net0,addr=0x10,iommu_platform=on,disable-legacy=on", devices)
        self.assertIn("intel_iommu=on", values(line(iommu=True), "-append")[0].split())
        self.assertIn("kernel-irqchip=split", values(line(iommu=True, accelerator="kvm"), "-machine")[0])

    def test_a_cable_has_an_end_at_each_of_two_guests(self):
        command = line(cable=cable("/tmp/a,b:1"))
        self.assertIn("dgram,id=cable,local.type=unix,local.path=/tmp/a,,b.1,remote.type=unix,remote.path=/tmp/a,,b.2",
                      values(command, "-netdev"))
        self.assertIn("virtio-net-pci,netdev=cable,mac=52:54:00:00:02:01", values(command, "-device"))

    def test_hugepages_are_the_kernels_to_set_aside(self):
        words = values(line(hugepages=hugepages("2M=8@0,2M=9@1,1G=2"), append="one two"), "-append")[0].split()
        self.assertEqual(words[-6:], ["hugepagesz=1G", "hugepages=2", "hugepagesz=2M", "hugepages=0:8,1:9", "one", "two"])

    def test_devices_of_other_processes_can_map_the_guests_memory(self):
        for wish in ({"vfio_user": ("/tmp/a,b",)}, {"adapters": 1}):
            self.assertIn("share=on", values(line(**wish), "-object")[0])

    def test_devices_of_other_processes_stand_each_behind_a_port(self):
        ports, devices = [], []
        for text in values(line(adapters=2, devices=("/tmp/a,b", "/c")), "-device"):
            if text.startswith("pcie-root-port,"):
                ports.append(text)
            elif text.startswith("{"):
                devices.append(json.loads(text))
        self.assertEqual(ports, ["pcie-root-port,id=slot0,chassis=1,slot=1", "pcie-root-port,id=slot1,chassis=2,slot=2"])
        self.assertEqual(devices, [
            {"driver": "vfio-user-pci", "bus": f"slot{number}", "socket": {"type": "unix", "path": path}}
            for number, path in enumerate(("/tmp/a,b", "/c"))])
