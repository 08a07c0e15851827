# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Ends what a run left behind. We are the subreaper, so neither setsid nor a double fork leads out of the tree."""

from __future__ import annotations

import os
import signal
import time

from .._sys import process

GRACE_SECONDS = 0.5  # between asking what is left over to end, and ending it
POLL_SECONDS = 0.005
REAPING_SECONDS = 0.05  # at a time: a chain of forks that end at once must not keep us from killing


def end(bystanders: set[int], grace: float = GRACE_SECONDS) -> int:
    """End every process below us but `bystanders`; return how many were left over when the program had ended."""
    if not _reap(bystanders)[0]:  # the usual case costs no look at /proc: every orphan would be a child of ours
        return 0
    for pid in process.descendants(bystanders):
        process.send_signal(pid, signal.SIGTERM)
        process.send_signal(pid, signal.SIGCONT)
    return _wait(bystanders, grace) + kill(bystanders)


def _wait(bystanders: set[int], grace: float) -> int:
    ended, deadline = 0, time.monotonic() + grace
    while time.monotonic() < deadline:
        left, reaped = _reap(bystanders)
        ended += reaped
        if not left or not process.descendants(bystanders):
            break
        time.sleep(POLL_SECONDS)
    return ended


def kill(bystanders: set[int]) -> int:
    """Kill in a loop until nothing is left: what forks meanwhile is met by the next round. Returns how many ended."""
    ended, pause = 0, POLL_SECONDS / 10
    while True:
        left, reaped = _reap(bystanders)
        ended += reaped
        found = process.descendants(bystanders) if left else []
        ours = [pid for pid in found if process.send_signal(pid, signal.SIGKILL)]
        if not left or not (ours or reaped):  # what answers no signal of ours belongs to somebody else
            return ended
        time.sleep(pause)
        pause = POLL_SECONDS / 10 if reaped else min(pause * 1.5, 10 * POLL_SECONDS)


def _reap(bystanders: set[int]) -> tuple[bool, int]:
    """Reap children that have ended; return whether any child may be left, and how many of ours were reaped."""
    reaped, deadline = 0, time.monotonic() + REAPING_SECONDS
    try:
        while time.monotonic() < deadline:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True, reaped
            reaped += pid not in bystanders
            bystanders.discard(pid)  # its number may be given to a process of the program from here on
        return True, reaped
    except ChildProcessError:
        return False, reaped
