# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Grants: the file-system objects that a run may reach, each pinned to the object that was checked."""

from __future__ import annotations

import stat
from typing import NamedTuple


class Grant(NamedTuple):
    """One object, and what the program may do with it and with everything beneath it.

    `path` has no symbolic link in it. `device` and `inode` pin the object: the launcher refuses another one.
    """

    path: str
    device: int
    inode: int
    mode: int  # st_mode, for the kind of object
    read: bool
    write: bool
    origin: str  # what asked for it: file:line:column, an option, or the backend's own need
    execute: bool = False

    @property
    def is_directory(self) -> bool:
        """Say whether the grant covers a tree."""
        return stat.S_ISDIR(self.mode)


def beneath(path: str, top: str) -> bool:
    """Say whether `path` is `top` or lies below it, by whole components. Both absolute and normalised."""
    return top == "/" or path == top or path.startswith(top + "/")


def covers(grants: tuple[Grant, ...], path: str, write: bool) -> bool:
    """Say whether any grant lets the program read (or write) `path`."""
    return any(beneath(path, grant.path) for grant in grants if (grant.write if write else grant.read))


def executes(grants: tuple[Grant, ...], path: str) -> bool:
    """Say whether any grant lets the program execute `path`."""
    return any(beneath(path, grant.path) for grant in grants if grant.execute)
