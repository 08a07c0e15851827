# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What `aasm-native` can do on a host, and which requirements it can lower. Pure: host facts come in as a value."""

from __future__ import annotations

from typing import Callable, Mapping

from ... import __version__
from ..._sys import landlock
from ..._sys.probe import HostFacts
from ...model.domains import (
    BackendCapabilities,
    CapabilityDomain as Domain,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Maturity,
    Mediation,
    PlatformBoundary,
    Provenance,
    Synchrony,
    capabilities,
    report,
    unsupported,
)
from ...model.requirements import Requirement

ID = "aasm-native"
PROVENANCE = Provenance(ID, __version__, "in tree: aasm/backends/native", "Apache-2.0", modified=False)

FLOOR_ABI = 6  # below it a program could signal, and so stop, the supervisor itself
NOT_MEDIATED = "names, sizes and times of files outside the grants stay visible (stat, readlink, access)"
METADATA = "mode, owner, times and extended attributes of files that the user owns can be changed outside the grants"
EXECUTION = "what can be read can be executed; execution is not a right of its own"
EARLIER = "descriptors 0, 1 and 2 keep the rights with which they were opened"

LIMITATIONS: Mapping[Domain, tuple[str, ...]] = {
    Domain.FILESYSTEM_READ: (NOT_MEDIATED, EXECUTION, EARLIER),
    Domain.FILESYSTEM_WRITE: (
        METADATA,
        "creating, renaming, writing and removing are one right",
        EARLIER,
    ),
    Domain.SYSCALL: ("a policy may name fifteen calls; the loader's own baseline is added to them",),
    Domain.PROCESS_CREATION: ("held as a whole: no new process; threads and exec stay possible",),
    Domain.NETWORK_EGRESS: ("held as a whole: no socket of any family; single destinations are not held",),
}

# Domains without a mechanism in this backend, each with its reason.
MISSING: Mapping[Domain, str] = {
    Domain.NAME_RESOLUTION: "name resolution is not decided apart from the network as a whole",
    Domain.IPC: "sockets, shared memory and inherited channels are not decided one by one; the floor refuses the worst",
    Domain.CREDENTIAL: "inherited authority is removed from the environment, not refused by the kernel",
    Domain.RESOURCE: "no ceiling is held by this backend",
    Domain.WORKSPACE_TRANSACTION: "no transaction mechanism",
}


def capabilities_of(host: HostFacts) -> BackendCapabilities:
    """Return the reports of all ten domains, or the reason for which the whole backend is unavailable."""
    reason = unavailable(host)
    reports = [] if reason else [_report(domain, host) for domain in Domain]
    return capabilities(PROVENANCE, PlatformBoundary.SHARED_HOST_KERNEL, reports, reason)


def unavailable(host: HostFacts) -> str:
    """Return why no boundary can be built on this host, with the remedy; empty when one can."""
    if host.landlock.state != "available":
        return host.landlock.detail
    if host.landlock.abi < FLOOR_ABI:
        row = landlock.ROWS[FLOOR_ABI - 1]
        return (
            f"Landlock ABI {host.landlock.abi} is usable here and {FLOOR_ABI} is needed (Linux {row.kernel}): without "
            f"it nothing restricts {row.brings}"
        )
    if not (host.seccomp.filter and host.seccomp.errno and host.seccomp.kill_process):
        return host.seccomp.detail or "this kernel cannot filter system calls"
    return ""


def _report(domain: Domain, host: HostFacts) -> CapabilityReport:
    if domain in MISSING:
        return unsupported(domain, MISSING[domain])
    gap = _gap(domain, host)
    return unsupported(domain, gap) if gap else _enforced(domain)


def _gap(domain: Domain, host: HostFacts) -> str:
    needed = {
        Domain.FILESYSTEM_READ: landlock.READ_RIGHTS,
        Domain.FILESYSTEM_WRITE: landlock.WRITE_RIGHTS | landlock.NEVER_GRANTED,
    }.get(domain, 0)
    missing = needed & ~host.landlock.fs
    return f"this kernel refuses the Landlock rights {', '.join(landlock.names(missing, 'fs'))}" if missing else ""


def _enforced(domain: Domain) -> CapabilityReport:
    return report(
        domain,
        Mediation.ENFORCE,
        DecisionTiming.PRE,
        Synchrony.SYNC,
        FailurePosture.FAIL_CLOSED,
        DescendantCoverage.PROCESS_TREE,
        limitations=LIMITATIONS[domain],
        maturity=Maturity.VALIDATED,  # by the denials of tests/kernel and tests/adversarial, each with its control
    )


# What this backend can lower: domain -> the gap of a requirement, "" when there is none.
def _selectors_unsupported(requirement: Requirement) -> str:
    if requirement.scope.whole:
        return ""
    return "single destinations are not held by this backend yet: only the network as a whole can be refused"


def _whole_only(requirement: Requirement) -> str:
    return "" if requirement.scope.whole else "only new processes as a whole can be refused"


def _calls(requirement: Requirement) -> str:
    if requirement.scope.selectors:
        return ""
    return "an empty list of permitted calls would end every program while it is loaded; name the calls it needs"


_LOWERABLE: Mapping[Domain, Callable[[Requirement], str]] = {
    Domain.NETWORK_EGRESS: _selectors_unsupported,
    Domain.PROCESS_CREATION: _whole_only,
    Domain.SYSCALL: _calls,
}


def narrow(found: BackendCapabilities, requirements: tuple[Requirement, ...]) -> BackendCapabilities:
    """Return the capabilities with each domain unsupported whose requirement cannot be lowered."""
    gaps = {item.domain: gap for item in requirements for gap in [lowering_gap(item)] if gap}
    return found._replace(
        reports=tuple(
            unsupported(item.domain, gaps[item.domain]) if item.domain in gaps else item for item in found.reports
        )
    )


def lowering_gap(requirement: Requirement) -> str:
    """Return why this backend cannot express the requirement, or an empty text."""
    check = _LOWERABLE.get(requirement.domain)
    return check(requirement) if check else ""
