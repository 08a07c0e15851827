# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a run asks for: requirements, credential posture, and the execution they belong to."""

from __future__ import annotations

from enum import Enum
from typing import Mapping, NamedTuple

from ..errors import InternalError
from .domains import CapabilityDomain, FailurePosture, PlatformBoundary

PERMIT_ONLY = "permit-only:"  # a selector without this prefix grants nothing


class RequirementIntent(Enum):
    """What the requirement wants done about an action."""

    PREVENT_BEFORE_EFFECT = "prevent_before_effect"
    OBSERVE = "observe"


class RequirementPosture(Enum):
    """What becomes of the launch when the requirement cannot be met."""

    REQUIRED = "required"
    DEGRADE_IF_UNAVAILABLE = "degrade_if_unavailable"
    OPTIONAL = "optional"


class DescendantRequirement(Enum):
    """Which processes the requirement must cover."""

    PROCESS_TREE = "process_tree"
    TARGET_PROCESS_ONLY = "target_process_only"


class ResourceLimits(NamedTuple):
    """Numeric ceilings; None means not stated. Bytes, seconds and counts as the names say."""

    max_memory_bytes: int | None = None
    max_cpu_seconds: int | None = None
    max_pids: int | None = None
    max_wall_clock_seconds: int | None = None
    max_file_size_bytes: int | None = None
    max_open_files: int | None = None


UNLIMITED = ResourceLimits()


def option(ceiling: str) -> str:
    """Return the command-line option that states a ceiling, by the ceiling's name."""
    return "--" + ceiling.replace("_", "-")


def stated_ceilings(limits: ResourceLimits) -> dict[str, int]:
    """Return the ceilings that are stated, by their names."""
    return {name: value for name, value in limits._asdict().items() if value is not None}


class Scope(NamedTuple):
    """How much of a domain is meant. Exactly one of the three holds; build it with the functions below."""

    whole: bool
    selectors: tuple[str, ...] = ()
    limits: ResourceLimits | None = None


WHOLE = Scope(True)


def permit_only(names: tuple[str, ...]) -> Scope:
    """Return the scope in which only `names` are permitted; there must be at least one."""
    if not names:
        raise InternalError("an empty permitted set is the whole domain, not a list of selectors")
    return Scope(False, tuple(PERMIT_ONLY + name for name in names))


# Parts of a domain that a node of a policy states by itself. Their selectors are `part:name`, spelled so that no path,
# host or call can be taken for one; where nothing of the part is permitted, the part stands alone, as a bare selector.
EXECUTING, LISTENING, UNIX_SOCKETS, ENVIRONMENT, CAPABILITY = (
    "execute:path", "listen:port", "unix:path", "environment:name", "capability:name",
)  # fmt: skip
PARTS = (EXECUTING, LISTENING, UNIX_SOCKETS, ENVIRONMENT, CAPABILITY)


def none_of(part: str) -> Scope:
    """Return the scope in which nothing of a part of the domain is permitted, and nothing is said about the rest."""
    return Scope(False, (part,))


def part(scope: Scope) -> str:
    """Return the part of its domain that a scope is about, or an empty text for the domain itself."""
    first = scope.selectors[0] if scope.selectors else ""
    return next((name for name in PARTS if first == name or first.startswith(f"{PERMIT_ONLY}{name}:")), "")


def permitted_of(part: str, scope: Scope) -> tuple[str, ...]:
    """Return the names that a scope about a part of its domain permits, without the part in front."""
    return tuple(name[len(part) + 1 :] for name in permitted(scope) if name.startswith(f"{part}:"))


def permitted(scope: Scope) -> tuple[str, ...]:
    """Return the names that `scope` permits; a bare selector is not a grant."""
    return tuple(s[len(PERMIT_ONLY) :] for s in scope.selectors if s.startswith(PERMIT_ONLY))


def ceilings(limits: ResourceLimits) -> Scope:
    """Return the scope of a numeric ceiling; at least one key must be stated."""
    if all(value is None for value in limits):
        raise InternalError("a ceiling needs a number")
    return Scope(False, (), limits)


class Requirement(NamedTuple):
    """One thing a run asks for. Degradation is chosen here, one by one; there is no global switch."""

    domain: CapabilityDomain
    scope: Scope
    intent: RequirementIntent = RequirementIntent.PREVENT_BEFORE_EFFECT
    posture: RequirementPosture = RequirementPosture.REQUIRED
    descendants: DescendantRequirement = DescendantRequirement.PROCESS_TREE
    stated_by: str = ""  # the policy node or option that asked


class CredentialPosture(NamedTuple):
    """Names of inherited authority, never values, and what becomes of each. Sorted."""

    removed: tuple[str, ...] = ()
    delegated: tuple[str, ...] = ()
    ambient_unremoved: tuple[str, ...] = ()


class Identity(NamedTuple):
    """Who the run is attributed to. Asserted by the caller, authenticated by nobody."""

    agent_id: str
    team_id: str | None
    lineage: tuple[str, ...]
    session_id: str
    trace_id: str


class ExecutionSpec(NamedTuple):
    """The program to run and what is asked of its execution. No backend is named anywhere in it."""

    program: str
    args: tuple[str, ...]
    working_dir: str
    identity: Identity
    requirements: tuple[Requirement, ...]
    credentials: CredentialPosture


class EvidenceMinimum(NamedTuple):
    """A floor on the quality of a capability, checked after negotiation; it can only reject."""

    failure: FailurePosture | None = None
    full_support: bool = False


class AuthorityState(Enum):
    """On what a requirement's domain rests. Without leases every run rests on the residual of the operator's own."""

    DENIED = "denied"
    LEASED = "leased"
    COMPATIBILITY_RESIDUAL = "compatibility_residual"


class Lease(NamedTuple):
    """A capability lease that a run was given. None is issued by this release."""

    lease_id: str
    domain: CapabilityDomain


class RuntimeRequirements(NamedTuple):
    """Properties that a run may demand of any backend, named by property and never by backend."""

    confinement: tuple[Requirement, ...]
    evidence: Mapping[CapabilityDomain, EvidenceMinimum] = {}
    boundaries: tuple[PlatformBoundary, ...] = ()
    egress_address: str | None = None  # the one address a mediated run may reach; no mediator exists yet
