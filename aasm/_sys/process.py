# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor needs from the kernel: signals as events, orphans, and the tree of processes below it."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import time
from typing import Callable, Iterable, NamedTuple

from ..errors import SCARCE
from . import boundary

_libc = ctypes.CDLL(None, use_errno=True)

SIGINFO = struct.Struct("<IiiI")  # signalfd(2): ssi_signo, ssi_errno, ssi_code, ssi_pid; 128 bytes in all
SIGINFO_SIZE = 128
SI_KERNEL = 0x80  # asm-generic/siginfo.h: sent by the kernel, as the terminal does
SFD_CLOEXEC, SFD_NONBLOCK = os.O_CLOEXEC, os.O_NONBLOCK  # linux/signalfd.h


class SignalEvent(NamedTuple):
    """One signal that reached us. `from_kernel`: the terminal sent it to the whole foreground group."""

    number: int
    from_kernel: bool
    sender: int


def become_subreaper() -> None:
    """Make every orphan below us our child (PR_SET_CHILD_SUBREAPER), so that none escapes waiting or killing."""
    boundary.prctl(boundary.PR_SET_CHILD_SUBREAPER, 1)


def become_undumpable() -> None:
    """Keep other processes of this user away from our memory and environment (PR_SET_DUMPABLE)."""
    boundary.prctl(boundary.PR_SET_DUMPABLE, 0)


def signal_descriptor(numbers: Iterable[int]) -> int:
    """Return a signalfd(2) for the blocked signals `numbers`: close-on-exec, non-blocking."""
    words = (ctypes.c_ulong * 16)()  # sigset_t of the C library, 1024 bits
    for number in numbers:
        words[(number - 1) // 64] |= 1 << (number - 1) % 64
    descriptor = _libc.signalfd(-1, ctypes.byref(words), SFD_CLOEXEC | SFD_NONBLOCK)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(descriptor)


def read_signals(descriptor: int) -> list[SignalEvent]:
    """Return the signals that are waiting in a signal descriptor; an empty list when there is none."""
    try:
        data = os.read(descriptor, SIGINFO_SIZE * 16)
    except BlockingIOError:
        return []
    events = []
    for at in range(0, len(data), SIGINFO_SIZE):
        number, _, code, sender = SIGINFO.unpack_from(data, at)
        events.append(SignalEvent(number, code == SI_KERNEL, sender))
    return events


def pending_children(seen: Iterable[int] = ()) -> list[int]:
    """Return the process ids of our children, without those in `seen`."""
    own = os.getpid()
    return [pid for pid, parent in _parents().items() if parent == own and pid not in seen]


def descendants(seen: Iterable[int] = ()) -> list[int]:
    """Return every process below us, without those in `seen` and what hangs below them.

    OSError when it could not be found out for SCARCE_SECONDS: the program can use up what the system has of files.
    """
    children: dict[int, list[int]] = {}
    for pid, parent in _when_there_is_room(_parents).items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [os.getpid()]
    while todo:
        for pid in children.get(todo.pop(), ()):
            if pid not in seen:
                found.append(pid)
                todo.append(pid)
    return found


SCARCE_SECONDS = 60.0


def _when_there_is_room(look: Callable[[], dict[int, int]]) -> dict[int, int]:
    until = time.monotonic() + SCARCE_SECONDS
    while True:
        try:
            return look()
        except OSError as problem:
            if problem.errno not in SCARCE or time.monotonic() > until:
                raise
            time.sleep(0.05)  # what was killed meanwhile gives its files back


def _parents() -> dict[int, int]:
    # A scan of /proc: /proc/PID/task/TID/children would be shorter, but needs CONFIG_PROC_CHILDREN
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            status = stat_of(int(name))
            if status is not None:
                found[int(name)] = status.parent
    return found


class ProcessStat(NamedTuple):
    """The part of /proc/PID/stat (proc(5)) that we use. `name` is bytes: a program chooses it."""

    name: bytes
    state: str
    parent: int
    exiting: bool  # PF_EXITING, linux/sched.h: on its way out, though not yet a zombie


def stat_of(pid: int) -> ProcessStat | None:
    """Return the facts of one process, or None when it is gone or /proc does not show it.

    Raises OSError when it could not be found out, as when no descriptor is free: that is no "gone".
    """
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            line = os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM):
            return None
        raise
    head, _, tail = line.rpartition(b")")  # the name may itself hold parentheses and blanks
    fields = tail.split()
    return ProcessStat(head.partition(b"(")[2], fields[0].decode(), int(fields[1]), bool(int(fields[6]) & 4))


def send_signal(pid: int, number: int) -> bool:
    """Send a signal; False when the process is gone or not ours to signal.

    Only for our own unreaped children is the id certain.
    """
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def open_descriptors() -> list[int]:
    """Return the open descriptors of this process. Raises OSError where /proc does not show them."""
    return [number for number in sorted(int(name) for name in os.listdir("/proc/self/fd")) if _is_open(number)]


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:  # the descriptor of the listing itself
        return False
    return True


def blocked_signals() -> int:
    """Return this thread's signal mask as a word: bit n-1 stands for signal n."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return sum(1 << (int(number) - 1) for number in mask if int(number) <= 64)


def memory_page() -> int:
    """Return a close-on-exec descriptor of one zeroed page of anonymous memory (memfd_create(2))."""
    descriptor = _libc.memfd_create(b"aasm-status", 1)  # MFD_CLOEXEC
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number or errno.ENOSYS, os.strerror(number))
    os.ftruncate(descriptor, boundary.PAGE_SIZE)
    return int(descriptor)
