# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where a path of a question leads, and what its type, mode and file system say besides the boundary.

Asks the kernel as this process. It opens no device and changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from typing import Iterable

from .errors import UsageError, system_text
from .model.question import Action, Kind, Object, Question
from .policy.walk import Walked, walk_as_far_as_possible

_GETFLAGS, _APPEND = 0x80086601, 0x20  # linux/fs.h: FS_IOC_GETFLAGS on 64 bits, FS_APPEND_FL
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# Each name of a file may be an inode of its own there, whatever stat(2) says; "" is a type that cannot be found out.
_INODE_FOR_EACH_NAME = ("overlay", "aufs", "9p", "virtiofs", "")


def absolute(path: str, base: str) -> str:
    """Return a path of a question, absolute: a relative one is taken from where the program would start."""
    if not path or "\0" in path:
        raise UsageError("no path can be empty or hold a NUL", "", "name a path")
    return os.path.join(base, path)


def target(path: str) -> Object:
    """Return where an absolute path leads, links followed as the program would follow them."""
    walked = walk_as_far_as_possible(path)
    real = walked.path
    process = _of_a_process(walked.links)
    if process:
        problem = f"it leads through {process}, which is another thing for each process"
        return Object(real, Kind.UNKNOWN, (), problem=problem)
    if walked.found is not None:
        kind = Kind.DIRECTORY if stat.S_ISDIR(walked.found.st_mode) else Kind.FILE
        shared = kind is Kind.FILE and walked.found.st_nlink > 1
        return Object(real, kind, _identities(real), real, shared=shared)
    return _missing(path, walked)


def _missing(path: str, walked: Walked) -> Object:
    above, depth = walked.path, 0
    while not _exists(above):
        above, depth = os.path.dirname(above), depth + 1
    problem = _problem(path, above, walked.rest)
    kind = Kind.IMPOSSIBLE if problem else Kind.MISSING
    return Object(walked.path, kind, _identities(above), above, depth, problem, folder=walked.folder)


def _problem(path: str, above: str, rest: tuple[str, ...]) -> str:
    """Return why nothing can be made at a path that is missing, or an empty text."""
    if ".." in rest:
        return "`..` behind what does not exist leads nowhere"
    return "" if os.path.isdir(above) else f"{above} is no directory"


def _exists(path: str) -> bool:
    return path == "/" or os.path.lexists(path)


def _identities(path: str) -> tuple[tuple[int, int], ...]:
    found = []
    while True:
        status = os.lstat(path)
        found.append((status.st_dev, status.st_ino))
        if path == "/":
            return tuple(found)
        path = os.path.dirname(path)


# --- file systems -------------------------------------------------------------------------------------


def _of_a_process(links: Iterable[str]) -> str:
    """Return the first of these links that a procfs made up for whoever follows it (proc(5)), or an empty text."""
    return next((link for link in links if _type(link) == "proc"), "")


def has_inode_for_each_name(path: str) -> bool:
    """Say whether two names of one file may be two inodes to the kernel, so that a rule on one is none on the other."""
    found = _type(path)
    return found in _INODE_FOR_EACH_NAME or found.startswith("fuse")


def _type(path: str) -> str:
    """Return the type of the file system that a path lies on, "" where that cannot be found out.

    By the number of its mount: the device of stat(2) is another one for some files of an overlay (proc(5)).
    """
    try:
        opened = os.open(path, _PLACE)
    except OSError:
        return ""
    try:
        lines = _lines(f"/proc/self/fdinfo/{opened}")
        mount = next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")
        rows = (line.split() for line in _lines("/proc/self/mountinfo"))
        return next((row[row.index("-", 6) + 1] for row in rows if row[0] == mount), "")
    except OSError:
        return ""
    finally:
        os.close(opened)


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.readlines()


# --- type and mode ------------------------------------------------------------------------------------


def by_modes(question: Question) -> str:
    """Ask the kernel, as this process, why it would refuse a path by its type and mode; "" when it would not.

    The path is asked about as it is spelled: the directories on the way must be searchable too.
    """
    place = question.target
    assert place is not None
    try:
        mode = os.stat(question.name).st_mode
    except FileNotFoundError:
        return _by_modes_of_missing(question, place)
    except OSError as problem:
        return f"{question.name}: {system_text(problem)}"
    if question.action is Action.EXECUTE and not stat.S_ISREG(mode):
        return f"{question.name} is no regular file"
    if stat.S_ISSOCK(mode):
        return f"{question.name} is a socket, which is not opened but connected to"
    if question.action is Action.WRITE and stat.S_ISREG(mode) and _only_appended_to(question.name):
        return f"{question.name} can only be appended to (chattr +a)"
    directory = question.action is Action.WRITE and stat.S_ISDIR(mode)
    asked = {Action.READ: os.R_OK, Action.WRITE: os.W_OK | (os.X_OK if directory else 0), Action.EXECUTE: os.X_OK}
    return _permitted(question.name, asked[question.action])


def _by_modes_of_missing(question: Question, place: Object) -> str:
    if place.kind is Kind.IMPOSSIBLE:
        return place.problem
    if place.folder and question.action is not Action.READ:
        return f"{question.name} would be a directory"
    if question.action is not Action.WRITE:
        return ""  # what is not there has no mode, and making it is another's action
    return _permitted(place.existing, os.W_OK | os.X_OK)


def _only_appended_to(path: str) -> bool:
    """Say whether a regular file refuses to be opened for writing but to append; False where it cannot be asked."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        flags = fcntl.ioctl(opened, _GETFLAGS, bytes(8))
    except OSError:  # a file system without such flags
        return False
    finally:
        os.close(opened)
    return bool(int.from_bytes(flags[:4], sys.byteorder) & _APPEND)


def _permitted(path: str, wanted: int) -> str:
    return "" if os.access(path, wanted, effective_ids=True) else f"{path} does not permit it to this user"
