#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""As in_guest.py, with the probe for the guest's kernel: with_probe.py KERNEL MRZ_VM [OPTION]... -- PROGRAM...

The program is given the module's file in $MRZ_UMEM_PROBE.
"""
import os
import pathlib
import sys

sys.dont_write_bytecode = True

import build  # noqa: E402

from mrz_vm.cache import Cache, default_folder  # noqa: E402
from mrz_vm.outcome import Failure, Status  # noqa: E402

SKIPPED = 77  # Meson's.


def main():
    version, mrz_vm, *rest = sys.argv[1:]
    try:
        probe = build.have(Cache(default_folder()), version)
    except Failure as failure:
        print(f"with_probe.py: {failure}", file=sys.stderr)
        missing = failure.status == Status.MISSING and not os.environ.get("MRZ_STRICT")
        return SKIPPED if missing else 1
    in_guest = pathlib.Path(__file__).resolve().parents[1] / "in_guest.py"
    os.execv(in_guest, [str(in_guest), mrz_vm, "--kernel", version, "--env", f"MRZ_UMEM_PROBE={probe}", *rest])


sys.exit(main())
