# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Values for tests of the contract: a report that lacks nothing, a backend that says what it is told, a requirement."""

from __future__ import annotations

from typing import Any, Dict

from aasm.model.domains import (
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
)
from aasm.model.plan import Outcome, OutcomeKind, RefusalReason, Shortfall
from aasm.model.requirements import WHOLE, Requirement, Scope, permit_only

PROVENANCE = Provenance("stand-in", "1", "tests", "Apache-2.0", modified=False)
READ, WRITE = Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE
NETWORK, RESOURCE = Domain.NETWORK_EGRESS, Domain.RESOURCE


def capable(domain: Domain = READ, **changes: Any) -> CapabilityReport:
    """Return a report that lacks nothing: validated, fully supported, before the effect, in the whole tree."""
    made = report(
        domain,
        Mediation.ENFORCE,
        DecisionTiming.PRE,
        Synchrony.SYNC,
        FailurePosture.FAIL_CLOSED,
        DescendantCoverage.PROCESS_TREE,
        maturity=Maturity.VALIDATED,
        mechanism=f"a wall around {domain.value}",
        witness=f"a knock at {domain.value}",
    )
    return made._replace(**changes)


def backend(*reports: CapabilityReport, unavailable: str = "") -> BackendCapabilities:
    """Return the capabilities of a backend that makes these reports and no other."""
    return capabilities(PROVENANCE, PlatformBoundary.SHARED_HOST_KERNEL, reports, unavailable)


def narrowed(found: BackendCapabilities, reports: Dict[Requirement, CapabilityReport]) -> BackendCapabilities:
    """Return the capabilities with reports of their own for some requirements."""
    return found._replace(narrowed=tuple(reports.items()))


def wanted(domain: Domain = READ, **changes: Any) -> Requirement:
    """Return a required prevention of the whole domain in the whole tree, with `changes`."""
    return Requirement(domain, WHOLE)._replace(**changes)


def outcome(domain: Domain, kind: OutcomeKind = OutcomeKind.ENFORCED, path: str = "/a", **changes: Any) -> Outcome:
    """Return an outcome of this kind for a requirement about one path, with `changes` to the requirement."""
    met = kind in (OutcomeKind.ENFORCED, OutcomeKind.OBSERVED)
    short = None if met else Shortfall(domain, RefusalReason.DOMAIN_UNSUPPORTED, "none")
    timing = DecisionTiming.PRE if kind is not OutcomeKind.UNMET else DecisionTiming.NONE
    tree = DescendantCoverage.PROCESS_TREE if kind is not OutcomeKind.UNMET else DescendantCoverage.UNMEASURED
    scope: Scope = permit_only((path,))
    requirement = Requirement(domain, scope)._replace(**changes)
    return Outcome(requirement, kind, timing, tree, short, "in the backend's words")
