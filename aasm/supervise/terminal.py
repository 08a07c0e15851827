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
        self._child_group = group if group not in (0, self._ours) else 0

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
        if restore_modes and self._modes is not None:
            try:
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._modes)
            except (termios.error, OSError):
                return  # the terminal is gone

    def _set_foreground(self, group: int) -> None:
        try:
            os.tcsetpgrp(self._descriptor, group)
        except OSError:
            return  # the group or the terminal is gone; there is nothing to give back
