# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From the paths that a policy names to grants on objects that exist: the read-only checks before every launch.

What one run may write, the next run must not trust. So a write grant may not cover what we trust ourselves, and no
component of a granted path that lies beneath a write grant may be a symbolic link.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Iterable, NamedTuple

from ..errors import PolicyError, system_text
from ..model.grants import Grant, beneath
from .walk import Walked, walk, walk_as_far_as_possible


class Wanted(NamedTuple):
    """One path that a policy or an option names, absolute and without `..`."""

    path: str
    read: bool
    write: bool
    origin: str  # file:line:column, or the option
    execute: bool = False
    expected: str = ""  # where it led when lists were compared; it must still lead there


class Trusted(NamedTuple):
    """Something that the next run, or this one, relies on."""

    path: str
    what: str
    inside: bool  # a grant somewhere inside it is refused as well, not only one that covers it
    remedy: str = "grant a narrower path, or move that elsewhere"


def resolve(wanted: Iterable[Wanted], open_before: Iterable[str] = ()) -> tuple[Grant, ...]:
    """Return one pinned grant for each object, with the union of its verbs.

    `open_before` are absolute paths that earlier runs may have been allowed to write, whatever this one is. PolicyError
    for a path that cannot be granted, or that leads through a link which a program could have made.
    """
    walked = [(item, _walked(item)) for item in wanted]
    writable = [*(found.path for item, found in walked if item.write), *_ends(open_before)]
    merged: dict[str, Grant] = {}
    for item, found in walked:
        _refuse_planted(found, writable, item.origin)
        grant = _pinned(item, found)
        known = merged.get(grant.path)
        if known is not None:
            grant = known._replace(
                read=known.read or grant.read,
                write=known.write or grant.write,
                execute=known.execute or grant.execute,
            )
        merged[grant.path] = grant
    return tuple(merged.values())


def check_place(found: Walked, grants: Iterable[Grant], origin: str, open_before: Iterable[str] = ()) -> None:
    """Refuse a place (the working directory) that is reached through a link which a program could have made."""
    _refuse_planted(found, [*(grant.path for grant in grants if grant.write), *_ends(open_before)], origin)


def _ends(paths: Iterable[str]) -> list[str]:
    return [walk_as_far_as_possible(path).path for path in paths]


def _walked(item: Wanted) -> Walked:
    try:
        return walk(item.path)
    except OSError as problem:
        missing = problem.errno == errno.ENOENT
        remedy = "create it, or leave it out" if missing else "correct the path"
        raise PolicyError(f"{item.path}: {system_text(problem)}", item.origin, remedy) from None


def _refuse_planted(found: Walked, writable: list[str], origin: str) -> None:
    link = _planted(found.links, writable)
    if link:
        what = f"{link} is a symbolic link beneath a path that may be written, so a program could have made it"
        raise PolicyError(what, origin, f"name the place it leads to ({found.path}) if that is meant")


def _planted(links: Iterable[str], writable: list[str]) -> str:
    """Return the first link that lies beneath a writable directory; else ""."""
    return next((link for link in links if any(link != top and beneath(link, top) for top in writable)), "")


def _pinned(item: Wanted, walked: Walked) -> Grant:
    path, found = walked.path, walked.found
    assert found is not None  # `walk` raises for what does not exist
    if _of_one_process(path):
        remedy = "grant /proc as a whole, or not at all"
        raise PolicyError(f"{item.path} is bound to one process, and not to the program's own", item.origin, remedy)
    if item.write and stat.S_ISSOCK(found.st_mode):
        raise PolicyError(f"{item.path} is a socket, to which no grant applies", item.origin, "take the entry out")
    if item.expected not in ("", path):
        raise PolicyError(f"{item.path} leads elsewhere than a moment ago", item.origin, "run it again")
    return Grant(path, found.st_dev, found.st_ino, found.st_mode, item.read, item.write, item.origin, item.execute)


def _of_one_process(path: str) -> bool:
    # a rule on /proc/self is a rule on the directory of whoever resolved it: ours, not the program's
    parts = path.split("/")
    return len(parts) > 2 and parts[1] == "proc" and parts[2].isdigit()


def check_trusted(grants: Iterable[Grant], trusted: Iterable[Trusted]) -> None:
    """Refuse a write grant that covers something trusted, or a link on the way to it.

    The program would decide what the next run does.
    """
    listed = [(item, walk_as_far_as_possible(item.path)) for item in trusted]
    above = [_identities(found.path) for _, found in listed]
    for grant in grants:
        if not grant.write:
            continue
        for (item, found), identities in zip(listed, above):
            # a bind mount is a second name for the same directory, which only its identity betrays
            if (grant.device, grant.inode) in identities or _reaches(grant.path, found, item.inside):
                trusts = f"what the next run trusts: {item.what} ({item.path})"
                raise PolicyError(f"whoever may write {grant.path} could change {trusts}", grant.origin, item.remedy)


class Top(NamedTuple):
    """A path without links in it, with device and inode of what is there; (-1, -1), which nothing has, for nothing."""

    path: str
    identity: tuple[int, int]


class Way(NamedTuple):
    """What leads to a path: the links and directories on the way to it, and what each of them is."""

    found: Walked
    identities: set[tuple[int, int]]

    def changed_by(self, writable: Iterable[Top]) -> bool:
        """Say whether whoever may write these places could change what the path leads to."""
        return any(_reaches(top.path, self.found, True) or top.identity in self.identities for top in writable)


def way(path: str) -> Way:
    """Return the way to a path, relative ones from the working directory."""
    found = walk_as_far_as_possible(path if path.startswith("/") else os.path.join(os.getcwd(), path))
    return Way(found, _identities(found.path))


def tops(paths: Iterable[str]) -> tuple[Top, ...]:
    """Return these paths, without links in them, as what a write grant would cover."""
    return tuple(Top(path, _identity(path)) for path in paths)


def within_reach(path: str, writable: Iterable[str]) -> bool:
    """Say whether whoever may write these places, without links in them, could change what lies at `path`."""
    return way(path).changed_by(tops(writable))


def _identity(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (-1, -1)  # what does not exist is no second name of anything
    return (status.st_dev, status.st_ino)


def _reaches(top: str, found: Walked, inside: bool) -> bool:
    over_link = any(beneath(link, top) for link in found.links)
    return over_link or beneath(found.path, top) or (inside and beneath(top, found.path))


def _identities(path: str) -> set[tuple[int, int]]:
    """Return device and inode of a path and of everything above it, as far as they exist."""
    found = set()
    while True:
        try:
            status = os.lstat(path)
            found.add((status.st_dev, status.st_ino))
        except OSError:
            pass  # what does not exist has no second name either
        if path == "/":
            return found
        path = os.path.dirname(path)
