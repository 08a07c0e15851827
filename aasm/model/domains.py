# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The ten capability domains and what a backend says about each: axes, reports and their predicates.

Nothing here looks at a host. A report is a value that a backend builds from host facts.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Iterable, NamedTuple

from ..errors import InternalError

if TYPE_CHECKING:
    from .requirements import Requirement


class CapabilityDomain(Enum):
    """What a program may be able to do. The order is the order of every table and report."""

    FILESYSTEM_READ = "filesystem_read"
    FILESYSTEM_WRITE = "filesystem_write"
    NETWORK_EGRESS = "network_egress"
    NAME_RESOLUTION = "name_resolution"
    SYSCALL = "syscall"
    PROCESS_CREATION = "process_creation"
    IPC = "ipc"
    CREDENTIAL = "credential"
    RESOURCE = "resource"
    WORKSPACE_TRANSACTION = "workspace_transaction"


DOMAINS = tuple(CapabilityDomain)


class Mediation(Enum):
    """Whether the control can refuse, only watches, or is not there."""

    ENFORCE = "enforce"
    OBSERVE = "observe"
    NONE = "none"


class DecisionTiming(Enum):
    """When the control decides, measured against the effect."""

    PRE = "pre"
    IN_LINE = "in_line"
    POST = "post"
    NONE = "none"


class Synchrony(Enum):
    """Whether the action waits for the decision."""

    SYNC = "sync"
    BEST_EFFORT = "best_effort"
    NONE = "none"


class FailurePosture(Enum):
    """What happens to the action when the control itself breaks."""

    FAIL_CLOSED = "fail_closed"
    FAIL_OPEN = "fail_open"
    FAIL_OPEN_SILENT = "fail_open_silent"
    SILENT_TRUNCATION = "silent_truncation"
    NOT_APPLICABLE = "not_applicable"


class DescendantCoverage(Enum):
    """Which processes the control covers. Stated per capability, never per backend."""

    PROCESS_TREE = "process_tree"
    TARGET_PROCESS_ONLY = "target_process_only"
    UNMEASURED = "unmeasured"


class Support(Enum):
    """Whether a mechanism exists. `partial` names its limitations, `unsupported` its reason."""

    FULL = "full"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"


class Maturity(Enum):
    """How far a control has come. Only a `validated` control may ever be reported as achieved."""

    VALIDATED = "validated"
    EXPERIMENTAL = "experimental"
    PLANNED = "planned"


class PrerequisiteStatus(Enum):
    """Whether a host precondition holds; `unchecked` counts as not satisfied."""

    SATISFIED = "satisfied"
    UNSATISFIED = "unsatisfied"
    UNCHECKED = "unchecked"


class PlatformBoundary(Enum):
    """Which kernel surface the program keeps sharing."""

    SHARED_HOST_KERNEL = "shared_host_kernel"
    USERSPACE_KERNEL = "userspace_kernel"
    GUEST_KERNEL = "guest_kernel"


class Prerequisite(NamedTuple):
    """A host precondition of one capability, and what was found out about it."""

    requirement: str
    status: PrerequisiteStatus
    detail: str = ""


class CapabilityReport(NamedTuple):
    """What one backend can do about one domain on this host. Build it with `report` or `unsupported`."""

    domain: CapabilityDomain
    mediation: Mediation
    timing: DecisionTiming
    synchrony: Synchrony
    failure: FailurePosture
    descendants: DescendantCoverage
    support: Support
    limitations: tuple[str, ...]  # of partial support; never empty there
    reason: str  # of missing support
    prerequisites: tuple[Prerequisite, ...]
    maturity: Maturity
    mechanism: str  # the backend's own words about what would hold it; opaque to everybody else
    witness: str  # what exercises the control in a run, in the backend's own words; "" when nothing does


