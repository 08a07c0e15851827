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
    """By policy: whether one that is to be trusted lets the program write it, and whether it may only narrow."""

    written: Tuple[bool, ...]
    narrowing: Tuple[bool, ...]


def of(policies: Sequence[Policy]) -> Reach:
    """Return what lies in reach, of policies whose paths are placed and followed. PolicyError when all of them do.

    A policy may only narrow when any single other one lets the program write it: no majority decides, since which of
    two camps is the program's cannot be told. And when the others restrict no writing, those apart that it lets the
    program write. One that this user could not change anyway is out of reach. A policy that stands alone is not judged
    here: a launch refuses it when its grants cover it.
    """
    covered = _covered(policies)
    narrowing = tuple(_in_reach(at, policies, covered) for at in range(len(policies)))
    if all(narrowing) and any(_writes(policy) is not None for policy in policies):
        what = "every policy lies where another lets the program write it"
        raise PolicyError(what, policies[0].source, "keep at least one out of reach, and name it too")
    trusted = [at for at, narrows in enumerate(narrowing) if not narrows]
    written = (narrows and any(covered[at][other] for other in trusted) for at, narrows in enumerate(narrowing))
    return Reach(tuple(written), narrowing)


Covered = Sequence[Sequence[bool]]  # [policy][other]: whether the other lets the program write the policy


def _covered(policies: Sequence[Policy]) -> Covered:
    """Return who lets whom be written; each path is walked once, however many policies there are."""
    writable = [tops(_writes(policy) or ()) for policy in policies]
    ways = enumerate(way(policy.source) for policy in policies)
    return [[at != other and one.changed_by(item) for other, item in enumerate(writable)] for at, one in ways]


def _in_reach(at: int, policies: Sequence[Policy], covered: Covered) -> bool:
    if not _changeable(policies[at].source):
        return False
    if any(covered[at]):
        return True
    outside = [item for other, item in enumerate(policies) if other != at and not covered[other][at]]
    return bool(outside) and all(_writes(item) is None for item in outside)


def _changeable(path: str) -> bool:
    """Say whether owners and modes let a program of this user change or replace a file.

    Whoever owns it, or a directory above it, can give themselves the right; so root can change what is root's.
    """
    place = os.path.realpath(path)
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
