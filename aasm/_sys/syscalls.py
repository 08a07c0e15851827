# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Name <-> number of the system calls, for each supported architecture, over the generated tables.

Pure apart from `host_arch`, which asks uname(2). Loads the one table that is needed. Must not decide what is allowed.
"""

from __future__ import annotations

import os
import sys
from typing import Mapping, NamedTuple, Optional, Tuple

from ..errors import HostError, InternalError

SUPPORTED = ("x86_64", "aarch64", "riscv64")


class Arch(NamedTuple):
    """One architecture as a value: a filter for it can be made and tested on any machine."""

    name: str  # as uname(2) gives it
    audit_arch: int  # the architecture word in struct seccomp_data, <linux/audit.h>
    numbers: Mapping[str, int]
    newest: int  # the highest number that the table knows
    x32_bit: int  # this bit marks the numbers of x32, <asm/unistd.h>; 0 where there are none


def arch(name: str) -> Arch:
    """Return the architecture `name`, one of SUPPORTED; raise HostError for any other."""
    if name == "x86_64":
        from . import _nr_x86_64 as x86_64

        return Arch(x86_64.ARCH, x86_64.AUDIT_ARCH, x86_64.NUMBERS, x86_64.NEWEST, x86_64.X32_BIT)
    if name == "aarch64":
        from . import _nr_aarch64 as aarch64

        return Arch(aarch64.ARCH, aarch64.AUDIT_ARCH, aarch64.NUMBERS, aarch64.NEWEST, aarch64.X32_BIT)
    if name == "riscv64":
        from . import _nr_riscv64 as riscv64

        return Arch(riscv64.ARCH, riscv64.AUDIT_ARCH, riscv64.NUMBERS, riscv64.NEWEST, riscv64.X32_BIT)
    raise HostError("the system call numbers of this architecture are not known", name, f"use {', '.join(SUPPORTED)}")


def host_arch() -> Arch:
    """Return the architecture of this process; raise HostError where aasm cannot work.

    A 32-bit Python on a 64-bit kernel makes its calls by another table, with another architecture word (uname does not
    show it), so it is refused.
    """
    host = os.uname()
    if host.sysname != "Linux":
        raise HostError("Landlock and seccomp are mechanisms of Linux", host.sysname, "use a Linux host")
    if sys.maxsize <= 1 << 32:
        raise HostError("this Python is a 32-bit program", sys.executable, "use a 64-bit Python")
    return arch(host.machine)


def known(name: str) -> bool:
    """Return whether any supported architecture has a call of this name."""
    return any(name in arch(machine).numbers for machine in SUPPORTED)


def number(where: Arch, name: str) -> Optional[int]:
    """Return the number of the call `name`, or None where that architecture lacks it (aarch64 has no `open`).

    Raise InternalError for a name that no architecture has: names from outside are checked by `known` first.
    """
    found = where.numbers.get(name)
    if found is None and not known(name):
        raise InternalError("no system call has this name", name)
    return found


def names(where: Arch) -> Mapping[int, str]:
    """Return {number: name}; a number has exactly one name."""
    return {value: name for name, value in where.numbers.items()}


def gaps(where: Arch) -> Tuple[int, ...]:
    """Return the numbers up to the newest that no call has. The kernel answers ENOSYS to them, and so must a filter."""
    used = set(where.numbers.values())
    return tuple(value for value in range(where.newest + 1) if value not in used)
