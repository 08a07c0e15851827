# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What `aasm-native` can do on a host, and which requirements it can lower. Pure: host facts come in as a value."""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple

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
from ...model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    LISTENING,
    UNIX_SOCKETS,
    Requirement,
    RequirementIntent,
    part,
    permitted,
    permitted_of,
    stated_ceilings,
)

ID = "aasm-native"
PROVENANCE = Provenance(ID, __version__, "in tree: aasm/backends/native", "Apache-2.0", modified=False)

FLOOR_ABI = 6  # below it a program could signal, and so stop, the supervisor itself
NOT_MEDIATED = "names, sizes and times of files outside the grants stay visible (stat, readlink, access)"
METADATA = "mode, owner, times and extended attributes of files that the user owns can be changed outside the grants"
EXECUTION = "what can be read can be executed, unless executing is stated by itself"
ADVISORY = (
    "an interpreter or the dynamic loader that may be executed runs any code that it can read, and memory files can be "
    "executed"
)
EARLIER = "descriptors 0, 1 and 2 keep the rights with which they were opened"

LIMITATIONS: Mapping[Domain, tuple[str, ...]] = {
    Domain.FILESYSTEM_READ: (NOT_MEDIATED, EXECUTION, EARLIER),
    Domain.FILESYSTEM_WRITE: (
        METADATA,
        "creating, renaming, writing and removing are one right",
        EARLIER,
    ),
    Domain.SYSCALL: ("the loader's own baseline is added to the calls that are named",),
    Domain.PROCESS_CREATION: ("held as a whole: no new process; threads and exec stay possible",),
    Domain.NETWORK_EGRESS: (
        "held as a whole: no socket of any family, connected pairs apart; single destinations are not held",
    ),
    Domain.IPC: (
        "held as a whole: no unix socket that leads anywhere; single paths are not held",
        "named pipes and files beneath the grants, and descriptors 0, 1 and 2, stay channels",
    ),
    Domain.CREDENTIAL: (
        "held where it is inherited: in variables, descriptors above 2, keyrings and the kernel's capabilities",
        "a fixed list of harmless variables and those of the private directory arrive whatever is named",
        "credentials in files are files",
    ),
    Domain.RESOURCE: (
        "open files and file size are held, for each process by itself and not for the tree; a file behind a standard "
        "stream counts too",
        "the wall clock is kept by the supervisor, which ends the tree: what was done before stays done",
        "memory, processes and processor time are not held",
    ),
}

# What holds each domain, in this backend's own words.
MECHANISMS: Mapping[Domain, str] = {
    Domain.FILESYSTEM_READ: "a Landlock ruleset that decides about reading and executing files",
    Domain.FILESYSTEM_WRITE: "a Landlock ruleset that decides about writing, creating, renaming and removing files",
    Domain.SYSCALL: "a seccomp filter that lets only the named calls and the loader's baseline pass",
    Domain.PROCESS_CREATION: "a seccomp filter that refuses fork, vfork and every clone that makes a process",
    Domain.NETWORK_EGRESS: (
        "a seccomp filter that refuses every socket but connected pairs, and Landlock for TCP beside it"
    ),
    Domain.IPC: "a seccomp filter that refuses every unix socket but connected pairs, and a Landlock scope beside it",
    Domain.CREDENTIAL: "an environment of what is named and a fixed list, and capability sets of what is named",
    Domain.RESOURCE: "resource limits, soft and hard",
}

# What exercises a control in every run; the others are installed and tried by nobody.
WITNESSES: Mapping[Domain, str] = {
    Domain.FILESYSTEM_READ: "canary file_read",
    Domain.FILESYSTEM_WRITE: "canary file_write",
}


class ByLimit(NamedTuple):
    """How a ceiling is held: by a resource limit (setrlimit(2)), under the `name` of its canary and its host fact."""

    limit: str
    name: str


# Ceilings by what holds them, and those that nothing here holds, with the reason.
HELD_BY_LIMIT: Mapping[str, ByLimit] = {
    "max_open_files": ByLimit("RLIMIT_NOFILE", "open_files"),
    "max_file_size_bytes": ByLimit("RLIMIT_FSIZE", "file_size"),
}
NOT_HELD: Mapping[str, str] = {
    "max_memory_bytes": "no control group is used, and no resource limit bounds the memory of a tree",
    "max_pids": "no control group is used, and RLIMIT_NPROC counts a user's processes on the whole host",
    "max_cpu_seconds": "no control group is used, and RLIMIT_CPU counts each process by itself",
}
BY_SUPERVISOR = "max_wall_clock_seconds"
NOTHING_WATCHES = "this backend refuses and records no single actions, so it observes none"

# Domains without a mechanism in this backend, each with its reason.
MISSING: Mapping[Domain, str] = {
    Domain.NAME_RESOLUTION: "name resolution is not decided apart from the network as a whole",
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
        Domain.FILESYSTEM_READ: landlock.READ_RIGHTS | landlock.EXECUTE,
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
        mechanism=MECHANISMS[domain],
        witness=WITNESSES.get(domain, ""),
    )


# --- one concrete requirement -----------------------------------------------------------------------


def narrow(found: BackendCapabilities, requirements: tuple[Requirement, ...]) -> BackendCapabilities:
    """Return the capabilities with a report of its own for each requirement that its domain's does not fit.

    One requirement that cannot be held says nothing about another one of the same domain.
    """
    if found.unavailable:
        return found
    reports = ((item, _narrowed(item, requirements)) for item in requirements)
    return found._replace(narrowed=tuple((item, made) for item, made in reports if made))


