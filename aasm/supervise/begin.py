# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the command's own process does to itself before a launch, and the launcher that is started meanwhile.

All of it is process-wide (signal mask, subreaper, dumpable), so it is done by the command's process and never by a
program that embeds us.
"""

from __future__ import annotations

import _socket
import os
import signal
import stat
from typing import NamedTuple

from .._sys import boundary, process
from ..errors import HostError, system_text
from .loop import HANDLED
from .spawn import Launcher, start_launcher


class Begun(NamedTuple):
    """A process that is ready to supervise one run."""

    signals: int  # a signal descriptor for the blocked signals
    umask: int  # the file mode mask that the program gets; our own files want another
    mask: int  # the signal mask that the program gets: the one we were started with
    bystanders: set[int]  # children that were there before, which are not ours to end
    launcher: Launcher | None  # waits for its order; None without a boundary

    def discard(self) -> None:
        """End a launcher that will get no order."""
        if self.launcher is not None:
            self.launcher.end()


def begin(confined: bool) -> Begun:
    """Take this process over for one run and, for a confined one, start the launcher. Raises HostError."""
    try:
        return _begin(confined)
    except OSError as problem:
        what = f"this process cannot supervise: {system_text(problem)}"
        remedy = "allow prctl, signalfd and memfd_create in the filter around it"
        raise HostError(what, "", remedy) from None


def foresee(confined: bool) -> None:
    """Raise the HostError with which `begin` would refuse this process as it is now, and change nothing."""
    if confined:
        _check_descriptors()
        _check_proc()


def _begin(confined: bool) -> Begun:
    if confined:
        _check_descriptors()
    boundary.close_on_exec_from(3)  # descriptors that whoever started us left open
    process.become_undumpable()
    bystanders = _bystanders() if confined else set()  # without a boundary nothing but the program is ended
    if confined:
        process.become_subreaper()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever started us may ignore it, and then no status would come
    mask = process.blocked_signals()
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    signals = process.signal_descriptor(HANDLED)
    launcher = start_launcher() if confined else None  # it keeps the umask that we were started with
    return Begun(signals, os.umask(0o077), mask, bystanders, launcher)


def _bystanders() -> set[int]:
    _check_proc()
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:  # the usual case: no children yet, and no need to look through /proc
        return set()
    return set(process.pending_children())


def _check_proc() -> None:
    """Refuse a /proc in which what a run leaves behind could not be found."""
    try:
        own = os.readlink("/proc/self")
    except OSError:
        own = ""
    if own != str(os.getpid()):
        raise HostError("processes cannot be seen here, so none could be ended", "/proc", "mount a proc of this system")
    try:
        os.listdir("/proc")
    except OSError as problem:
        remedy = "let this process read it (inside another boundary: grant /proc)"
        raise HostError(f"cannot be listed: {system_text(problem)}", "/proc", remedy) from None
    if process.stat_of(1) is None:
        raise HostError("processes of others are hidden here (hidepid), and a program can hide its own the same way",
                        "/proc", "mount it without hidepid, or run as a member of its gid= group")  # fmt: skip


def _check_descriptors() -> None:
    """Refuse a socket on 0, 1 or 2 through which the program could reach a place of its own choice."""
    for number in (0, 1, 2):
        if stat.S_ISSOCK(os.fstat(number).st_mode) and not _connected_stream(number):
            raise HostError(
                "is a socket that is not connected to one place, so no boundary would hold it",
                f"descriptor {number}",
                "connect it, or put a pipe or /dev/null there",
            )


def _connected_stream(number: int) -> bool:
    end = _socket.socket(fileno=os.dup(number))
    try:
        end.getpeername()
        return bool(end.type & 0xF in (_socket.SOCK_STREAM, _socket.SOCK_SEQPACKET))
    except OSError:
        return False
    finally:
        end.close()