def report(
    domain: CapabilityDomain,
    mediation: Mediation,
    timing: DecisionTiming,
    synchrony: Synchrony,
    failure: FailurePosture = FailurePosture.NOT_APPLICABLE,
    descendants: DescendantCoverage = DescendantCoverage.UNMEASURED,
    limitations: tuple[str, ...] = (),
    prerequisites: tuple[Prerequisite, ...] = (),
    maturity: Maturity = Maturity.EXPERIMENTAL,
    mechanism: str = "",
    witness: str = "",
) -> CapabilityReport:
    """Return a report of a supported capability: partial when it states limitations, else full.

    What an author forgets to state is taken for the weakest: coverage unmeasured, not validated. InternalError for a
    `planned` control: what is not built has no support to report.
    """
    if maturity is Maturity.PLANNED:
        raise InternalError(f"a control that is only planned is unsupported ({domain.value})")
    support = Support.PARTIAL if limitations else Support.FULL
    return CapabilityReport(
        domain,
        mediation,
        timing,
        synchrony,
        failure,
        descendants,
        support,
        limitations,
        "",
        prerequisites,
        maturity,
        mechanism,
        witness,
    )


def unsupported(domain: CapabilityDomain, reason: str) -> CapabilityReport:
    """Return a report that promises nothing: no mediation, no timing, no synchrony."""
    if not reason:
        raise InternalError(f"an unsupported report needs a reason ({domain.value})")
    return CapabilityReport(
        domain,
        Mediation.NONE,
        DecisionTiming.NONE,
        Synchrony.NONE,
        FailurePosture.NOT_APPLICABLE,
        DescendantCoverage.UNMEASURED,
        Support.UNSUPPORTED,
        (),
        reason,
        (),
        Maturity.PLANNED,
        "",
        "",
    )


def can_prevent(item: CapabilityReport) -> bool:
    """Say whether the capability can refuse an action before its effect."""
    return (
        item.mediation is Mediation.ENFORCE
        and item.timing is DecisionTiming.PRE
        and item.synchrony is Synchrony.SYNC
        and item.support is not Support.UNSUPPORTED
        and unsatisfied(item) is None
    )


def can_observe(item: CapabilityReport) -> bool:
    """Say whether the capability produces any evidence about actions."""
    return (
        item.support is not Support.UNSUPPORTED
        and item.mediation is not Mediation.NONE
        and item.timing is not DecisionTiming.NONE
    )


def unsatisfied(item: CapabilityReport) -> Prerequisite | None:
    """Return the first prerequisite that is not known to hold, or None. The last one is the control's validation."""
    for prerequisite in (*item.prerequisites, validation(item)):
        if prerequisite.status is not PrerequisiteStatus.SATISFIED:
            return prerequisite
    return None


def validation(item: CapabilityReport) -> Prerequisite:
    """Return as a prerequisite that the control is validated: one that is not counts as none."""
    met = PrerequisiteStatus.SATISFIED if item.maturity is Maturity.VALIDATED else PrerequisiteStatus.UNSATISFIED
    return Prerequisite("validation of the control", met, f"it is {item.maturity.value}")


class Provenance(NamedTuple):
    """Where a backend comes from. `license` is an SPDX identifier."""

    id: str
    version: str
    source: str
    license: str
    modified: bool


class BackendCapabilities(NamedTuple):
    """Everything one backend says about itself on one host. Build it with `capabilities`."""

    provenance: Provenance
    boundary: PlatformBoundary
    unavailable: str  # the reason; empty when the backend is available
    reports: tuple[CapabilityReport, ...]
    narrowed: tuple[tuple[Requirement, CapabilityReport], ...] = ()  # what holds for one concrete requirement

    def report_for(self, domain: CapabilityDomain) -> CapabilityReport | None:
        """Return the report about `domain`; None means silence, which is never support."""
        return next((item for item in self.reports if item.domain is domain), None)

    def report_on(self, requirement: Requirement) -> CapabilityReport | None:
        """Return the report about one concrete requirement: what it was narrowed to, else that of its domain."""
        made = (item for stated, item in self.narrowed if stated == requirement)
        return next(made, self.report_for(requirement.domain))


def capabilities(
    provenance: Provenance, boundary: PlatformBoundary, reports: Iterable[CapabilityReport], unavailable: str = ""
) -> BackendCapabilities:
    """Return a backend's capabilities; two reports about one domain are a defect, never last-wins."""
    listed = tuple(reports)
    seen = [item.domain for item in listed]
    for domain in seen:
        if seen.count(domain) > 1:
            raise InternalError(f"two capability reports for the domain {domain.value}")
    return BackendCapabilities(provenance, boundary, unavailable, listed)
