# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Resolves a path one component at a time, by descriptor, and tells which symbolic links it met.

One walk gives the object, its place and the links: asking the file system twice would let a program that runs
meanwhile show a directory to one question and a link to the other.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from ..errors import InternalError

_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40  # as path_resolution(7)


class Walked(NamedTuple):
    """Where a path leads. `path` has no link and no `..` in it; `found` is None when the object does not exist.

    `rest` are the names that could not be followed, as they were spelled. `folder` is whether the path, or a link at
    its end, ends so that nothing but a directory can be there: with `/`, `.` or `..`.
    """

    path: str
    found: os.stat_result | None
    links: tuple[str, ...]  # the places of the links that were met
    rest: tuple[str, ...] = ()
    folder: bool = False


def walk(path: str) -> Walked:
    """Follow an absolute path to its end. Raises OSError when it cannot be followed, ENOENT when it does not exist."""
    return _Walk(path).run(missing_ok=False)


def walk_as_far_as_possible(path: str) -> Walked:
    """Follow an absolute path; what does not exist, or cannot be looked at, is taken as it is spelled."""
    return _Walk(path).run(missing_ok=True)


class _Walk:
    def __init__(self, path: str) -> None:
        if not path.startswith("/"):
            raise InternalError(f"a relative path cannot be followed: {path}")
        self.todo = _parts(path)
        self.folder = _is_of_folder(path)
        self.resolved = "/"
        self.links: list[str] = []
        self.current = os.open("/", _STEP)
        self.ahead: list[str] = []  # what the link that was just met stands for

    def run(self, missing_ok: bool) -> Walked:
        try:
            while self.todo:
                self.ahead = []
                self._step(self.todo[0])
                self.todo[:1] = self.ahead
            return Walked(self.resolved, os.fstat(self.current), tuple(self.links), (), self.folder)
        except OSError:
            if not missing_ok:
                raise
            rest = os.path.normpath(os.path.join(self.resolved, *self.todo))
            return Walked(rest, None, tuple(self.links), tuple(self.todo), self.folder)
        finally:
            os.close(self.current)

    def _step(self, name: str) -> None:
        reached = os.open(name, _STEP, dir_fd=self.current)
        if stat.S_ISLNK(os.fstat(reached).st_mode):
            self._follow(name, reached)
            return
        os.close(self.current)
        self.current = reached
        self.resolved = os.path.dirname(self.resolved) if name == ".." else os.path.join(self.resolved, name)

    def _follow(self, name: str, link: int) -> None:
        self.links.append(os.path.join(self.resolved, name))  # also one that may not be read: it is on the way
        try:
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        if len(self.links) > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith("/"):
            root = os.open("/", _STEP)
            os.close(self.current)
            self.current, self.resolved = root, "/"
        self.ahead = _parts(target)
        self.folder = self.folder or (len(self.todo) == 1 and _is_of_folder(target))


def _parts(path: str) -> list[str]:
    return [name for name in path.split("/") if name and name != "."]


def _is_of_folder(path: str) -> bool:
    return path.rpartition("/")[2] in ("", ".", "..")
