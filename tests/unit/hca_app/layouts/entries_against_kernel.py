#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares entries of queues (apps/hca/layouts/{wqe,cqe,eqe}.hpp) with the structures of Linux's qp.h and device.h.

usage: entries_against_kernel.py LAYOUTS COMPILER [FOLDER…]

As against_kernel.py, but for headers that do not compile outside of a kernel: the structures are taken out of them one
by one. Their members are whole words, in which a layout has several fields; so a field has to be that word, or within
it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
MEMBER = re.compile(r"^inline constexpr (Field|Block) (\w+)\{(\d+), (\d+)\};")
NAMESPACE = re.compile(r"^namespace (\w+) \{")

# Field -> the word that it is in, where their names differ. None: the kernel has no name for it.
WORDS = {
    "wqe_ctrl_seg": {"opmod": "opmod_idx_opcode", "wqe_index": "opmod_idx_opcode", "opcode": "opmod_idx_opcode",
                     "qpn": "qpn_ds", "ds": "qpn_ds"},
    "wqe_inline_seg": {"is_inline": "byte_count"},
    "av": {"qkey": "key.qkey.qkey", "extended": "dqp_dct", "stat_rate": "stat_rate_sl", "sl": "stat_rate_sl",
           "fl": "fl_mlid", "mlid": "fl_mlid", "grh": "grh_gid_fl", "src_addr_index": "grh_gid_fl",
           "flow_label": "grh_gid_fl"},
    "mkey_seg": {"free": "status", "a": "flags", "rw": "flags", "rr": "flags", "lw": "flags", "lr": "flags",
                 "access_mode_1_0": "flags", "qpn": "qpn_mkey7_0", "mkey_7_0": "qpn_mkey7_0", "length64": "flags_pd",
                 "pd": "flags_pd"},
    "cqe64": {"grh": "flags_rqpn", "roce_l3_type": "flags_rqpn", "sl": "flags_rqpn", "rqpn": "flags_rqpn", "vlan_present": "l4_l3_hdr_type",
              "timestamp": "timestamp_h",
              "s_wqe_opcode": "sop_drop_qpn", "qpn": "sop_drop_qpn", "opcode": "op_own", "owner": "op_own"},
}
# A field of two words is compared by where it begins.
TWO_WORDS = {("cqe64", "timestamp")}
# Structures that are in a file under another name.
NAMES = {"wqe_inline_seg": "mlx5_wqe_inline_seg", "wqe_srq_next_seg": "mlx5_wqe_srq_next_seg", "eqe": "mlx5_eqe"}
NOT_THERE = {"umr_mask", "mtt"}
# The events' data is a union of structures that are compared by themselves; here its size is what matters.
PREAMBLE = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef uint16_t __be16; typedef uint32_t __be32; typedef uint64_t __be64;
#define __packed __attribute__((packed))
#define struct_group(TAG, ...) struct { __VA_ARGS__ }
#define DECLARE_FLEX_ARRAY(type, name) struct { struct {} empty_##name; type name[]; }
union ev_data { __be32 raw[7]; } __packed;
"""


def fields_of(layouts):
    fields = []
    for name in ("wqe.hpp", "cqe.hpp", "eqe.hpp"):
        structure = None
        for line in (layouts / name).read_text().splitlines():
            if found := NAMESPACE.match(line):
                structure = found[1]
            elif found := MEMBER.match(line):
                scale = 8 if found[1] == "Block" else 1
                if structure not in NOT_THERE:
                    fields.append((structure, found[2], int(found[3]) * scale, int(found[4]) * scale))
    return fields


def structures_of(header_root):
    text = "".join((header_root / "linux/mlx5" / name).read_text() for name in ("qp.h", "device.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return {found[1]: found[0] for found in re.finditer(r"^struct (\w+) \{\n.*?^\}[^;]*;", text,
                                                          re.MULTILINE | re.DOTALL)}


def words_there(header_root, wanted, compiler):
    """(structure, word) -> (offset, width) in bits, of those that the headers have."""
    there = structures_of(header_root)
    wanted = [(structure, word) for structure, word in wanted
              if (name := NAMES.get(structure, "mlx5_" + structure)) in there and
              re.search(rf"\b{re.escape(word.split('.')[-1])}\b", there[name])]
    needed = {NAMES.get(structure, "mlx5_" + structure) for structure, word in wanted}
    source = PREAMBLE + "\n".join(there[name] for name in sorted(needed)) + "\nint main(void)\n{\n"
    for index, (structure, word) in enumerate(wanted):
        name = NAMES.get(structure, "mlx5_" + structure)
        source += (f'printf("{index} %zu %zu\\n", offsetof(struct {name}, {word}), '
                   f"sizeof(((struct {name} *)0)->{word}));\n")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "ask.c").write_text(source + "return 0;\n}\n")
        program = pathlib.Path(folder, "ask")
        subprocess.run([*compiler.split(), "-w", "-o", program, pathlib.Path(folder, "ask.c")], check=True)
        answer = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    result = {}
    for line in answer.splitlines():
        index, offset, width = map(int, line.split())
        result[wanted[index]] = (offset * 8, width * 8)
    return result


def main():
    layouts, compiler, folders = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:] or ["/", "/var/cache/mrzone"]
    roots = []
    for folder in folders:
        for pattern in ("usr/src/linux-headers-*-common/include", "*/usr/src/linux-headers-*-common/include"):
            roots += [root for root in sorted(pathlib.Path(folder).glob(pattern))
                      if (root / "linux/mlx5/device.h").exists()]
    if not roots:
        print("no kernel headers are here to compare with (Debian: linux-headers-amd64)")
        return 1 if os.environ.get("MRZ_STRICT") else SKIPPED
    fields = fields_of(layouts)
    words = [(structure, WORDS.get(structure, {}).get(name, name)) for structure, name, _, _ in fields]
    headers = [words_there(root, words, compiler) for root in roots]
    wrong, compared = 0, 0
    for (structure, name, offset, width), word in zip(fields, words):
        seen = [there[word] for there in headers if word in there]
        if not seen:
            # Of drivers/infiniband/hw/mlx5, and the like: no header has them.
            print(f"not compared: {structure}::{name}")
            continue
        compared += 1
        within = [begin for begin, length in seen if begin <= offset and
                  (offset + width <= begin + length or (structure, name) in TWO_WORDS)]
        whole = word[1] != name or any(there == (offset, width) for there in seen) or (structure, name) in {
            ("wqe_inline_seg", "byte_count"), ("av", "dqp_dct"), ("mkey_seg", "log2_page_size"), ("cqe64", "srqn")}
        if not within or not whole:
            wrong += 1
            print(f"{structure}::{name} is at {offset}, {width} bits; the kernel's {word[1]} is {seen}")
    print(f"{compared} fields compared with {', '.join(map(str, roots))}: {wrong} differ")
    return 1 if wrong or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
