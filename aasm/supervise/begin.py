# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the command's own process does to itself before a launch, and the launcher that is started meanwhile.

All of it is process-wide (signal mask, subreaper, dumpable), so it is done by the command's process and never by a
program that embeds us.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from .._sys import boundary, process
from ..errors import HostError
from .loop import HANDLED
from .spawn import Launcher, start_launcher


class Begun(NamedTuple):
    """A process that is ready to supervise one run."""

    signals: int  # a signal descriptor for the blocked signals
    mask: int  # the signal mask that the program gets: the one we were started with
    bystanders: frozenset[int]  # children that were there before, which are not ours to end
    launcher: Launcher | None  # waits for its order; None without a boundary

    def discard(self) -> None:
        """End a launcher that will get no order."""
        if self.launcher is not None:
            self.launcher.end()


def begin(confined: bool) -> Begun:
    """Take this process over for one run and, for a confined one, start the launcher. Raises HostError."""
    boundary.close_on_exec_from(3)  # descriptors that whoever started us left open
    process.become_undumpable()
    bystanders = _bystanders()
    if confined:
        process.become_subreaper()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever started us may ignore it, and then no status would come
    mask = process.blocked_signals()
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    signals = process.signal_descriptor(HANDLED)
    return Begun(signals, mask, bystanders, start_launcher() if confined else None)


def _bystanders() -> frozenset[int]:
    if process.stat_of(os.getpid()) is None:
        raise HostError("processes cannot be seen here, so none could be ended", "/proc", "mount proc there")
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:  # the usual case: no children yet, and no need to look through /proc
        return frozenset()
    return frozenset(process.pending_children())
