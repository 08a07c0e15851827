# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Landlock as a table: what each version of the kernel interface brought. Pure; asks no kernel and imports no ctypes.

`ROWS` holds increments, one row for each ABI version. Masks, names and the newest known version are all derived from
the constants and these rows; a second list of the same bits anywhere is a defect. Source: <linux/landlock.h>,
Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple

# Rights on files and directories: handled_access_fs and allowed_access.
LANDLOCK_ACCESS_FS_EXECUTE = 1 << 0
LANDLOCK_ACCESS_FS_WRITE_FILE = 1 << 1
LANDLOCK_ACCESS_FS_READ_FILE = 1 << 2
LANDLOCK_ACCESS_FS_READ_DIR = 1 << 3
LANDLOCK_ACCESS_FS_REMOVE_DIR = 1 << 4
LANDLOCK_ACCESS_FS_REMOVE_FILE = 1 << 5
LANDLOCK_ACCESS_FS_MAKE_CHAR = 1 << 6
LANDLOCK_ACCESS_FS_MAKE_DIR = 1 << 7
LANDLOCK_ACCESS_FS_MAKE_REG = 1 << 8
LANDLOCK_ACCESS_FS_MAKE_SOCK = 1 << 9
LANDLOCK_ACCESS_FS_MAKE_FIFO = 1 << 10
LANDLOCK_ACCESS_FS_MAKE_BLOCK = 1 << 11
LANDLOCK_ACCESS_FS_MAKE_SYM = 1 << 12
LANDLOCK_ACCESS_FS_REFER = 1 << 13
LANDLOCK_ACCESS_FS_TRUNCATE = 1 << 14
LANDLOCK_ACCESS_FS_IOCTL_DEV = 1 << 15
LANDLOCK_ACCESS_FS_RESOLVE_UNIX = 1 << 16

# Rights on TCP ports: handled_access_net.
LANDLOCK_ACCESS_NET_BIND_TCP = 1 << 0
LANDLOCK_ACCESS_NET_CONNECT_TCP = 1 << 1

# What may not leave the domain: scoped.
LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0
LANDLOCK_SCOPE_SIGNAL = 1 << 1

# Flags of landlock_restrict_self(2).
LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF = 1 << 0
LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON = 1 << 1
LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF = 1 << 2
LANDLOCK_RESTRICT_SELF_TSYNC = 1 << 3


class AbiRow(NamedTuple):
    """What one ABI version added to the one before it."""

    abi: int
    kernel: str  # the mainline release that brought it
    fs: int
    net: int
    scope: int
    restrict_flags: int
    brings: str  # what becomes possible to restrict, in words


class Rights(NamedTuple):
    """Everything that a version knows, one mask for each family."""

    fs: int
    net: int
    scope: int
    flags: int


_ABI_1 = (
    LANDLOCK_ACCESS_FS_EXECUTE
    | LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_READ_FILE
    | LANDLOCK_ACCESS_FS_READ_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_FILE
    | LANDLOCK_ACCESS_FS_MAKE_CHAR
    | LANDLOCK_ACCESS_FS_MAKE_DIR
    | LANDLOCK_ACCESS_FS_MAKE_REG
    | LANDLOCK_ACCESS_FS_MAKE_SOCK
    | LANDLOCK_ACCESS_FS_MAKE_FIFO
    | LANDLOCK_ACCESS_FS_MAKE_BLOCK
    | LANDLOCK_ACCESS_FS_MAKE_SYM
)
_TCP = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP
_SCOPES = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL
_LOGGING = (
    LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
    | LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON
    | LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF
)

