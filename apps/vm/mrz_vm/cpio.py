# SPDX-License-Identifier: BSD-3-Clause
"""Writes archives as the kernel unpacks them: cpio's "newc" format, Documentation/driver-api/early-userspace/
buffer-format.rst in Linux."""

import stat

TRAILER = "TRAILER!!!"


class Archive:
    """Collects files; `bytes()` is the archive. All of them belong to root, and have no times."""

    def __init__(self):
        self._parts = []
        self._inode = 0
        self._folders = set()

    def folder(self, path):
        """Adds a folder and those that it lies in."""
        if path in self._folders or not path:
            return
        self.folder(path.rpartition("/")[0])
        self._folders.add(path)
        self._add(path, stat.S_IFDIR | 0o755, b"")

    def file(self, path, content, executable=False):
        self.folder(path.rpartition("/")[0])
        self._add(path, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def bytes(self):
        return b"".join(self._parts) + entry(0, TRAILER, 0, b"")

    def _add(self, path, mode, content):
        self._inode += 1
        self._parts.append(entry(self._inode, path, mode, content))


def padded(content):
    return content + bytes(-len(content) % 4)


def entry(inode, path, mode, content):
    name = path.encode() + b"\0"
    fields = [inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return padded(header + name) + padded(content)
