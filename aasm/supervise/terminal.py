# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The terminal that the program shares with us: its modes, and who is in the foreground."""

from __future__ import annotations

import os
import termios
from typing import Any


class Terminal:
    """The terminal among descriptors 0, 1 and 2, if there is one, and the state in which we found it."""

    def __init__(self) -> None:
        self._descriptor = next((fd for fd in (0, 1, 2) if os.isatty(fd)), -1)
        if self._descriptor < 0:  # the program can still reach the controlling terminal by its name
            self._descriptor = _controlling_terminal()
        self._modes: list[Any] | None = None
        self._ours = os.getpgrp()
        self._child_group = 0
        self._was_foreground = self._foreground() == self._ours
        if self._descriptor >= 0:
            try:
                self._modes = termios.tcgetattr(self._descriptor)
            except termios.error:
                self._descriptor = -1

    def _foreground(self) -> int:
        if self._descriptor < 0:
            return 0
        try:
            return os.tcgetpgrp(self._descriptor)
        except OSError:
            return 0

    def can_stop(self) -> bool:
        """Say whether somebody can continue us after a stop: a job-control shell outside our process group."""
        parent = os.getppid()
        try:
            return self._descriptor >= 0 and os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != self._ours
        except OSError:
            return False

    def note_stop(self) -> None:
        """Remember which group the program had put into the foreground before everybody stops."""
        group = self._foreground()
        theirs = (0, self._ours, _group_of(os.getppid()))  # in the background the outer shell has the foreground
        self._child_group = group if group not in theirs else 0

    def resume(self) -> None:
        """Give the foreground back to the group that had it, once we have it again."""
        if self._child_group and self._foreground() == self._ours:
            self._set_foreground(self._child_group)

    def reclaim(self, restore_modes: bool) -> None:
        """After the program: take the foreground back if we had it; after a kill also restore the modes."""
        if self._descriptor < 0:
            return
        if self._was_foreground and self._foreground() != self._ours:
            self._set_foreground(self._ours)
        try:
            termios.tcflow(self._descriptor, termios.TCOON)  # a stopped terminal would hold our own last lines
            if restore_modes and self._modes is not None:
                termios.tcsetattr(self._descriptor, termios.TCSANOW, self._modes)
        except (termios.error, OSError):
            return  # the terminal is gone

    def _set_foreground(self, group: int) -> None:
        try:
            os.tcsetpgrp(self._descriptor, group)
        except OSError:
            return  # the group or the terminal is gone; there is nothing to give back


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def _controlling_terminal() -> int:
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # there is none
        return -1
