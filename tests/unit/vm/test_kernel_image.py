# SPDX-License-Identifier: BSD-3-Clause
import lzma
import struct
import unittest

from mrz_vm import kernel_image
from mrz_vm.outcome import Failure

ELF = b"\x7fELF" + bytes(range(256)) * 8


def bz_image(packed, setup_sectors=2, offset=64):
    """The least that the boot protocol asks for."""
    image = bytearray((setup_sectors + 1) * 512)
    image[0x1F1] = setup_sectors
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, offset, len(packed) + 4)
    return bytes(image) + bytes(offset) + packed + struct.pack("<I", len(ELF)) + b"what follows"


class KernelImage(unittest.TestCase):
    def test_xz_is_unpacked(self):
        packed = lzma.compress(ELF, check=lzma.CHECK_CRC32)
        self.assertEqual(kernel_image.vmlinux(bz_image(packed)), ELF)
        self.assertEqual(kernel_image.vmlinux(bz_image(packed, setup_sectors=27, offset=1000)), ELF)

    def test_what_is_no_kernel_is_refused(self):
        for image, why in ((b"", "no bzImage"), (bytes(4096), "no bzImage"), (bz_image(b"\x04\x22\x4d\x18lz4"), "04224d18"),
                           (bz_image(lzma.compress(b"no ELF")), "no ELF file")):
            with self.assertRaisesRegex(Failure, why):
                kernel_image.vmlinux(image)
