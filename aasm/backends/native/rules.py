# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From requirements and grants to one Landlock ruleset. Pure: takes the host's rights as a value."""

from __future__ import annotations

from typing import Iterable, NamedTuple

from ..._sys import landlock
from ...model.domains import CapabilityDomain as Domain
from ...model.grants import Grant
from ...model.requirements import EXECUTING, Requirement, part


class Handled(NamedTuple):
    """The rights that the ruleset decides about: whatever is handled and not granted is refused."""

    fs: int
    net: int
    scope: int


def handled(requirements: Iterable[Requirement], known: landlock.Rights) -> Handled:
    """Return what a ruleset for these requirements handles on a kernel that knows these rights.

    Scopes belong to the floor and are always handled. Where reading is decided, executing is as well.
    """
    stated = {(item.domain, part(item.scope)) for item in requirements}
    fs = net = 0
    if (Domain.FILESYSTEM_READ, "") in stated:
        fs |= landlock.READ_RIGHTS | landlock.EXECUTE
    if (Domain.FILESYSTEM_READ, EXECUTING) in stated:
        fs |= landlock.EXECUTE
    if (Domain.FILESYSTEM_WRITE, "") in stated:
        fs |= landlock.WRITE_RIGHTS | landlock.NEVER_GRANTED | landlock.DEVICE
    if fs:
        fs |= landlock.LANDLOCK_ACCESS_FS_REFER | landlock.UNIX_CONNECT
    if (Domain.NETWORK_EGRESS, "") in stated:
        net = landlock.LANDLOCK_ACCESS_NET_BIND_TCP | landlock.LANDLOCK_ACCESS_NET_CONNECT_TCP
    return Handled(fs & known.fs, net & known.net, known.scope)


class Rule(NamedTuple):
    """One rule of the ruleset."""

    access: int
    grant: Grant


def rules(grants: Iterable[Grant], deciding: Handled, root: Grant) -> tuple[Rule, ...]:
    """Return the rules that give each grant its rights, among those that are handled.

    `root` stands for `/`. Renaming between directories is refused by every ruleset that does not grant it, even by one
    that restricts no writing: when writing is not restricted, `root` gives that right back.
    """
    made = [Rule(access(grant) & deciding.fs, grant) for grant in grants]
    if deciding.fs and not deciding.fs & landlock.LANDLOCK_ACCESS_FS_WRITE_FILE:
        made.append(Rule(landlock.LANDLOCK_ACCESS_FS_REFER & deciding.fs, root))
    return tuple(rule for rule in made if rule.access)


def access(grant: Grant) -> int:
    """Return the rights that a grant gives on its object."""
    rights = (landlock.READ_RIGHTS if grant.read else 0) | (landlock.EXECUTE if grant.execute else 0)
    if grant.write:  # no grant lets a program make a device node, so these are the devices that the operator meant
        rights |= landlock.WRITE_RIGHTS | landlock.DEVICE
    return rights if grant.is_directory else rights & landlock.FILE_RIGHTS
