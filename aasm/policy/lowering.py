# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering: from what a policy states to requirements that any backend can be asked about. Pure.

A whole-domain denial by capability outranks the list of paths or hosts for the same domain. What a policy cannot
express is said domain by domain; it is never "no restriction needed".
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.domains import DOMAINS, CapabilityDomain as Domain
from ..model.report import RequestedControl
from ..model.requirements import WHOLE, Requirement, Scope, permit_only
from ..model.resolved import Coverage
from .document import Policy

# The node that states a domain; a domain that is not listed here has none.
NODES = {
    Domain.FILESYSTEM_READ: "filesystem.read.allow",
    Domain.FILESYSTEM_WRITE: "filesystem.write.allow",
    Domain.NETWORK_EGRESS: "network.allowlist",
    Domain.SYSCALL: "syscalls.allow",
    Domain.PROCESS_CREATION: "capabilities",
}

# The capabilities that must not be denied for a domain to stay open.
CAPABILITIES = {
    Domain.FILESYSTEM_READ: ("file_read",),
    Domain.FILESYSTEM_WRITE: ("file_write",),
    Domain.NETWORK_EGRESS: ("network_outbound",),
    Domain.PROCESS_CREATION: ("terminal_exec", "agent_spawn"),
}
# An allow-list says nothing about this one by leaving it out: it names a kind of agent, not of process.
_ONLY_BY_DENIAL = ("agent_spawn",)


class Lowered(NamedTuple):
    """What a policy asks for, and for every one of the ten domains what it says about it."""

    requirements: tuple[Requirement, ...]
    coverage: tuple[Coverage, ...]
    denied: frozenset[Domain]  # whole domains denied by capability, which nothing may open again


def lower(policy: Policy, paths: dict[Domain, tuple[str, ...]], egress: str | None = None) -> Lowered:
    """Return the requirements of a policy; `paths` holds its expanded lists of paths by domain.

    `egress` is the one address of a mediator: the program may then reach that and nothing else, whatever hosts the
    policy lists, since those are the mediator's to judge. A denied network stays denied.
    """
    denied = frozenset(domain for domain in CAPABILITIES if _denied(policy, domain))
    requirements = []
    for domain in NODES:
        scope = WHOLE if domain in denied else _scope(policy, domain, paths)
        if domain is Domain.NETWORK_EGRESS and egress is not None and domain not in denied:
            scope = permit_only((egress,))
        if scope is not None:
            stated_by = "capabilities" if domain in denied else NODES[domain]
            requirements.append(Requirement(domain, scope, stated_by=stated_by))
    made = tuple(requirements)
    return Lowered(made, tuple(_coverage(domain, made) for domain in DOMAINS), denied)


def _denied(policy: Policy, domain: Domain) -> bool:
    names = CAPABILITIES[domain]
    if any(name in (policy.capabilities_deny or ()) for name in names):
        return True
    allowed = policy.capabilities_allow
    return allowed is not None and any(name not in allowed for name in names if name not in _ONLY_BY_DENIAL)


def _scope(policy: Policy, domain: Domain, paths: dict[Domain, tuple[str, ...]]) -> Scope | None:
    """Return the scope that the domain's own node states; None when it is absent, the whole when its list is empty."""
    if domain in paths:
        names: tuple[str, ...] | None = paths[domain]
    elif domain is Domain.NETWORK_EGRESS and policy.network_allowlist is not None:
        names = tuple(entry.text for entry in policy.network_allowlist)
    elif domain is Domain.SYSCALL:
        names = policy.syscalls_allow
    else:
        names = None
    if names is None:
        return None
    return permit_only(names) if names else WHOLE


def _coverage(domain: Domain, requirements: tuple[Requirement, ...]) -> Coverage:
    if domain not in NODES:
        return Coverage(domain, RequestedControl.POLICY_CANNOT_EXPRESS, "no policy node states this domain")
    stated = next((item for item in requirements if item.domain is domain), None)
    if stated is None:
        return Coverage(domain, RequestedControl.NOT_STATED, f"{NODES[domain]} is absent")
    return Coverage(domain, RequestedControl.STATED, describe(stated))


def describe(item: Requirement) -> str:
    """Return a requirement as one line of a report; selectors are counted, not shown."""
    scope = "whole" if item.scope.whole else f"selectors[{len(item.scope.selectors)}]"
    return (
        f"intent={item.intent.value}, posture={item.posture.value}, descendants={item.descendants.value}, scope={scope}"
    )
