# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m mrz_vm: the program without its launcher."""

import sys

from mrz_vm.cli import main

sys.exit(main())
