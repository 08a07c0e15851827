# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What was found so far, and how files are looked at: only regular ones, without blocking, never more than a bound."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from typing import Callable, Iterator, NamedTuple

from ..errors import HostError, system_text
from . import elf
from .elf import Unclear
from .firstline import FirstLine

OPTIONAL = "optional: "  # `why` begins so when nothing fails without the file
NOT_THERE = tuple(os.strerror(n) for n in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))

May = Callable[[str, str], bool]  # whether a path may be opened for a right: "execute" or "read"

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_LARGEST = 1 << 22  # bytes of a cache or a list
_MOST_EFFORT = 50_000  # files looked for; one that is opened counts as twenty


class Need(NamedTuple):
    """One file that is opened. Links in `path` are not resolved; `right` is "execute" or "read".

    Under Landlock the right to execute a file is of no use without the right to read it; a file is not listed a
    second time for that. `missing`: it does not exist, and `why` says so; `path` is then what was asked for, a bare
    name when directories were searched for it. Where `why` begins with OPTIONAL, nothing fails without the file.
    `refused`: why it cannot be had whatever modes and boundary say, mostly "".
    """

    path: str
    right: str
    why: str
    missing: bool
    refused: str = ""


class File(NamedTuple):
    """One file that execve opens: a script when it has a `line`, an ELF file when it has a `kind`.

    `refused`: why the kernel would not execute it even so. `guarded`: its loader hears no variable.
    """

    path: str
    why: str
    missing: str = ""  # why it cannot be found
    line: FirstLine | None = None
    kind: elf.Kind | None = None
    loader: str = ""
    dynamic: elf.Dynamic = elf.Dynamic()
    refused: str = ""
    guarded: bool = False


def anything(path: str, right: str) -> bool:
    """Say that every path may be opened."""
    return True


class Listing:
    """What was found so far, and how much was looked for. `may` says what would be opened."""

    def __init__(self, may: May = anything) -> None:
        self.may = may
        self.found: dict[tuple[str, str], Need] = {}
        self.effort = 0
        self.caches: dict[str, dict[str, list[elf.Cached]]] = {}

    def add(self, path: str, right: str, why: str, missing: str = "", refused: str = "") -> None:
        """Add a need, unless it is there; one that is optional becomes what it is for a later one that is not."""
        made = Need(path, right, f"{why}; {missing}" if missing else why, bool(missing), refused)
        known = self.found.get((path, right), made)
        self.found[path, right] = made if known.why.startswith(OPTIONAL) else known

    def spend(self, where: str, units: int = 1) -> None:
        self.effort += units
        if self.effort > _MOST_EFFORT:
            raise HostError("leads to too many files to follow", where, "name another program")


@contextlib.contextmanager
def reading(path: str) -> Iterator[elf.Read]:
    """Open a regular file and hand out what reads it."""
    try:
        _expect_regular(path, os.stat(path).st_mode)  # before opening: to open a device can have effects
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem) from None
    try:
        _expect_regular(path, os.fstat(descriptor).st_mode)
        yield functools.partial(_read, descriptor, path)
    finally:
        os.close(descriptor)


def _expect_regular(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise HostError("is not a regular file", path, "put one there")


def _read(descriptor: int, path: str, offset: int, most: int) -> bytes:
    data = b""
    try:
        while len(data) < most and offset + most < 1 << 63:  # no file has more; /proc answers in pieces
            piece = os.pread(descriptor, most - len(data), offset + len(data))
            if not piece:
                break
            data += piece
    except OSError as problem:
        raise _unreadable(path, problem) from None
    return data


def _unreadable(path: str, problem: Exception) -> HostError:
    text = system_text(problem) if isinstance(problem, OSError) else str(problem)
    return Unclear(f"cannot be read: {text}", path, "make it readable, or ask as a user who may read it")


def beginning(path: str, most: int) -> bytes:
    """Return the first bytes of a file, `most` at most."""
    with reading(path) as read:
        return read(0, most)


def whole(path: str) -> bytes:
    """Return all bytes of a cache or a list."""
    data = beginning(path, _LARGEST + 1)
    if len(data) > _LARGEST:
        raise HostError(f"is larger than {_LARGEST} bytes", path, "write it anew")
    return data


def absolute(path: str, cwd: str) -> str:
    """Return `path` as it is found from `cwd`: spelled as it was, but for a `./` in front."""
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return os.path.join(cwd, path)
