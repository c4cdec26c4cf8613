# SPDX-License-Identifier: BSD-3-Clause
"""A folder for the files of one run, which is gone when the run is; after a kill, when the next one begins."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile

from mrz_vm.outcome import Failure


def base():
    """Where this user's run folders are."""
    if os.geteuid() == 0:
        return pathlib.Path("/run/mrz-vm")
    if os.environ.get("XDG_RUNTIME_DIR"):
        return pathlib.Path(os.environ["XDG_RUNTIME_DIR"], "mrz-vm")
    return pathlib.Path(tempfile.gettempdir(), f"mrz-vm-{os.geteuid()}")


def lock(path, how):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def in_use(folder):
    """Whether the process that made it lives, which holds a lock for as long, or takes the folder away itself."""
    try:
        os.close(lock(folder / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB))
    except (BlockingIOError, FileNotFoundError):
        return True
    return False


@contextlib.contextmanager
def run_folder():
    place = base()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.lstat().st_uid != os.geteuid() or place.is_symlink():
            raise Failure(f"{place} is somebody else's")
        # So that nobody takes a folder that has no lock yet for one that was left behind.
        everybody = lock(place / "lock", fcntl.LOCK_EX)
        try:
            for left in place.iterdir():
                if left.is_dir() and not in_use(left):
                    shutil.rmtree(left, ignore_errors=True)
            folder = pathlib.Path(tempfile.mkdtemp(dir=place))
            mine = lock(folder / "lock", fcntl.LOCK_EX)
        finally:
            os.close(everybody)
    except OSError as error:
        raise Failure(f"no folder for this run can be made in {place}: {error.strerror}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(mine)
