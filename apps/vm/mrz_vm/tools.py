# SPDX-License-Identifier: BSD-3-Clause
"""Programs of this machine that mrz-vm needs, and the packages that have them."""

import os
import shutil
import subprocess

from mrz_vm.outcome import Failure, Status, missing

# Users without root often lack the last two.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])


def tool(name, package):
    """The path of a program. Raises Failure (MISSING), which says where to get it."""
    path = shutil.which(name, path=PATH)
    if path is None:
        raise missing(f"there is no {name} on this machine (Debian: apt-get install {package})")
    return path


def output_of(command, what, status=Status.FAILED, **options):
    """Runs `command`, and returns what it printed. Raises Failure, with `status`, that `what` failed."""
    done = subprocess.run(command, stdin=None if "input" in options else subprocess.DEVNULL, capture_output=True,
                          check=False, **options)
    if done.returncode != 0:
        said = done.stderr if isinstance(done.stderr, str) else done.stderr.decode(errors="replace")
        raise Failure(f"{what} failed (status {done.returncode}): {' '.join(said.split())}", status)
    return done.stdout
