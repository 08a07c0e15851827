# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Many files and folders written one after the other, and taken back when one of them fails or somebody interrupts.

A path is noted before it is made, so nothing that is made can be forgotten. It replaces nothing.
"""

from __future__ import annotations

import errno
import os
from typing import Callable, Iterable, List

import archives


class Written:
    """What was written so far, in that order."""

    def __init__(self) -> None:
        self.paths: List[str] = []

    def folder(self, path: str) -> None:
        """Make a folder with all above it, where they are missing. OSError with the path that could not be made."""
        if os.path.isdir(path):
            return
        if os.path.lexists(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        self.folder(os.path.dirname(path) or os.curdir)
        self._noted(path, lambda: os.mkdir(path))
        os.chmod(path, 0o755)  # the umask says what a user's files are, not what is handed to others

    def file(self, path: str, data: bytes, permissions: int = archives.DATA, lasting: bool = False) -> None:
        """Write a new file, and the folders above it. OSError with its path; see `archives.write_new`."""
        self.folder(os.path.dirname(path))
        self._noted(path, lambda: archives.write_new(path, data, permissions, lasting))

    def take_back(self) -> None:
        """Remove all of it, the last first, as far as that can be done."""
        try:
            remove(self.paths)
        except OSError:  # what made us give up is what has to be reported
            pass

    def _noted(self, path: str, make: Callable[[], None]) -> None:
        self.paths.append(path)
        try:
            make()
        except FileExistsError:  # somebody else's
            self.paths.remove(path)
            raise


def remove(paths: Iterable[str]) -> List[str]:
    """Remove files, and folders that are empty then, from the last to the first; return what was removed.

    What is gone already is no error. OSError for a file that cannot be removed, and then those before it stay.
    """
    gone = []
    for path in reversed([*paths]):
        folder = os.path.isdir(path) and not os.path.islink(path)
        try:
            os.rmdir(path) if folder else os.unlink(path)
            gone.append(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            if not folder:  # a folder with other files in it, or of somebody else, may stay
                raise
    return gone
