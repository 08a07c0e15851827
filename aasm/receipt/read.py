# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Read one file that somebody hands over: only a regular file, without blocking, and never more than a bound.

Works on any host: flags that a platform lacks are left out.
"""

from __future__ import annotations

import os
import stat
import sys

from ..errors import ReceiptError, system_text

_FLAGS = os.O_RDONLY
for _name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: str) -> int:
    """Return a descriptor for reading `path`, which must be a regular file (a link to one will do)."""
    if "\0" in path:
        raise ReceiptError("a path cannot hold a NUL byte", path)
    try:
        _expect_regular(path, os.stat(path).st_mode)  # before opening: to open a device can have effects
        descriptor = os.open(path, _FLAGS)
    except OSError as problem:
        what = f"cannot be read: {system_text(problem)}"
        raise ReceiptError(what, path or "the empty name", "name a receipt that you may read") from None
    try:
        _expect_regular(path, os.fstat(descriptor).st_mode)
    except ReceiptError:
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: str, limit: int) -> bytes:
    """Return the bytes of the regular file `path`; ReceiptError when there are more than `limit`."""
    descriptor = open_regular(path)
    try:
        return _read(descriptor, path, limit)
    finally:
        os.close(descriptor)


def read_standard_input(limit: int) -> bytes:
    """Return what standard input holds, at most `limit` bytes, else ReceiptError."""
    if sys.stdin is None:
        raise ReceiptError("is closed", "standard input")
    return _read(0, "standard input", limit)


def _expect_regular(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((words for test, words in _KINDS if test(mode)), "no regular file")
    raise ReceiptError(f"is {kind}, not a regular file", path, "name the receipt itself")


def _read(descriptor: int, where: str, limit: int) -> bytes:
    data = bytearray()
    while len(data) <= limit:
        try:
            piece = os.read(descriptor, min(1 << 20, limit + 1 - len(data)))
        except OSError as problem:
            raise ReceiptError(f"cannot be read: {system_text(problem)}", where) from None
        if not piece:
            return bytes(data)
        data += piece
    raise ReceiptError(f"is larger than {limit} bytes, which no receipt is", where, "name the receipt itself")
