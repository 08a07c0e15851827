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


def end(bystanders: frozenset[int], grace: float = GRACE_SECONDS) -> int:
    """End every process below us but `bystanders`; return how many were left over when the program had ended."""
    if not reap():  # the usual case costs no look at /proc: every orphan would be a child of ours
        return 0
    left = process.descendants(bystanders)
    if not left:
        return 0
    for pid in left:
        process.send_signal(pid, signal.SIGTERM)
        process.send_signal(pid, signal.SIGCONT)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and _alive(bystanders):
        time.sleep(POLL_SECONDS)
    kill(bystanders)
    return len(left)


def kill(bystanders: frozenset[int]) -> None:
    """Kill in a loop until nothing is left: what forks meanwhile is met by the next round."""
    pause = 0.0005
    while True:
        left = _alive(bystanders)
        if not left:
            return
        for pid in left:
            process.send_signal(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def _alive(bystanders: frozenset[int]) -> list[int]:
    return process.descendants(bystanders) if reap() else []


def reap() -> bool:
    """Reap every child that has ended; say whether any child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
