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
from .grants import within_reach
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
    narrowing = tuple(_in_reach(policy, policies) for policy in policies)
    if all(narrowing) and any(_writes(policy) is not None for policy in policies):
        what = "every policy lies where another lets the program write it"
        raise PolicyError(what, policies[0].source, "keep at least one out of reach, and name it too")
    trusted = [policy for policy, narrows in zip(policies, narrowing) if not narrows]
    written = (any(_covered(policy, other) for other in trusted) for policy in policies)
    return Reach(tuple(one and other for one, other in zip(written, narrowing)), narrowing)


def _in_reach(policy: Policy, policies: Sequence[Policy]) -> bool:
    others = [item for item in policies if item is not policy]
    if not _changeable(policy.source):
        return False
    if any(_covered(policy, other) for other in others):
        return True
    outside = [item for item in others if not _covered(item, policy)]
    return bool(outside) and all(_writes(item) is None for item in outside)


def _covered(policy: Policy, other: Policy) -> bool:
    writable = _writes(other)
    return policy is not other and writable is not None and within_reach(policy.source, writable)


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
