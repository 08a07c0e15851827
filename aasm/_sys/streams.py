# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lets the descriptors 0, 1 and 2 exist. Imports nothing that a Python can lack, and opens nothing without need.

A descriptor below 3 that somebody opens for another purpose would become a program's standard input or output.
"""

from __future__ import annotations

import errno
import os

NOWHERE = "/dev/null"


def fill() -> tuple[int, ...]:
    """Put /dev/null where 0, 1 or 2 is closed; return the numbers that were. Raises OSError, with its file name.

    Where all three are open no /dev is needed. What is called /dev/null and is no device would take what is written.
    """
    return tuple(number for number in (0, 1, 2) if not _is_open(number) and _filled(number))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _filled(number: int) -> bool:
    found = os.open(NOWHERE, os.O_RDWR | os.O_NOCTTY)  # the lowest number that is free, so it is this one
    if os.fstat(found).st_mode & 0o170000 != 0o020000:  # inode(7): S_IFMT, S_IFCHR
        os.close(found)
        raise OSError(errno.ENODEV, "is no device", NOWHERE)
    os.set_inheritable(found, True)
    return found == number
