#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares each field of lib/layouts with Linux's mlx5_ifc.h, as Debian's linux-headers packages have it.

usage: against_kernel.py LAYOUTS COMPILER [FOLDER…]

A header is looked for in the folders, below usr/src/linux-headers-*-common. The header is C, and the structures in it
are arrays of one byte a bit: so a C program asks where each field is. A field has to be as in one of the headers at
least, since they differ from one kernel to the next; one that no header has says so ("not in the kernel header"), and
one that was otherwise before says how ("{475, 5} before Linux 6.13").
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
UNCOMPARED = "not in the kernel header"
# Structures of device.h and qp.h, which do not compile outside of a kernel; and what lies in registers.
OTHERWISE_DEFINED = {"wqe.hpp", "cqe.hpp", "eqe.hpp", "doorbells.hpp"}
# What every command has is no structure of its own there.
STAND_INS = {"command_in": "destroy_mkey_in", "command_out": "destroy_mkey_out"}

NAMESPACE = re.compile(r"^namespace (\w+) \{")
MEMBER = re.compile(r"^inline constexpr (?:layouts::)?(Field|Block) (\w+)\{(\d+), (\d+)\};(.*)$")

BEFORE = re.compile(r"\{(\d+), (\d+)\} before Linux")

PREAMBLE = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef uint16_t __be16; typedef uint32_t __be32; typedef uint64_t __be64;
#define __packed __attribute__((packed))
#define DECLARE_FLEX_ARRAY(type, name) struct { struct {} empty_##name; type name[]; }
#define BIT(n) (1U << (n))
#define BIT_ULL(n) (1ULL << (n))
#include <linux/mlx5/mlx5_ifc.h>
"""


class Member:
    def __init__(self, file, structure, kind, name, offset, width, note):
        self.where = f"{file}: {structure}::{name}"
        self.structure = STAND_INS.get(structure, structure)
        self.name = name
        scale = 1 if kind == "Field" else 8
        self.offset = offset * scale
        self.width = width * scale  # 0: to the end of the command
        before = BEFORE.search(note)
        self.before = (int(before[1]), int(before[2])) if before else None

    def is_as(self, there):
        offset, width = there
        return there == self.before or (self.offset == offset and (self.width == 0 or self.width == width))


def members_of(layouts):
    members = []
    for path in sorted(layouts.glob("*.hpp")):
        if path.name in OTHERWISE_DEFINED or path.name == "field.hpp":
            continue
        structure = None
        for line in path.read_text().splitlines():
            if found := NAMESPACE.match(line):
                structure = found[1]
            elif line.startswith("inline constexpr Field") or line.startswith("inline constexpr Block"):
                found = MEMBER.match(line)
                if not found or structure is None:
                    sys.exit(f"{path.name}: not understood: {line}")
                if UNCOMPARED not in found[5]:
                    kind, name, offset, width, note = found.groups()
                    members.append(Member(path.name, structure, kind, name, int(offset), int(width), note))
    return members


def what_is_there(header_root, members, compiler):
    """(structure, member) -> (offset, width) in bits, of those that the header has."""
    header = (header_root / "linux/mlx5/mlx5_ifc.h").read_text()
    bodies = dict(re.findall(r"^struct mlx5_ifc_(\w+)_bits \{\n(.*?)^\};", header, re.MULTILINE | re.DOTALL))
    asked = [m for m in members
             if re.search(rf"\b{re.escape(m.name)}(\[|;)", bodies.get(m.structure, ""))]
    lines = []
    for index, member in enumerate(asked):
        structure = f"struct mlx5_ifc_{member.structure}_bits"
        # An array at the end has no size that could be asked.
        size = "(size_t)0" if member.width == 0 else f"sizeof((({structure} *)0)->{member.name})"
        lines.append(f'printf("{index} %zu %zu\\n", offsetof({structure}, {member.name}), {size});')
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "ask.c")
        program = pathlib.Path(folder, "ask")
        source.write_text(PREAMBLE + "int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run([*compiler.split(), "-w", "-I", str(header_root), "-o", program, source], check=True)
        answer = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    there = {}
    for line in answer.splitlines():
        index, offset, width = map(int, line.split())
        there[(asked[index].structure, asked[index].name)] = (offset, width)
    return there


def main():
    layouts, compiler, folders = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:] or ["/", "/var/cache/mrzone"]
    roots = []
    for folder in folders:
        for pattern in ("usr/src/linux-headers-*-common/include", "*/usr/src/linux-headers-*-common/include"):
            roots += [root for root in sorted(pathlib.Path(folder).glob(pattern))
                      if (root / "linux/mlx5/mlx5_ifc.h").exists()]
    if not roots:
        print("no kernel headers are here to compare with (Debian: linux-headers-amd64)")
        return 1 if os.environ.get("MRZ_STRICT") else SKIPPED
    members = members_of(layouts)
    headers = {root: what_is_there(root, members, compiler) for root in roots}
    wrong = 0
    for member in members:
        seen = [there[(member.structure, member.name)] for there in headers.values()
                if (member.structure, member.name) in there]
        if not any(member.is_as(there) for there in seen):
            wrong += 1
            print(f"{member.where} is at {member.offset}, {member.width} bits; the kernel has "
                  f"{' or '.join(map(str, seen)) if seen else 'no such field'}")
    print(f"{len(members)} fields compared with {', '.join(str(root) for root in roots)}: {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
