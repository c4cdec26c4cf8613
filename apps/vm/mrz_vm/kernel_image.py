# SPDX-License-Identifier: BSD-3-Clause
"""Takes the kernel proper out of a bzImage. QEMU starts it directly (PVH), without the code that would unpack it, which
takes seconds where every instruction is emulated."""

import lzma
import struct

from mrz_vm.outcome import Failure
from mrz_vm.tools import output_of, tool

XZ = b"\xfd7zXZ\0"
ZSTD = b"\x28\xb5\x2f\xfd"


def payload(image):
    """The compressed kernel within a bzImage, by its header: Documentation/arch/x86/boot.rst in Linux."""
    if len(image) < 0x250 or image[0x202:0x206] != b"HdrS":
        raise Failure("the package's kernel is no bzImage")
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (setup_sectors + 1) * 512 + offset
    # Behind the compressed data, and counted in its length, is the length of what it expands to.
    return image[begin : begin + length - 4]


def vmlinux(image):
    """The ELF file that a bzImage holds. Raises Failure."""
    packed = payload(image)
    if packed.startswith(XZ):
        plain = lzma.LZMADecompressor().decompress(packed)
    elif packed.startswith(ZSTD):
        plain = output_of([tool("zstd", "zstd"), "-dc"], "zstd", input=packed)
    else:
        raise Failure(f"the kernel is compressed in a way that is not known here ({packed[:6].hex()})")
    if not plain.startswith(b"\x7fELF"):
        raise Failure("what the bzImage holds is no ELF file")
    return plain