ROWS = (
    AbiRow(1, "5.13", _ABI_1, 0, 0, 0, "executing, reading, writing, creating and removing files and directories"),
    AbiRow(2, "5.19", LANDLOCK_ACCESS_FS_REFER, 0, 0, 0, "linking and renaming between directories"),
    AbiRow(3, "6.2", LANDLOCK_ACCESS_FS_TRUNCATE, 0, 0, 0, "truncating files"),
    AbiRow(4, "6.7", 0, _TCP, 0, 0, "binding and connecting TCP sockets, by port"),
    AbiRow(5, "6.10", LANDLOCK_ACCESS_FS_IOCTL_DEV, 0, 0, 0, "ioctl on device files"),
    AbiRow(6, "6.12", 0, 0, _SCOPES, 0, "signals and abstract unix sockets beyond the boundary"),
    AbiRow(7, "6.15", 0, 0, 0, _LOGGING, "which denials the kernel's audit log gets"),
    AbiRow(8, "7.0", 0, 0, 0, LANDLOCK_RESTRICT_SELF_TSYNC, "restricting all threads of a process at once"),
    AbiRow(9, "7.1", LANDLOCK_ACCESS_FS_RESOLVE_UNIX, 0, 0, 0, "connecting to unix sockets by path"),
)
NEWEST_ABI = ROWS[-1].abi

# Rights that exist on something that is not a directory. Any other in a rule for a file is EINVAL.
FILE_RIGHTS = (
    LANDLOCK_ACCESS_FS_EXECUTE
    | LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_READ_FILE
    | LANDLOCK_ACCESS_FS_TRUNCATE
    | LANDLOCK_ACCESS_FS_IOCTL_DEV
    | LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

# What a grant gives. These six cover every right and share none, so that each has exactly one meaning in a policy.
READ_RIGHTS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
EXECUTE = LANDLOCK_ACCESS_FS_EXECUTE
WRITE_RIGHTS = (
    LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_REMOVE_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_FILE
    | LANDLOCK_ACCESS_FS_MAKE_DIR
    | LANDLOCK_ACCESS_FS_MAKE_REG
    | LANDLOCK_ACCESS_FS_MAKE_SOCK
    | LANDLOCK_ACCESS_FS_MAKE_FIFO
    | LANDLOCK_ACCESS_FS_MAKE_SYM
    | LANDLOCK_ACCESS_FS_REFER
    | LANDLOCK_ACCESS_FS_TRUNCATE
)
DEVICE = LANDLOCK_ACCESS_FS_IOCTL_DEV
UNIX_CONNECT = LANDLOCK_ACCESS_FS_RESOLVE_UNIX  # never implied: a helper behind the socket acts outside the boundary
NEVER_GRANTED = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK  # device nodes reach past every path rule

_FAMILIES = {
    "fs": "LANDLOCK_ACCESS_FS_",
    "net": "LANDLOCK_ACCESS_NET_",
    "scope": "LANDLOCK_SCOPE_",
    "flags": "LANDLOCK_RESTRICT_SELF_",
}


def rights_known(abi: int) -> Rights:
    """Return what ABI `abi` knows. 0 knows nothing; a version newer than the table counts as the table's newest."""
    rows = [row for row in ROWS if row.abi <= abi]
    return Rights(
        sum(row.fs for row in rows),
        sum(row.net for row in rows),
        sum(row.scope for row in rows),
        sum(row.restrict_flags for row in rows),
    )


def abi_in_use(reported: int, fs: int, net: int, scope: int) -> int:
    """Return the highest ABI, not above the `reported` one, all of whose rights are in the masks that were probed.

    Flags of landlock_restrict_self(2) cannot be probed without restricting oneself, so rows that bring only flags
    rest on the reported version.
    """
    abi = 0
    for row in ROWS:
        if row.abi > reported or row.fs & ~fs or row.net & ~net or row.scope & ~scope:
            break
        abi = row.abi
    return abi


def names(mask: int, family: str) -> Tuple[str, ...]:
    """Return the names of the bits in `mask`, low to high, as the kernel's audit log spells them ("make_reg").

    `family` is "fs", "net", "scope" or "flags". A bit without a name is given as "bit_N".
    """
    known = {bit: name for name, bit in bits(family)}
    return tuple(known.get(1 << at, f"bit_{at}") for at in range(mask.bit_length()) if mask >> at & 1)


def bits(family: str) -> Tuple[Tuple[str, int], ...]:
    """Return (name, bit) for every right of a family. The constants above are the only list there is."""
    prefix = _FAMILIES[family]
    return tuple((name[len(prefix) :].lower(), bit) for name, bit in _CONSTANTS if name.startswith(prefix))


_CONSTANTS = tuple((name, value) for name, value in globals().items() if name.startswith("LANDLOCK_"))