def _narrowed(requirement: Requirement, beside: tuple[Requirement, ...]) -> CapabilityReport | None:
    if requirement.domain is Domain.RESOURCE:
        return _resource(requirement)
    if requirement.intent is RequirementIntent.OBSERVE:
        return unsupported(requirement.domain, NOTHING_WATCHES)
    gap = lowering_gap(requirement, beside)
    if gap:
        return unsupported(requirement.domain, gap)
    own = _OF_PARTS.get(part(requirement.scope))
    return own(requirement) if own else None


def _privileges(requirement: Requirement) -> CapabilityReport:
    named = permitted_of(CAPABILITY, requirement.scope)
    reaching = [name for name in named if name in _REACHING]
    beyond = f"with {', '.join(reaching)} it gets past owner and mode of files inside the grants and outside"
    return _enforced(Domain.CREDENTIAL)._replace(
        limitations=(beyond,) if reaching else (),
        mechanism="capability sets of what is named",
    )


# With these a program gets past the owner or the mode of files, about which no rule of a boundary decides.
_REACHING = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_SETUID", "CAP_SETGID",
)  # fmt: skip


def _execution(requirement: Requirement) -> CapabilityReport:
    return _enforced(Domain.FILESYSTEM_READ)._replace(
        limitations=(ADVISORY,),
        mechanism="a Landlock ruleset that decides about executing files",
        witness="",
    )


_OF_PARTS: Mapping[str, Callable[[Requirement], CapabilityReport]] = {EXECUTING: _execution, CAPABILITY: _privileges}


def lowering_gap(requirement: Requirement, beside: tuple[Requirement, ...] = ()) -> str:
    """Return why this backend cannot express the requirement, or an empty text; `beside` are all of the run."""
    if part(requirement.scope) == LISTENING:
        return _listening(requirement, beside)
    check = _LOWERABLE.get(requirement.domain)
    return check(requirement) if check else ""


def _listening(requirement: Requirement, beside: tuple[Requirement, ...]) -> str:
    whole = any(item.domain is Domain.NETWORK_EGRESS and item.scope.whole for item in beside)
    if whole and not permitted(requirement.scope):
        return ""  # without a socket nothing can listen
    return (
        "ports to listen on are not held by this backend yet: a socket that listens without having been bound gets a "
        "port of the kernel's choice"
    )


def _destinations(requirement: Requirement) -> str:
    if requirement.scope.whole:
        return ""
    return "single destinations are not held by this backend yet: only the network as a whole can be refused"


def _processes(requirement: Requirement) -> str:
    return "" if requirement.scope.whole else "only new processes as a whole can be refused"


def _calls(requirement: Requirement) -> str:
    if requirement.scope.selectors:
        return ""
    return "an empty list of permitted calls would end every program while it is loaded; name the calls it needs"


def _execution_gap(requirement: Requirement) -> str:
    if part(requirement.scope) == EXECUTING and not permitted(requirement.scope):
        return "nothing at all may be executed, so no program could start; name what may be"
    return ""


def _channels(requirement: Requirement) -> str:
    if requirement.scope.whole:
        return "channels are not refused as a whole: of unix sockets all can be, shared memory and pipes cannot"
    if part(requirement.scope) == UNIX_SOCKETS and not permitted(requirement.scope):
        return ""
    return "single unix sockets are not held by this backend yet: only all of them can be refused ([])"


def _authority(requirement: Requirement) -> str:
    if part(requirement.scope) in (ENVIRONMENT, CAPABILITY):
        return ""
    return "credentials are not refused as a whole: which variables and capabilities pass can be stated"


_LOWERABLE: Mapping[Domain, Callable[[Requirement], str]] = {
    Domain.FILESYSTEM_READ: _execution_gap,
    Domain.NETWORK_EGRESS: _destinations,
    Domain.PROCESS_CREATION: _processes,
    Domain.SYSCALL: _calls,
    Domain.IPC: _channels,
    Domain.CREDENTIAL: _authority,
}


def _resource(requirement: Requirement) -> CapabilityReport:
    limits = requirement.scope.limits
    if limits is None:
        return unsupported(Domain.RESOURCE, "a ceiling needs a number")
    names = tuple(stated_ceilings(limits))
    missing = [NOT_HELD[name] for name in names if name in NOT_HELD]
    if missing:
        return unsupported(Domain.RESOURCE, "; ".join(missing))
    if BY_SUPERVISOR in names:
        return _by_supervisor()
    watched = requirement.intent is RequirementIntent.OBSERVE
    return unsupported(Domain.RESOURCE, NOTHING_WATCHES) if watched else _by_limit(names)


def _by_limit(names: tuple[str, ...]) -> CapabilityReport:
    held = " and ".join(HELD_BY_LIMIT[name].limit for name in names)
    return _enforced(Domain.RESOURCE)._replace(
        limitations=("held for each process by itself and not for the tree",),
        mechanism=f"{held}, soft and hard",
        witness=" and ".join(f"canary {HELD_BY_LIMIT[name].name}" for name in names),
    )


def _by_supervisor() -> CapabilityReport:
    return report(
        Domain.RESOURCE,
        Mediation.OBSERVE,
        DecisionTiming.POST,
        Synchrony.BEST_EFFORT,
        FailurePosture.FAIL_OPEN,  # when the supervisor is killed, the program's descendants live on without a clock
        DescendantCoverage.PROCESS_TREE,
        limitations=("what was done before the end stays done",),
        maturity=Maturity.VALIDATED,
        mechanism="the supervisor's clock, which ends the tree",
        witness="the clock itself, when it ends a run",
    )
