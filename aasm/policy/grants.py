# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From the paths that a policy names to grants on objects that exist: the read-only checks before every launch.

What one run may write, the next run must not trust. So a write grant may not cover what we trust ourselves, and no
component of a granted path that lies beneath a write grant may be a symbolic link.
"""

from __future__ import annotations

import os
import stat
from typing import Iterable, NamedTuple

from ..errors import PolicyError, system_text
from ..model.grants import Grant, beneath


class Wanted(NamedTuple):
    """One path that a policy or an option names, absolute and without `..`."""

    path: str
    read: bool
    write: bool
    origin: str  # file:line:column, or the option


class Trusted(NamedTuple):
    """Something that the next run, or this one, relies on."""

    path: str
    what: str
    inside: bool  # a grant somewhere inside it is refused as well, not only one that covers it


def resolve(wanted: Iterable[Wanted]) -> tuple[Grant, ...]:
    """Return one pinned grant for each object, with the union of its verbs. PolicyError for a path that cannot be."""
    merged: dict[str, Grant] = {}
    for item in wanted:
        grant = _pinned(item)
        known = merged.get(grant.path)
        if known is not None:
            grant = known._replace(read=known.read or grant.read, write=known.write or grant.write)
        merged[grant.path] = grant
    return tuple(merged.values())


def _pinned(item: Wanted) -> Grant:
    try:
        path = os.path.realpath(item.path)
        found = os.stat(path)
    except OSError as problem:
        remedy = "create it, or take the entry out of the policy"
        raise PolicyError(f"{item.path}: {system_text(problem)}", item.origin, remedy) from None
    if _of_one_process(path):
        remedy = "grant /proc as a whole, or not at all"
        raise PolicyError(f"{item.path} is bound to one process, and not to the program's own", item.origin, remedy)
    if item.write and stat.S_ISSOCK(found.st_mode):
        raise PolicyError(f"{item.path} is a socket, to which no grant applies", item.origin, "take the entry out")
    return Grant(path, found.st_dev, found.st_ino, found.st_mode, item.read, item.write, item.origin)


def _of_one_process(path: str) -> bool:
    # a rule on /proc/self is a rule on the directory of whoever resolved it: ours, not the program's
    parts = path.split("/")
    return len(parts) > 2 and parts[1] == "proc" and parts[2].isdigit()


def check_links(wanted: Iterable[Wanted], grants: tuple[Grant, ...]) -> None:
    """Refuse a granted path with a symbolic link in it beneath a write grant: an earlier run may have put it there."""
    writable = [grant.path for grant in grants if grant.write]
    for item in wanted:
        link = _planted_link(item.path, writable)
        if link:
            raise PolicyError(
                f"{link} is a symbolic link beneath a path that may be written, so the program could have made it",
                item.origin,
                f"name the place it leads to ({os.path.realpath(link)}) if that is meant",
            )


def _planted_link(path: str, writable: list[str]) -> str:
    """Return the first component of `path` that is a link and lies beneath a writable directory; else ""."""
    resolved = "/"
    todo = [name for name in path.split("/") if name and name != "."]
    for _ in range(4096):  # every link met is resolved here, component by component, as the kernel does
        if not todo:
            return ""
        name = todo.pop(0)
        if name == "..":
            resolved = os.path.dirname(resolved)
            continue
        here = os.path.join(resolved, name)
        if not os.path.islink(here):
            resolved = here
            continue
        if any(here != top and beneath(here, top) for top in writable):
            return here
        target = os.readlink(here)
        resolved = "/" if target.startswith("/") else resolved
        todo = [part for part in target.split("/") if part and part != "."] + todo
    return path  # a loop of links resolves to nothing that may be granted


def check_trusted(grants: Iterable[Grant], trusted: Iterable[Trusted]) -> None:
    """Refuse a write grant that covers something trusted: the program would decide what the next run does."""
    listed = [(os.path.realpath(item.path), item) for item in trusted]
    for grant in grants:
        if not grant.write:
            continue
        for path, item in listed:
            if beneath(path, grant.path) or (item.inside and beneath(grant.path, path)):
                raise PolicyError(
                    f"whoever may write {grant.path} could change {item.what} ({path}), which the next run trusts",
                    grant.origin,
                    "grant a narrower path, or move that elsewhere",
                )
