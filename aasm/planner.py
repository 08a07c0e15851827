# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Negotiation: requirements against what one backend can do. Pure, and the same function for every backend.

The order of the checks inside one requirement is the order of `RefusalReason`. A refused launch is a Refusal that lists
every unmet requirement; it can never be represented as a plan.
"""

from __future__ import annotations

from typing import Iterable, Mapping

from .model.domains import (
    BackendCapabilities,
    CapabilityDomain,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Mediation,
    Support,
    Synchrony,
    can_observe,
    unsatisfied,
)
from .model.plan import EnforcementPlan, Outcome, OutcomeKind, Refusal, RefusalKind, RefusalReason, Shortfall
from .model.requirements import (
    DescendantRequirement,
    EvidenceMinimum,
    Requirement,
    RequirementIntent,
    RequirementPosture,
)


def negotiate(
    found: BackendCapabilities, requirements: tuple[Requirement, ...], floor: tuple[str, ...] = ()
) -> EnforcementPlan | Refusal:
    """Return the plan in which `found`, already narrowed, meets all requirements, or the refusal with those unmet."""
    if found.unavailable:
        lacking = Shortfall(None, RefusalReason.BACKEND_UNAVAILABLE, found.unavailable)
        return Refusal(RefusalKind.SELECTION, found.unavailable, (lacking,))
    outcomes = tuple(_outcome(found, requirement) for requirement in requirements)
    refused = tuple(o.shortfall for o in outcomes if o.shortfall and _refuses(o.requirement))
    if refused:
        return Refusal(RefusalKind.NEGOTIATION, _listing(found, refused), refused)
    return EnforcementPlan(found, outcomes, floor)


def _refuses(requirement: Requirement) -> bool:
    return requirement.posture is RequirementPosture.REQUIRED


def _outcome(found: BackendCapabilities, requirement: Requirement) -> Outcome:
    item = found.report_for(requirement.domain)
    shortfall = _shortfall(item, requirement)
    if shortfall is None and item is not None:
        prevents = requirement.intent is RequirementIntent.PREVENT_BEFORE_EFFECT
        kind = OutcomeKind.ENFORCED if prevents else OutcomeKind.OBSERVED
        return Outcome(requirement, kind, item.timing, item.descendants, None)
    return _short(item, requirement, shortfall)


def _short(item: CapabilityReport | None, requirement: Requirement, shortfall: Shortfall | None) -> Outcome:
    if requirement.posture is RequirementPosture.DEGRADE_IF_UNAVAILABLE and item is not None and can_observe(item):
        return Outcome(requirement, OutcomeKind.DEGRADED, item.timing, item.descendants, shortfall)
    degraded = requirement.posture is RequirementPosture.DEGRADE_IF_UNAVAILABLE
    kind = OutcomeKind.DEGRADED if degraded else OutcomeKind.UNMET
    return Outcome(requirement, kind, DecisionTiming.NONE, DescendantCoverage.UNMEASURED, shortfall)


def _shortfall(item: CapabilityReport | None, requirement: Requirement) -> Shortfall | None:
    """Return the first reason for which the report does not meet the requirement, or None."""
    domain = requirement.domain
    if item is None:
        return Shortfall(domain, RefusalReason.NO_CAPABILITY_REPORTED, "the backend says nothing about this domain")
    if item.support is Support.UNSUPPORTED:
        return Shortfall(domain, RefusalReason.DOMAIN_UNSUPPORTED, item.reason)
    if requirement.intent is RequirementIntent.PREVENT_BEFORE_EFFECT:
        unmet = _prevention_shortfall(item)
    else:
        unmet = None if can_observe(item) else _no_evidence(item)
    return unmet or _descendant_shortfall(item, requirement)


def _prevention_shortfall(item: CapabilityReport) -> Shortfall | None:
    domain = item.domain
    if item.mediation is not Mediation.ENFORCE:
        reason = RefusalReason.OBSERVE_ONLY_FOR_PREVENTION_REQUIREMENT
        return Shortfall(domain, reason, f"prevention was asked and the control can only {item.mediation.value}")
    if item.timing is not DecisionTiming.PRE:
        return Shortfall(domain, RefusalReason.DECISION_TOO_LATE, f"the decision comes {item.timing.value}")
    if item.synchrony is not Synchrony.SYNC:
        reason = RefusalReason.DECISION_NOT_SYNCHRONOUS
        return Shortfall(domain, reason, f"the action does not wait for the decision ({item.synchrony.value})")
    lacking = unsatisfied(item)
    if lacking is None:
        return None
    detail = f"{lacking.requirement}: {lacking.status.value}" + (f" ({lacking.detail})" if lacking.detail else "")
    return Shortfall(domain, RefusalReason.PREREQUISITE_UNSATISFIED, detail)


def _no_evidence(item: CapabilityReport) -> Shortfall:
    return Shortfall(item.domain, RefusalReason.NO_EVIDENCE_PRODUCED, "nothing about this domain is recorded")


def _descendant_shortfall(item: CapabilityReport, requirement: Requirement) -> Shortfall | None:
    if item.descendants is DescendantCoverage.PROCESS_TREE:
        return None
    target_only = requirement.descendants is DescendantRequirement.TARGET_PROCESS_ONLY
    if target_only and item.descendants is DescendantCoverage.TARGET_PROCESS_ONLY:
        return None
    detail = f"{requirement.descendants.value} was asked and {item.descendants.value} is offered"
    return Shortfall(item.domain, RefusalReason.DESCENDANT_COVERAGE_INSUFFICIENT, detail)


def _listing(found: BackendCapabilities, refused: tuple[Shortfall, ...]) -> str:
    items = "".join(f"\n  - {item.domain.value if item.domain else 'backend'}: {item.detail}" for item in refused)
    return f"the `{found.provenance.id}` backend cannot meet what the policy requires:{items}"


# --- the evidence floor: a second gate, which can only reject --------------------------------------

_FLOOR = (
    FailurePosture.FAIL_OPEN_SILENT,
    FailurePosture.SILENT_TRUNCATION,
    FailurePosture.FAIL_OPEN,
    FailurePosture.FAIL_CLOSED,
)


def below_minimum(
    found: BackendCapabilities, minimums: Mapping[CapabilityDomain, EvidenceMinimum]
) -> tuple[Shortfall, ...]:
    """Return one shortfall for each domain whose report stays below a stated minimum; silence fails any minimum."""
    return tuple(_floor_shortfalls(found, minimums))


def _floor_shortfalls(
    found: BackendCapabilities, minimums: Mapping[CapabilityDomain, EvidenceMinimum]
) -> Iterable[Shortfall]:
    for domain, minimum in minimums.items():
        item = found.report_for(domain)
        if item is None or not _meets(item, minimum):
            actual = f"{item.failure.value}, support {item.support.value}" if item else "nothing reported"
            yield Shortfall(domain, RefusalReason.EVIDENCE_QUALITY_BELOW_MINIMUM, actual)


def _meets(item: CapabilityReport, minimum: EvidenceMinimum) -> bool:
    if minimum.full_support and item.support is not Support.FULL:
        return False
    if minimum.failure is None or minimum.failure is item.failure:
        return True
    if FailurePosture.NOT_APPLICABLE in (minimum.failure, item.failure):
        return False
    return _FLOOR.index(item.failure) >= _FLOOR.index(minimum.failure)
