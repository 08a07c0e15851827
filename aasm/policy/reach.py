# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Which policies of a cascade the program could have written, so that they may only take away.

That is judged by the others, and never by a policy itself: it could state what keeps it out of reach this time.
"""

from __future__ import annotations

import os
from typing import List, NamedTuple, Optional, Sequence, Tuple

from ..errors import PolicyError
from ..model.domains import CapabilityDomain
from .grants import tops, way
from .lowering import WRITE, denied
from .values import Policy


class Reach(NamedTuple):
    """By policy: whether one that is to be trusted lets it be written, whether any does, whether it may only narrow."""

    written: Tuple[bool, ...]
    listed: Tuple[bool, ...]
    narrowing: Tuple[bool, ...]


def of(policies: Sequence[Policy], left_out: Sequence[Policy] = ()) -> Reach:
    """Return what lies in reach, of policies whose paths are placed and followed.

    PolicyError when each of them is let be written by another.

    `left_out` are those of other scopes: an earlier run may have gone by them. A policy may only narrow when any single
    other one lets the program write it: no majority decides, since which of two camps is the program's cannot be told.
    And when those that judge it restrict no writing: that is all of those which this user cannot change, where there
    are any; else any single other, those apart that it lets the program write. So another policy that could have been
    written never takes such a mark away. One that this user could not change anyway is out of reach. A policy that
    stands alone is not judged here: a launch refuses it when its grants cover it.
    """
    covered, fixed = _covered(policies, left_out), [not _changeable(policy.source) for policy in policies]
    silent = [_writes(policy) is None for policy in policies]
    judged = range(len(policies))
    narrowing = tuple(not fixed[at] and (any(covered[at]) or _open(at, covered, fixed, silent)) for at in judged)
    if all(map(any, covered)):
        what = "every policy lies where another lets the program write it"
        raise PolicyError(what, policies[0].source, "keep at least one out of reach, and name it too")
    trusted = [at for at in judged if not narrowing[at]]
    written = (narrowing[at] and any(covered[at][other] for other in trusted) for at in judged)
    return Reach(tuple(written), tuple(map(any, covered)), narrowing)


Covered = Sequence[Sequence[bool]]  # [policy][other]: whether the other lets the program write the policy


def _covered(policies: Sequence[Policy], left_out: Sequence[Policy]) -> Covered:
    """Return who lets whom be written; each path is walked once, however many policies there are."""
    writable = [tops(_writes(policy) or ()) for policy in (*policies, *left_out)]
    ways = enumerate(way(policy.source) for policy in policies)
    return [[at != other and one.changed_by(item) for other, item in enumerate(writable)] for at, one in ways]


def _open(at: int, covered: Covered, fixed: Sequence[bool], silent: Sequence[bool]) -> bool:
    """Say whether those that judge a policy leave everything open to be written."""
    if any(fixed):
        return all(one for one, judges in zip(silent, fixed) if judges)
    return any(one for other, one in enumerate(silent) if other != at and not covered[other][at])


def _changeable(source: str) -> bool:
    """Say whether a program of this user could change or replace a file by owners and modes, or a link on the way."""
    found = way(source).found
    return any(map(_changeable_place, (found.path, *(os.path.dirname(link) for link in found.links))))


def _changeable_place(place: str) -> bool:
    """Say the same of a place without links.

    Whoever owns it, or a directory above it, can give themselves the right; so root can change what is root's.
    """
    while True:
        try:
            if os.stat(place).st_uid == os.geteuid() or os.access(place, os.W_OK, effective_ids=True):
                return True
        except OSError:  # what cannot be looked at is not known to be safe
            return True
        if place == "/":
            return False
        place = os.path.dirname(place)


def _writes(policy: Policy) -> Optional[List[str]]:
    """Return the places that a policy lets the program write, None where it restricts no writing."""
    if denied(policy, CapabilityDomain.FILESYSTEM_WRITE):
        return []
    listing = policy.listing(WRITE)
    return None if listing is None else [entry.value.real for entry in listing.entries]
