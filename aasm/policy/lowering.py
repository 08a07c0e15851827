# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering: from a policy and ceilings to requirements that any backend can be asked about. Pure.

A whole-domain denial by capability outranks the list of paths or hosts for the same domain. What a policy cannot
express is said domain by domain; it is never "no restriction needed".
"""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Optional

from ..errors import PolicyError
from ..model.domains import DOMAINS, CapabilityDomain as Domain
from ..model.report import Coverage, RequestedControl, ScopeGranularity
from ..model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    LISTENING,
    UNIX_SOCKETS,
    UNLIMITED,
    WHOLE,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    Scope,
    ceilings,
    none_of,
    option,
    part,
    permit_only,
    stated_ceilings,
)
from .hosts import Host, HostKind, spelled
from .schema import KEYS
from .values import Entry, Listing, Policy

MOST = 100_000  # destinations that hosts and ports together may stand for

_ScopeOf = Callable[[Policy], Optional[Scope]]

READ, WRITE, EXECUTE = "filesystem.read.allow", "filesystem.write.allow", "filesystem.execute.allow"
HOSTS, PORTS, BIND = "network.allowlist", "network.ports", "network.bind"
UNIX, CALLS = "ipc.unix.allow", "syscalls.allow"
VARIABLES, PRIVILEGES = "credentials.environment.allow", "credentials.capabilities.allow"

# The nodes that state a domain, the one that states it as a whole first; a domain that is not listed has none.
NODES: Mapping[Domain, tuple[str, ...]] = {
    Domain.FILESYSTEM_READ: (READ, EXECUTE),
    Domain.FILESYSTEM_WRITE: (WRITE,),
    Domain.NETWORK_EGRESS: (HOSTS, PORTS, BIND),
    Domain.SYSCALL: (CALLS,),
    Domain.PROCESS_CREATION: ("capabilities",),
    Domain.IPC: (UNIX,),
    Domain.CREDENTIAL: (VARIABLES, PRIVILEGES),
    Domain.RESOURCE: ("resources",),
}

# What the policy format cannot say about a domain that it can state.
GAPS = {
    Domain.FILESYSTEM_READ: ("metadata cannot be stated at all",),
    Domain.FILESYSTEM_WRITE: ("creating, renaming, writing and deleting cannot be stated apart from each other",),
    Domain.NETWORK_EGRESS: ("protocols cannot be stated",),
    Domain.SYSCALL: ("arguments cannot be stated",),
    Domain.PROCESS_CREATION: ("single programs cannot be named",),
    Domain.IPC: ("only unix sockets can be stated",),
    Domain.CREDENTIAL: ("only variables and capabilities of the kernel can be stated",),
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
ONLY_BY_DENIAL = ("agent_spawn",)


class Lowered(NamedTuple):
    """What a run asks for, and for every one of the ten domains what is said about it."""

    requirements: tuple[Requirement, ...]
    coverage: tuple[Coverage, ...]
    denied: frozenset[Domain]  # whole domains denied by capability, which nothing may open again


def lower(policy: Policy, limits: ResourceLimits = UNLIMITED, egress: str | None = None) -> Lowered:
    """Return the requirements of a policy whose paths are placed, then one for each ceiling: each has its own verdict.

    `limits` are those of the command line; the smaller of two ceilings counts. `egress` is the one address of a
    mediator: the program may then reach that and nothing else, whatever hosts the policy lists, since those are the
    mediator's to judge. A denied network stays denied.
    """
    closed = frozenset(domain for domain in CAPABILITIES if denied(policy, domain))
    requirements = [*_requirements(policy, closed, egress), *_ceilings(policy, limits)]
    made = tuple(sorted(requirements, key=lambda item: DOMAINS.index(item.domain)))
    return Lowered(made, tuple(_coverage(domain, made) for domain in DOMAINS), closed)


def _requirements(policy: Policy, closed: frozenset[Domain], egress: str | None) -> Iterator[Requirement]:
    for domain in closed:
        yield Requirement(domain, WHOLE, stated_by="capabilities")
    for node, (domain, scope_of) in _SCOPES.items():
        scope = scope_of(policy)
        if scope is not None and domain not in closed and not (egress is not None and node == HOSTS):
            yield Requirement(domain, scope, stated_by=_hosts_stated_by(policy) if node == HOSTS else node)
    if egress is not None and Domain.NETWORK_EGRESS not in closed:
        yield Requirement(Domain.NETWORK_EGRESS, permit_only((egress,)), stated_by=HOSTS)


# --- the scope that a node states: None when it is absent ---------------------------------------------


def _paths(node: str) -> Callable[[Policy], Scope | None]:
    def scope(policy: Policy) -> Scope | None:
        listing = policy.listing(node)
        return None if listing is None else _only(entry.value.path for entry in listing.entries)

    return scope


def _only(names: Iterable[str]) -> Scope:
    found = tuple(dict.fromkeys(names))
    return permit_only(found) if found else WHOLE


def _within(node: str, kind: str, name: Callable[[Entry], str] = lambda entry: entry.text) -> _ScopeOf:
    """Return the scope of a node that states a part of its domain only: its names bear the part's own in front."""

    def scope(policy: Policy) -> Scope | None:
        listing = policy.listing(node)
        if listing is None:
            return None
        names = tuple(dict.fromkeys(f"{kind}:{name(entry)}" for entry in listing.entries))
        return permit_only(names) if names else none_of(kind)

    return scope


def _placed(entry: Entry) -> str:
    return str(entry.value.path)


