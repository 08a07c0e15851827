# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor saw of one run: facts, no claims."""

from __future__ import annotations

from enum import Enum
from typing import Mapping, NamedTuple


class Ending(Enum):
    """How a run ended. `exited`, `killed` and `wall_clock` speak of the program itself; in the others it never ran."""

    EXITED = "exited"
    KILLED = "killed"  # by a signal
    WALL_CLOCK = "wall_clock"  # ended by the ceiling
    NOT_FOUND = "not_found"
    NOT_EXECUTABLE = "not_executable"
    SETUP_FAILED = "setup_failed"  # no seal: the program never ran
    NOT_STARTED = "not_started"  # sealed, but ended before exec


class RunRecord(NamedTuple):
    """One run from outside. Times are whole seconds since the epoch."""

    ending: Ending
    code: int | None  # the program's own exit code, of `exited`
    signal: int | None  # of `killed`, and of a launcher that was killed
    error: int  # errno of a failed setup or exec, else 0
    stage: str  # the step that the launcher entered last; "" without a boundary
    rule: int  # the rule of the order that a failing step worked on
    sealed: bool
    canaries: Mapping[str, str]
    started_at: int
    ended_at: int
    forwarded: int | None  # a signal with which the operator asked for the end
    survivors: int  # processes that were left over and had to be ended

    @property
    def program_ran(self) -> bool:
        """Say whether the program itself was executed."""
        return self.ending in (Ending.EXITED, Ending.KILLED, Ending.WALL_CLOCK)


class Event(NamedTuple):
    """One thing that happened during a run, as it happens."""

    kind: str  # started, stopped, continued, signal, wall_clock, survivors
    number: int = 0
