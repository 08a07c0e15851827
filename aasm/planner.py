# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Negotiation: requirements against what one backend can do. Pure, and the same function for every backend.

The order of the checks inside one requirement is the order of `RefusalReason`. A refused launch is a Refusal that lists
every unmet requirement; it can never be represented as a plan. The capabilities that come in must already be narrowed
for these requirements by their backend: its raw reports say nothing about a single ceiling or a single destination.
"""

from __future__ import annotations

from typing import Iterable, Union

from .errors import one_line
from .model.domains import (
    BackendCapabilities,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Maturity,
    Mediation,
    Prerequisite,
    PrerequisiteStatus,
    Support,
    Synchrony,
    can_observe,
    unsatisfied,
    validation,
)
from .model.plan import EnforcementPlan, Outcome, OutcomeKind, Refusal, RefusalKind, RefusalReason, Shortfall
from .model.requirements import (
    DescendantRequirement,
    EvidenceMinimum,
    Requirement,
    RequirementIntent,
    RequirementPosture,
    RuntimeRequirements,
)

Verdict = Union[EnforcementPlan, Refusal]


def evaluate(found: BackendCapabilities, wanted: RuntimeRequirements, floor: tuple[str, ...] = ()) -> Verdict:
    """Return the plan in which `found` meets everything wanted, or the refusal.

    Negotiation comes first and the evidence minimum second: the second gate can only reject.
    """
    verdict = negotiate(found, wanted.confinement, floor)
    lacking = () if isinstance(verdict, Refusal) else below_minimum(found, wanted)
    if lacking:
        return Refusal(RefusalKind.EVIDENCE_MINIMUM, listing(found, lacking), lacking)
    return verdict


def negotiate(
    found: BackendCapabilities, requirements: tuple[Requirement, ...], floor: tuple[str, ...] = ()
) -> Verdict:
    """Return the plan in which `found`, already narrowed, meets all requirements, or the refusal with those unmet."""
    if found.unavailable:
        lacking = Shortfall(None, RefusalReason.BACKEND_UNAVAILABLE, found.unavailable)
        return Refusal(RefusalKind.SELECTION, found.unavailable, (lacking,))
    outcomes = tuple(_outcome(found, requirement) for requirement in requirements)
    refused = tuple(o.shortfall for o in outcomes if o.shortfall and _refuses(o.requirement))
    if refused:
        return Refusal(RefusalKind.NEGOTIATION, listing(found, refused), refused)
    return EnforcementPlan(found, outcomes, floor)


def _refuses(requirement: Requirement) -> bool:
    return requirement.posture is RequirementPosture.REQUIRED


def _outcome(found: BackendCapabilities, requirement: Requirement) -> Outcome:
    item = found.report_on(requirement)
    shortfall = _shortfall(item, requirement)
    if shortfall is None and item is not None:
        prevents = requirement.intent is RequirementIntent.PREVENT_BEFORE_EFFECT
        kind = OutcomeKind.ENFORCED if prevents else OutcomeKind.OBSERVED
        return Outcome(requirement, kind, item.timing, item.descendants, None, item.mechanism)
    return _short(item, requirement, shortfall)


def _short(item: CapabilityReport | None, requirement: Requirement, shortfall: Shortfall | None) -> Outcome:
    degraded = requirement.posture is RequirementPosture.DEGRADE_IF_UNAVAILABLE
    kind = OutcomeKind.DEGRADED if degraded else OutcomeKind.UNMET
    stated = shortfall._replace(stated_by=requirement.stated_by) if shortfall else None
    words = (item.mechanism or item.reason) if item else ""
    if degraded and item is not None and _watches(item):
        return Outcome(requirement, kind, item.timing, item.descendants, stated, words)
    return Outcome(requirement, kind, DecisionTiming.NONE, DescendantCoverage.UNMEASURED, stated, words)


def _watches(item: CapabilityReport) -> bool:
    """Say whether the control at least observes; one that is not validated is never reported as achieved."""
    return can_observe(item) and item.maturity is Maturity.VALIDATED


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
        unmet = _observation_shortfall(item)
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
    return _not_ready(item, lacking) if lacking else None


def _observation_shortfall(item: CapabilityReport) -> Shortfall | None:
    if not can_observe(item):
        return Shortfall(item.domain, RefusalReason.NO_EVIDENCE_PRODUCED, "nothing about this domain is recorded")
    validated = validation(item)  # a watching control is not asked for its other prerequisites
    return None if validated.status is PrerequisiteStatus.SATISFIED else _not_ready(item, validated)


def _not_ready(item: CapabilityReport, lacking: Prerequisite) -> Shortfall:
    detail = f"{lacking.requirement}: {lacking.status.value}" + (f" ({lacking.detail})" if lacking.detail else "")
    return Shortfall(item.domain, RefusalReason.PREREQUISITE_UNSATISFIED, detail)


def _descendant_shortfall(item: CapabilityReport, requirement: Requirement) -> Shortfall | None:
    if item.descendants is DescendantCoverage.PROCESS_TREE:
        return None
    target_only = requirement.descendants is DescendantRequirement.TARGET_PROCESS_ONLY
    if target_only and item.descendants is DescendantCoverage.TARGET_PROCESS_ONLY:
        return None
    detail = f"{requirement.descendants.value} was asked and {item.descendants.value} is offered"
    return Shortfall(item.domain, RefusalReason.DESCENDANT_COVERAGE_INSUFFICIENT, detail)


def listing(found: BackendCapabilities, refused: tuple[Shortfall, ...]) -> str:
    """Return what is unmet, line by line, in words."""
    items = "".join(f"\n  - {one_line(f'{subject(item)}: {item.detail}')}" for item in refused)
    return f"the `{found.provenance.id}` backend cannot meet what is required:{items}"


def subject(item: Shortfall) -> str:
    """Return what a shortfall is about: its domain, and what asked."""
    domain = item.domain.value if item.domain else "backend"
    return f"{domain} ({item.stated_by})" if item.stated_by else domain


# --- the evidence floor: a second gate, which can only reject --------------------------------------

_FLOOR = (
    FailurePosture.FAIL_OPEN_SILENT,
    FailurePosture.SILENT_TRUNCATION,
    FailurePosture.FAIL_OPEN,
    FailurePosture.FAIL_CLOSED,
)


def below_minimum(found: BackendCapabilities, wanted: RuntimeRequirements) -> tuple[Shortfall, ...]:
    """Return one shortfall for each domain of which a report stays below its stated minimum; silence fails any.

    Judged are the reports on the concrete requirements of the domain, or the domain's own where nothing requires it.
    """
    return tuple(_floor_shortfalls(found, wanted))


def _floor_shortfalls(found: BackendCapabilities, wanted: RuntimeRequirements) -> Iterable[Shortfall]:
    for domain, minimum in wanted.evidence.items():
        stated = [found.report_on(item) for item in wanted.confinement if item.domain is domain]
        for item in stated or [found.report_for(domain)]:
            if item is None or not _meets(item, minimum):
                detail = f"{_required(minimum)} is required and {_offered(item)} is offered"
                yield Shortfall(domain, RefusalReason.EVIDENCE_QUALITY_BELOW_MINIMUM, detail)
                break


def _required(minimum: EvidenceMinimum) -> str:
    parts = [minimum.failure.value] if minimum.failure else []
    return " with ".join(parts + (["full support"] if minimum.full_support else [])) or "a report"


def _offered(item: CapabilityReport | None) -> str:
    return f"{item.failure.value} with {item.support.value} support" if item else "nothing"


def _meets(item: CapabilityReport, minimum: EvidenceMinimum) -> bool:
    if minimum.full_support and item.support is not Support.FULL:
        return False
    if minimum.failure is None or minimum.failure is item.failure:
        return True
    if FailurePosture.NOT_APPLICABLE in (minimum.failure, item.failure):
        return False
    return _FLOOR.index(item.failure) >= _FLOOR.index(minimum.failure)
