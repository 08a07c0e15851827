# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering: from a policy and ceilings to requirements that any backend can be asked about. Pure.

A whole-domain denial by capability outranks the list of paths or hosts for the same domain. What a policy cannot
express is said domain by domain; it is never "no restriction needed".
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.domains import DOMAINS, CapabilityDomain as Domain
from ..model.report import Coverage, RequestedControl, ScopeGranularity
from ..model.requirements import (
    UNLIMITED,
    WHOLE,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    Scope,
    ceilings,
    option,
    permit_only,
    stated_ceilings,
)
from .document import Policy

# The node that states a domain; a domain that is not listed here has none.
NODES = {
    Domain.FILESYSTEM_READ: "filesystem.read.allow",
    Domain.FILESYSTEM_WRITE: "filesystem.write.allow",
    Domain.NETWORK_EGRESS: "network.allowlist",
    Domain.SYSCALL: "syscalls.allow",
    Domain.PROCESS_CREATION: "capabilities",
}

# What the policy format cannot say about a domain that it can state.
GAPS = {
    Domain.FILESYSTEM_READ: ("executing cannot be stated apart from reading", "metadata cannot be stated at all"),
    Domain.FILESYSTEM_WRITE: ("creating, renaming, writing and deleting cannot be stated apart from each other",),
    Domain.NETWORK_EGRESS: ("ports and protocols cannot be stated", "listening cannot be stated"),
    Domain.SYSCALL: ("only fifteen calls can be named", "arguments cannot be stated"),
    Domain.PROCESS_CREATION: ("single programs cannot be named",),
}
WHOLE_DOMAIN_ONLY = (Domain.PROCESS_CREATION,)

# What each ceiling asks for. What ends a run after the fact, or only counts, can be asked for as observation alone.
CEILINGS = {
    "max_memory_bytes": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_pids": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_open_files": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_file_size_bytes": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_cpu_seconds": (Intent.OBSERVE, Posture.OPTIONAL),
    "max_wall_clock_seconds": (Intent.OBSERVE, Posture.OPTIONAL),
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
    """What a run asks for, and for every one of the ten domains what is said about it."""

    requirements: tuple[Requirement, ...]
    coverage: tuple[Coverage, ...]
    denied: frozenset[Domain]  # whole domains denied by capability, which nothing may open again


def lower(
    policy: Policy,
    paths: dict[Domain, tuple[str, ...]],
    limits: ResourceLimits = UNLIMITED,
    egress: str | None = None,
) -> Lowered:
    """Return the requirements of a policy, then one for each ceiling, since each has its own verdict.

    `paths` holds the policy's expanded lists of paths by domain. `egress` is the one address of a mediator: the program
    may then reach that and nothing else, whatever hosts the policy lists, since those are the mediator's to judge. A
    denied network stays denied.
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
    made = (*requirements, *map(_ceiling, stated_ceilings(limits).items()))
    return Lowered(made, tuple(_coverage(domain, made) for domain in DOMAINS), denied)


def _ceiling(stated: tuple[str, int]) -> Requirement:
    name, value = stated
    intent, posture = CEILINGS[name]
    scope = ceilings(ResourceLimits(**{name: value}))
    return Requirement(Domain.RESOURCE, scope, intent, posture, stated_by=option(name))


def not_derived(reason: str) -> Lowered:
    """Return what is known where no policy could be lowered: nothing is asked for, and nobody knows what would be."""
    lines = tuple(Coverage(domain, RequestedControl.NOT_DERIVED, reason) for domain in DOMAINS)
    return Lowered((), lines, frozenset())


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


_SILENT = {Domain.PROCESS_CREATION: "capabilities denies neither terminal_exec nor agent_spawn"}


def _coverage(domain: Domain, requirements: tuple[Requirement, ...]) -> Coverage:
    stated = [item for item in requirements if item.domain is domain]
    if not stated and domain in NODES:
        silence = _SILENT.get(domain, f"{NODES[domain]} is absent")
        return Coverage(domain, RequestedControl.NOT_STATED, f"{silence}, and so restricts nothing")
    if not stated:
        return Coverage(domain, RequestedControl.POLICY_CANNOT_EXPRESS, "no policy node states this domain")
    detail = "; ".join(describe(item) for item in stated)
    return Coverage(domain, RequestedControl.STATED, detail, _granularity(domain), GAPS.get(domain, ()))


def _granularity(domain: Domain) -> ScopeGranularity | None:
    if domain not in NODES:
        return None
    return ScopeGranularity.WHOLE_DOMAIN_ONLY if domain in WHOLE_DOMAIN_ONLY else ScopeGranularity.ENUMERATED


def describe(item: Requirement) -> str:
    """Return a requirement as one line of a report."""
    return (
        f"intent={item.intent.value}, posture={item.posture.value}, descendants={item.descendants.value}, "
        f"scope={_described(item.scope)}"
    )


SHOWN = 6  # selectors of one requirement; ${system} alone stands for dozens


def _described(scope: Scope) -> str:
    if scope.limits is not None:
        return "limits: " + ", ".join(f"{name}={value}" for name, value in stated_ceilings(scope.limits).items())
    if scope.whole:
        return "whole"
    more = len(scope.selectors) - SHOWN
    names = ", ".join(scope.selectors[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"selectors[{len(scope.selectors)}]: {names}"