def _hosts(policy: Policy) -> Scope | None:
    listing, ports = policy.listing(HOSTS), policy.listing(PORTS)
    if listing is None and ports is None:
        return None
    entries = [entry.value for entry in listing.entries] if listing is not None else [Host(HostKind.ANY, "*")]
    if ports is not None and len(entries) * len(ports.entries) > MOST:
        what = f"{len(entries)} hosts on {len(ports.entries)} ports are more than {MOST} destinations"
        raise PolicyError(what, ports.where, "state one of the two lists more plainly")
    return _only(spelled(host) for entry in entries for host in with_ports(entry, ports))


def _hosts_stated_by(policy: Policy) -> str:
    return " and ".join(node for node in (HOSTS, PORTS) if policy.listing(node) is not None)


def with_ports(host: Host, ports: Listing | None) -> list[Host]:
    """Return a host for each port on which it may be reached; its own port counts only where it is listed."""
    if ports is None:
        return [host]
    listed = [entry.value for entry in ports.entries]
    if host.port is not None:
        return [host] if host.port in listed else []
    return [host._replace(port=port) for port in listed]


def _calls(policy: Policy) -> Scope | None:
    listing = policy.listing(CALLS)
    return None if listing is None else _only(name for entry in listing.entries for name in entry.value)


_SCOPES: Mapping[str, tuple[Domain, _ScopeOf]] = {
    READ: (Domain.FILESYSTEM_READ, _paths(READ)),
    EXECUTE: (Domain.FILESYSTEM_READ, _within(EXECUTE, EXECUTING, _placed)),
    WRITE: (Domain.FILESYSTEM_WRITE, _paths(WRITE)),
    HOSTS: (Domain.NETWORK_EGRESS, _hosts),
    BIND: (Domain.NETWORK_EGRESS, _within(BIND, LISTENING)),
    CALLS: (Domain.SYSCALL, _calls),
    UNIX: (Domain.IPC, _within(UNIX, UNIX_SOCKETS, _placed)),
    VARIABLES: (Domain.CREDENTIAL, _within(VARIABLES, ENVIRONMENT)),
    PRIVILEGES: (Domain.CREDENTIAL, _within(PRIVILEGES, CAPABILITY)),
}


# --- ceilings -----------------------------------------------------------------------------------------


def effective(policy: Policy, limits: ResourceLimits) -> ResourceLimits:
    """Return the ceilings of a run: of policy and command line the smaller."""
    return ResourceLimits(**{name: value for name, (value, _) in _smaller(policy, limits).items()})


def _smaller(policy: Policy, limits: ResourceLimits) -> dict[str, tuple[int, str]]:
    """Return each ceiling with the node or option that states it."""
    found = {name: (value, option(name)) for name, value in stated_ceilings(limits).items()}
    for name in ResourceLimits._fields:
        entry = policy.entry(f"resources.{name}")
        if entry is not None and entry.value <= found.get(name, (entry.value, ""))[0]:
            found[name] = (entry.value, f"resources.{name}")
    return {name: found[name] for name in ResourceLimits._fields if name in found}


def _ceilings(policy: Policy, limits: ResourceLimits) -> Iterator[Requirement]:
    for name, (value, stated_by) in _smaller(policy, limits).items():
        intent, posture = CEILINGS[name]
        scope = ceilings(ResourceLimits(**{name: value}))
        yield Requirement(Domain.RESOURCE, scope, intent, posture, stated_by=stated_by)


def not_derived(reason: str) -> Lowered:
    """Return what is known where no policy could be lowered: nothing is asked for, and nobody knows what would be."""
    lines = tuple(Coverage(domain, RequestedControl.NOT_DERIVED, reason) for domain in DOMAINS)
    return Lowered((), lines, frozenset())


def denied(policy: Policy, domain: Domain) -> bool:
    """Say whether the capabilities deny a domain as a whole."""
    names = CAPABILITIES[domain]
    if any(name in (policy.names("capabilities.deny") or ()) for name in names):
        return True
    allowed = policy.names("capabilities.allow")
    return allowed is not None and any(name not in allowed for name in names if name not in ONLY_BY_DENIAL)


_SILENT = {
    Domain.PROCESS_CREATION: "capabilities denies neither terminal_exec nor agent_spawn, and so restricts nothing"
}


def _silence(nodes: tuple[str, ...]) -> str:
    """Return what it means that these nodes, all of one domain, are absent."""
    gives = all(node in KEYS and KEYS[node].grants for node in nodes)
    *others, last = nodes
    if not others:
        return f"{last} is absent, and so {'gives' if gives else 'restricts'} nothing"
    return f"{', '.join(others)} and {last} are absent, and so {'give' if gives else 'restrict'} nothing"


def _coverage(domain: Domain, requirements: tuple[Requirement, ...]) -> Coverage:
    stated = [item for item in requirements if item.domain is domain]
    if not stated and domain in NODES:
        return Coverage(domain, RequestedControl.NOT_STATED, _SILENT.get(domain, _silence(NODES[domain])))
    if not stated:
        return Coverage(domain, RequestedControl.POLICY_CANNOT_EXPRESS, "no policy node states this domain")
    detail = "; ".join(describe(item) for item in stated)
    gaps = (*GAPS.get(domain, ()), *_left_open(domain, stated))
    return Coverage(domain, RequestedControl.STATED, detail, _granularity(domain), gaps)


def _left_open(domain: Domain, stated: list[Requirement]) -> tuple[str, ...]:
    """Return the nodes of a domain that are silent, where only parts of the domain are stated."""
    if domain is Domain.RESOURCE or any(not part(item.scope) for item in stated):
        return ()
    silent = [node for node in NODES[domain] if node not in [item.stated_by for item in stated]]
    return tuple(_silence((node,)) for node in silent)


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
