# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One action that a confined program might take, and what its boundary makes of it. Values only."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .grants import Grant


class Action(Enum):
    """What the program does. A path is opened, made, executed or connected to; a destination is connected to."""

    READ = "read"
    WRITE = "write"  # a file that is missing is made, with the directories that are missing above it
    EXECUTE = "exec"
    CONNECT = "connect"
    UNIX = "unix"
    SYSCALL = "syscall"


class Kind(Enum):
    """What lies at the end of a path."""

    FILE = "file"  # of whatever kind, but no directory
    DIRECTORY = "directory"
    MISSING = "missing"  # the first thing that exists above it is a directory
    IMPOSSIBLE = "impossible"  # nothing can be there: `problem` says why
    UNKNOWN = "unknown"  # it depends on the process that asks: `problem` says why


class Object(NamedTuple):
    """Where a path leads. `identities` are device and inode of what exists of it, then of each directory above.

    `folder` is whether a missing path is spelled as that of a directory, `shared` whether a file has further names.
    """

    path: str  # without links
    kind: Kind
    identities: tuple[tuple[int, int], ...]
    existing: str = ""  # the path itself, or the nearest directory above it that exists
    depth: int = 0  # how many names are missing
    problem: str = ""
    folder: bool = False
    shared: bool = False


class Question(NamedTuple):
    """One action. `name` is the path, the host or the call as it was asked for; `target` belongs to a path."""

    action: Action
    name: str
    target: Object | None = None
    port: int = 0


class Decision(NamedTuple):
    """What a boundary decides. `restricted` is whether it decides about such actions at all.

    `grants` are those that give it. `detail` says what refuses it, or under which condition it is allowed; `floor` is
    whether the backend refuses it in every run, whatever a policy says. `lacking` are the verbs that no grant gives,
    `calls` are system calls that the action takes: those that the filter refuses, or by which it allows the action.
    """

    allowed: bool
    restricted: bool
    grants: tuple[Grant, ...] = ()
    detail: str = ""
    floor: bool = False
    lacking: tuple[Action, ...] = ()
    calls: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What becomes of one action. `by` are the statements that decide; `add` is what would allow it, "" for nothing.

    Where it cannot be known, it is not allowed, and `why` begins with NOT_KNOWN.
    """

    action: str
    subject: str
    allowed: bool
    why: str
    by: tuple[str, ...]
    add: str


NOT_KNOWN = "not known: "
