# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a domain in the comparison of authority: a part never stands in for the domain, nor for another part."""

from __future__ import annotations

from typing import Dict, Tuple

import pytest

from aasm.model.authority import AuthorityWidening as Kind, Widening, authority_widening
from aasm.model.domains import CapabilityDomain as Domain
from aasm.model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    LISTENING,
    UNIX_SOCKETS,
    WHOLE,
    CredentialPosture,
    ExecutionSpec,
    Identity,
    Requirement,
    Scope,
    none_of,
    permit_only,
)

# Each part: its domain, a name of it, one beneath that name where there is such a thing, and another name.
PARTS: Dict[str, Tuple[Domain, str, str, str]] = {
    EXECUTING: (Domain.FILESYSTEM_READ, "/usr", "/usr/bin", "/usr-evil"),
    UNIX_SOCKETS: (Domain.IPC, "/run", "/run/x", "/runner"),
    LISTENING: (Domain.NETWORK_EGRESS, "80", "80", "8080"),
    ENVIRONMENT: (Domain.CREDENTIAL, "A", "A", "AB"),
    CAPABILITY: (Domain.CREDENTIAL, "CAP_CHOWN", "CAP_CHOWN", "CAP_KILL"),
}
each_part = pytest.mark.parametrize("part", PARTS)


def some(part: str, *names: str) -> Scope:
    return permit_only(tuple(f"{part}:{name}" for name in names))


def widened(domain: Domain, above: Tuple[Scope, ...], below: Tuple[Scope, ...]) -> Tuple[Widening, ...]:
    """Return in what a descendant that states `below` has more than an ancestor that states `above`."""

    def spec(identity: Identity, scopes: Tuple[Scope, ...]) -> ExecutionSpec:
        requirements = tuple(Requirement(domain, scope) for scope in scopes)
        return ExecutionSpec("true", (), "/ws", identity, requirements, CredentialPosture())

    parent = Identity("parent", None, (), "session", "trace")
    return authority_widening(spec(parent, above), spec(parent._replace(agent_id="child", lineage=("parent",)), below))


@each_part
def test_a_part_that_permits_the_same_or_less_is_no_widening(part: str) -> None:
    domain, name, beneath, other = PARTS[part]
    for above, below in (
        (some(part, name), some(part, name)),
        (some(part, name, other), some(part, name)),
        (some(part, name), some(part, beneath)),
        (some(part, name), none_of(part)),
        (none_of(part), none_of(part)),
    ):
        assert widened(domain, (above,), (below,)) == ()


@each_part
def test_a_part_that_permits_more_or_is_dropped_is_a_widening(part: str) -> None:
    domain, name, beneath, other = PARTS[part]
    for above, below in (
        (none_of(part), some(part, name)),
        (some(part, name), some(part, name, other)),
        (some(part, name), some(part, other)),
    ):
        assert [item.kind for item in widened(domain, (above,), (below,))] == [Kind.SCOPE_WIDENED], (above, below)
    assert [item.kind for item in widened(domain, (some(part, name),), ())] == [Kind.REQUIREMENT_DROPPED]
    if beneath != name:
        assert widened(domain, (some(part, beneath),), (some(part, name),))


@each_part
def test_a_part_never_stands_in_for_the_domain(part: str) -> None:
    """That nothing may be executed says nothing about what may be read."""
    domain, name, _, _ = PARTS[part]
    for above in (WHOLE, permit_only(("/a",))):
        for below in (none_of(part), some(part, name)):
            assert widened(domain, (above,), (below,)), (above, below)
            if part != CAPABILITY or below == none_of(part):  # naming one gives it, see below
                assert widened(domain, (above,), (above, below)) == ()


@each_part
def test_the_domain_as_a_whole_stands_in_for_its_parts_and_a_list_of_it_does_not(part: str) -> None:
    domain, name, _, _ = PARTS[part]
    for above in (none_of(part), some(part, name)):
        assert widened(domain, (above,), (WHOLE,)) == ()
        assert widened(domain, (above,), (permit_only(("/a",)),)), above


def test_one_part_never_stands_in_for_another_of_the_same_domain() -> None:
    for above, below in ((ENVIRONMENT, CAPABILITY), (CAPABILITY, ENVIRONMENT)):
        for scope in (none_of(below), some(below, "A")):
            assert widened(Domain.CREDENTIAL, (none_of(above),), (scope,)), (above, scope)


def test_a_capability_of_the_kernel_that_an_ancestor_never_named_is_a_widening() -> None:
    """Without a statement no program has one."""
    assert widened(Domain.CREDENTIAL, (), (some(CAPABILITY, "CAP_CHOWN"),))
    assert widened(Domain.CREDENTIAL, (), (none_of(CAPABILITY),)) == ()
