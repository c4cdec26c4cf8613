# SPDX-License-Identifier: BSD-3-Clause
"""Which modules the initramfs has to load, in which order."""

import lzma
import pathlib

from mrz_vm.outcome import Failure
from mrz_vm.tools import output_of, tool


def name_of(path):
    """"kernel/net/9p/9pnet_virtio.ko.xz" → "9pnet_virtio"."""
    return pathlib.PurePath(path).name.split(".")[0].replace("-", "_")


def in_order(dependencies, wanted):
    """The paths of the `wanted` modules and of what they need, each after what it needs.

    `dependencies` is the text of depmod's modules.dep. A name that is not there is of a module that is built in, or of
    none; a kernel without what is needed says so while it boots.
    """
    needs = {}
    paths = {}
    for line in dependencies.splitlines():
        path, _, needed = line.partition(":")
        paths[name_of(path)] = path
        # modprobe loads these from the last to the first.
        needs[name_of(path)] = list(reversed(needed.split()))
    found = []
    for name in wanted:
        if name not in paths:
            continue
        for path in [*needs[name], paths[name]]:
            if path not in found:
                found.append(path)
    return found


def content(path):
    """A module, unpacked: the initramfs has nothing to do it with."""
    data = path.read_bytes()
    match path.suffix:
        case ".ko":
            return data
        case ".xz":
            return lzma.decompress(data)
        case ".zst":
            return output_of([tool("zstd", "zstd"), "-dc"], f"unpacking {path.name}", input=data)
    raise Failure(f"{path} is packed in a way that is not known here")
