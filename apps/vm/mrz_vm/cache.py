# SPDX-License-Identifier: BSD-3-Clause
"""The folder where what was fetched stays. An entry is there whole, or not at all."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import sys
import tempfile

from mrz_vm.outcome import Failure

UNFINISHED = ".unfinished-"


def default_folder():
    if os.environ.get("XDG_CACHE_HOME"):
        return pathlib.Path(os.environ["XDG_CACHE_HOME"], "mrzone")
    return pathlib.Path("/var/cache/mrzone") if os.geteuid() == 0 else pathlib.Path.home() / ".cache/mrzone"


class Cache:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).absolute()

    def entry(self, name, fill):
        """The folder of that name; if it is not there `fill(folder)` is called to fill a new one, by one at a time."""
        path = self.folder / name
        if path.is_dir():
            return path
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                if not path.is_dir():
                    self._make(path, fill)
        except OSError as error:
            raise Failure(f"the cache folder {self.folder} cannot be used: {error.strerror}: {error.filename}; "
                          "another may be named by --cache") from error
        return path

    def _make(self, path, fill):
        for left in self.folder.glob(UNFINISHED + "*"):
            shutil.rmtree(left, ignore_errors=True)
        unfinished = pathlib.Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self.folder))
        try:
            fill(unfinished)
            unfinished.chmod(0o755)
            # What the name leads to must have reached the disk before the name does.
            os.sync()
            unfinished.rename(path)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    @contextlib.contextmanager
    def _locked(self):
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("mrz-vm: another one fills the cache; waiting for it", file=sys.stderr, flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
