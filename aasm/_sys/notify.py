# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Seccomp user notification, seccomp_unotify(2): structures and calls for the supervisor's side of a listener.

Each function is one ioctl on a bytearray; ctypes is not needed. Must decide nothing, and must not read the memory of
the caller: whoever does, asks `id_valid` after reading and before acting on what was read.
"""

from __future__ import annotations

import errno
import fcntl
import struct
from typing import NamedTuple, Optional, Tuple

from ..errors import InternalError

# Structures of <linux/seccomp.h>, little endian on every supported architecture.
NOTIF = struct.Struct("<QIIiIQ6Q")  # seccomp_notif: id, pid, flags; seccomp_data: nr, arch, instruction pointer, args
RESP = struct.Struct("<QqiI")  # seccomp_notif_resp: id, val, error, flags
ADDFD = struct.Struct("<QIIII")  # seccomp_notif_addfd: id, flags, srcfd, newfd, newfd_flags
ID = struct.Struct("<Q")

SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1 << 0
SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP = 1 << 0
SECCOMP_ADDFD_FLAG_SETFD = 1 << 0
SECCOMP_ADDFD_FLAG_SEND = 1 << 1

# ioctl numbers as <asm-generic/ioctl.h> puts them together: direction, size, type, number.
_IOC_WRITE, _IOC_READ = 1, 2


def _ioc(direction: int, number: int, size: int) -> int:
    return direction << 30 | size << 16 | ord("!") << 8 | number


SECCOMP_IOCTL_NOTIF_RECV = _ioc(_IOC_READ | _IOC_WRITE, 0, NOTIF.size)
SECCOMP_IOCTL_NOTIF_SEND = _ioc(_IOC_READ | _IOC_WRITE, 1, RESP.size)
SECCOMP_IOCTL_NOTIF_ID_VALID = _ioc(_IOC_WRITE, 2, ID.size)
SECCOMP_IOCTL_NOTIF_ADDFD = _ioc(_IOC_WRITE, 3, ADDFD.size)
SECCOMP_IOCTL_NOTIF_SET_FLAGS = _ioc(_IOC_WRITE, 4, ID.size)


class Notification(NamedTuple):
    """One call that waits for an answer."""

    id: int
    pid: int  # the thread that called, as this process sees it; 0 when it cannot be seen
    flags: int
    nr: int
    arch: int
    ip: int
    args: Tuple[int, ...]  # six words of 64 bits


def receive(listener: int) -> Optional[Notification]:
    """Wait for the next call; None when the caller died or was interrupted meanwhile (ENOENT): go on.

    Raise OSError for everything else, InterruptedError when this process caught a signal. The buffer is new each time,
    since the kernel takes only a zeroed one.
    """
    buffer = bytearray(NOTIF.size)
    if not _done(listener, SECCOMP_IOCTL_NOTIF_RECV, buffer):
        return None
    ident, pid, flags, nr, arch, ip, *args = NOTIF.unpack(buffer)
    return Notification(ident, pid, flags, nr, arch, ip, tuple(args))


def respond(listener: int, ident: int, error: int = 0, value: int = 0, go_on: bool = False) -> bool:
    """Answer the call `ident`: fail with the errno `error` (positive), return `value`, or let the kernel go on with it.

    Return False when nobody waits any more (ENOENT: the caller died or was interrupted): drop the answer. `go_on` makes
    the kernel read the caller's memory again, so it is right only where registers alone, or Landlock, decide.
    Raise InternalError for an answer that contradicts itself, OSError for what the kernel refuses (EINPROGRESS: the
    call has been answered already).
    """
    if (error < 0) or (go_on and (error or value)) or (error and value):
        raise InternalError(f"an answer to a notification makes no sense: {error=} {value=} {go_on=}")
    flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE if go_on else 0
    return _done(listener, SECCOMP_IOCTL_NOTIF_SEND, bytearray(RESP.pack(ident, value, -error, flags)))


def id_valid(listener: int, ident: int) -> bool:
    """Return whether the call `ident` still waits; False (ENOENT): its process id may be somebody else's by now.

    Linux 5.0 to 5.7 know this ioctl only by another number; Landlock needs a newer one anyway.
    """
    return _done(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, bytearray(ID.pack(ident)))


def add_fd(listener: int, ident: int, descriptor: int, replace: Optional[int] = None, flags: int = 0) -> Optional[int]:
    """Put a copy of our `descriptor` into the caller, over its descriptor `replace` or at a free number (Linux 5.9).

    `flags` may be os.O_CLOEXEC. Return the number in the caller; None when the caller is gone (ENOENT). The call still
    waits for its answer.
    """
    set_flag = 0 if replace is None else SECCOMP_ADDFD_FLAG_SETFD
    buffer = bytearray(ADDFD.pack(ident, set_flag, descriptor, replace or 0, flags))
    try:
        return int(fcntl.ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, buffer, True))
    except OSError as problem:
        if problem.errno == errno.ENOENT:
            return None
        raise


def set_sync_wake_up(listener: int) -> bool:
    """Let supervisor and caller wake each other on one processor: several times faster (Linux 6.6).

    Return False where the kernel does not know it (EINVAL): go on without. Raise OSError for everything else.
    """
    try:
        fcntl.ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
    except OSError as problem:
        if problem.errno == errno.EINVAL:
            return False
        raise
    return True


def _done(listener: int, request: int, buffer: bytearray) -> bool:
    """Make the ioctl; False for ENOENT, which is never an error here."""
    try:
        fcntl.ioctl(listener, request, buffer, True)
    except OSError as problem:
        if problem.errno == errno.ENOENT:
            return False
        raise
    return True
