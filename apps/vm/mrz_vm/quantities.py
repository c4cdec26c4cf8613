# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and hugepages, as they are written on the command line."""

import dataclasses
import re

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
PAGE_SIZES = {"2M": 2 << 20, "1G": 1 << 30}


def size(text):
    """Bytes: "6G", "512M", "4096". Raises ValueError."""
    match = re.fullmatch(r"([0-9]+)([KMG]?)(?:iB|B)?", text)
    if not match or int(match[1]) == 0:
        raise ValueError(f"'{text}' is no size; sizes look like 6G or 512M")
    return int(match[1]) * UNITS[match[2]]


def size_text(number):
    """The shortest spelling of a number of bytes that size() reads."""
    for unit in ("G", "M", "K"):
        if number % UNITS[unit] == 0:
            return f"{number // UNITS[unit]}{unit}"
    return str(number)


@dataclasses.dataclass(frozen=True)
class Hugepages:
    """`count` pages that the guest's kernel sets aside while it boots; on one node, or wherever it likes."""

    page: str  # A key of PAGE_SIZES.
    count: int
    node: int | None = None

    @property
    def bytes(self):
        return self.count * PAGE_SIZES[self.page]


@dataclasses.dataclass(frozen=True)
class Cable:
    """One end of a network link between two guests."""

    path: str  # Of sockets: with ".1" and ".2" behind it.
    end: int

    def socket(self, end):
        return f"{self.path}.{end}"

    @property
    def mac(self):
        return f"52:54:00:00:02:0{self.end}"


def cable(text):
    """"PATH:1" or "PATH:2". Raises ValueError."""
    path, _, end = text.rpartition(":")
    if not path or end not in ("1", "2"):
        raise ValueError(f"'{text}' is not PATH:END, with an END of 1 or 2")
    return Cable(path, int(end))


def hugepages(text):
    """"2M=512,1G=2" or "2M=256@0,2M=256@1". Raises ValueError."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(2M|1G)=([0-9]+)(?:@([0-9]+))?", part)
        if not match:
            raise ValueError(f"'{part}' is not PAGE=COUNT or PAGE=COUNT@NODE, with a PAGE of 2M or 1G")
        found.append(Hugepages(match[1], int(match[2]), None if match[3] is None else int(match[3])))
    for page in PAGE_SIZES:
        nodes = [pages.node for pages in found if pages.page == page]
        if len(nodes) != len(set(nodes)) or (None in nodes and len(nodes) > 1):
            raise ValueError(f"'{text}' says more than once how many pages of {page} there are to be")
    return tuple(found)
