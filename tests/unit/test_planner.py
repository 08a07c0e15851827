# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Negotiation: what a refusal lists, what may go unmet, and what a plan says."""

from __future__ import annotations

import itertools
from typing import Any, Dict, List, Optional, Tuple

import pytest
from support.contract import NETWORK, PROVENANCE, READ, RESOURCE, WRITE, backend, capable, narrowed, wanted

from aasm.model.domains import (
    DOMAINS,
    BackendCapabilities,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    Maturity,
    Mediation,
    PlatformBoundary,
    Prerequisite,
    PrerequisiteStatus,
    Synchrony,
    unsupported,
)
from aasm.model.evidence import ClaimTerm
from aasm.model.plan import (
    OUTCOME_CEILING,
    EnforcementPlan,
    LaunchPosture,
    OutcomeKind,
    Refusal,
    RefusalKind,
    RefusalReason as Reason,
)
from aasm.model.requirements import (
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    ceilings,
    permit_only,
)
from aasm.planner import negotiate

UNCHECKED, UNSATISFIED = PrerequisiteStatus.UNCHECKED, PrerequisiteStatus.UNSATISFIED


def lacking(status: PrerequisiteStatus) -> Tuple[Prerequisite, ...]:
    return Prerequisite("met", PrerequisiteStatus.SATISFIED), Prerequisite("a mounted thing", status, "not there")


def reasons(verdict: object) -> List[Reason]:
    """Return the reasons of a refusal; none for a plan."""
    return [item.reason for item in verdict.shortfalls] if isinstance(verdict, Refusal) else []


def plan_of(verdict: object) -> EnforcementPlan:
    assert isinstance(verdict, EnforcementPlan), verdict
    return verdict


def test_the_reasons_are_those_of_the_contract() -> None:
    assert {item.value for item in Reason} == {
        "backend_unavailable", "no_capability_reported", "domain_unsupported",
        "observe_only_for_prevention_requirement", "decision_too_late", "decision_not_synchronous",
        "no_evidence_produced", "descendant_coverage_insufficient", "prerequisite_unsatisfied",
        "evidence_quality_below_minimum",
    }  # fmt: skip


# --- a backend that is not there ---


class Unasked(BackendCapabilities):
    """Capabilities that fail the test when anybody looks a report up."""

    def report_for(self, domain: object) -> Optional[CapabilityReport]:
        raise AssertionError("a backend that is unavailable was asked about a domain")

    def report_on(self, requirement: object) -> Optional[CapabilityReport]:
        raise AssertionError("a backend that is unavailable was asked about a requirement")


@pytest.mark.parametrize("requirements", [(), (wanted(),), (wanted(posture=Posture.OPTIONAL), wanted(NETWORK))])
def test_an_unavailable_backend_is_refused_at_once_and_evaluates_nothing(
    requirements: Tuple[Requirement, ...],
) -> None:
    found = Unasked(PROVENANCE, PlatformBoundary.SHARED_HOST_KERNEL, "no kernel here", (capable(),))
    verdict = negotiate(found, requirements)
    assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.SELECTION
    assert verdict.text == "no kernel here"
    assert [(item.domain, item.reason, item.detail) for item in verdict.shortfalls] == [
        (None, Reason.BACKEND_UNAVAILABLE, "no kernel here")
    ]


# --- everything that is unmet ---


def test_a_refusal_lists_everything_that_is_unmet_in_the_order_in_which_it_was_stated() -> None:
    requirements = tuple(wanted(domain, stated_by=f"node of {domain.value}") for domain in reversed(DOMAINS))
    verdict = negotiate(backend(capable()), requirements)
    assert isinstance(verdict, Refusal)
    unmet = [domain for domain in reversed(DOMAINS) if domain is not READ]
    assert [item.domain for item in verdict.shortfalls] == unmet
    assert [item.stated_by for item in verdict.shortfalls] == [f"node of {domain.value}" for domain in unmet]
    first, *lines = verdict.text.splitlines()
    assert first == "the `stand-in` backend cannot meet what is required:"
    for domain, line in zip(unmet, lines):
        assert line.startswith(f"  - {domain.value} (node of {domain.value}): ")


def test_two_unmet_requirements_of_one_domain_are_both_listed() -> None:
    found = backend(unsupported(READ, "no mechanism"))
    verdict = negotiate(found, (wanted(stated_by="a"), wanted(scope=permit_only(("/x",)), stated_by="b")))
    assert isinstance(verdict, Refusal) and [item.stated_by for item in verdict.shortfalls] == ["a", "b"]


def test_what_may_go_unmet_is_no_part_of_a_refusal_and_hides_none() -> None:
    requirements = (
        wanted(NETWORK, posture=Posture.OPTIONAL), wanted(WRITE, posture=Posture.DEGRADE_IF_UNAVAILABLE),
        wanted(RESOURCE), wanted(),
    )  # fmt: skip
    verdict = negotiate(backend(capable()), requirements)
    assert isinstance(verdict, Refusal) and [item.domain for item in verdict.shortfalls] == [RESOURCE]


# --- postures ---

NOTHING: Dict[str, Any] = {
    "mediation": Mediation.NONE, "timing": DecisionTiming.NONE, "synchrony": Synchrony.NONE,
}  # fmt: skip

WATCHING: Dict[str, Any] = {
    "mediation": Mediation.OBSERVE, "timing": DecisionTiming.POST, "synchrony": Synchrony.BEST_EFFORT,
}  # fmt: skip
NONE_ACHIEVED = (DecisionTiming.NONE, DescendantCoverage.UNMEASURED)
TREE = DescendantCoverage.PROCESS_TREE
OFFERED: Dict[str, Tuple[Optional[CapabilityReport], Tuple[DecisionTiming, DescendantCoverage]]] = {
    "silence": (None, NONE_ACHIEVED),
    "unsupported": (unsupported(READ, "no mechanism"), NONE_ACHIEVED),
    "nothing there": (capable(**NOTHING), NONE_ACHIEVED),
    "watched after the fact": (capable(**WATCHING), (DecisionTiming.POST, TREE)),
    "watched in the target alone": (
        capable(**WATCHING, descendants=DescendantCoverage.TARGET_PROCESS_ONLY),
        (DecisionTiming.POST, DescendantCoverage.TARGET_PROCESS_ONLY),
    ),
    "decided in line": (capable(timing=DecisionTiming.IN_LINE), (DecisionTiming.IN_LINE, TREE)),
    "prevented, unless a prerequisite fails": (
        capable(prerequisites=lacking(UNCHECKED)), (DecisionTiming.PRE, TREE),
    ),
    "watched by what nobody validated": (capable(**WATCHING, maturity=Maturity.EXPERIMENTAL), NONE_ACHIEVED),
    "prevented by what nobody validated": (capable(maturity=Maturity.EXPERIMENTAL), NONE_ACHIEVED),
    "prevented by what nobody built": (capable(maturity=Maturity.PLANNED), NONE_ACHIEVED),
}  # fmt: skip


@pytest.mark.parametrize("offered", OFFERED)
def test_without_permission_a_shortfall_is_a_refusal(offered: str) -> None:
    item = OFFERED[offered][0]
    assert len(reasons(negotiate(backend(*[item] if item else []), (wanted(),)))) == 1


@pytest.mark.parametrize("offered", OFFERED)
def test_a_degraded_outcome_carries_what_was_asked_and_what_is_achieved(offered: str) -> None:
    item, achieved = OFFERED[offered]
    requirement = wanted(posture=Posture.DEGRADE_IF_UNAVAILABLE, stated_by="a node")
    plan = plan_of(negotiate(backend(*[item] if item else []), (requirement,)))
    (outcome,) = plan.outcomes
    assert plan.posture is LaunchPosture.DEGRADED
    assert outcome.kind is OutcomeKind.DEGRADED and outcome.requirement == requirement
    assert (outcome.timing, outcome.descendants) == achieved
    assert outcome.shortfall is not None and plan.shortfalls == (outcome.shortfall,)
    assert outcome.shortfall.domain is READ and outcome.shortfall.stated_by == "a node"
    refused = negotiate(backend(*[item] if item else []), (wanted(stated_by="a node"),))
    assert isinstance(refused, Refusal) and refused.shortfalls == (outcome.shortfall,)  # the same reason, in full


@pytest.mark.parametrize("offered", OFFERED)
def test_an_optional_requirement_that_is_unmet_achieves_nothing(offered: str) -> None:
    item = OFFERED[offered][0]
    plan = plan_of(negotiate(backend(*[item] if item else []), (wanted(posture=Posture.OPTIONAL),)))
    (outcome,) = plan.outcomes
    assert plan.posture is LaunchPosture.DEGRADED
    assert outcome.kind is OutcomeKind.UNMET and outcome.shortfall is not None
    assert (outcome.timing, outcome.descendants) == NONE_ACHIEVED


@pytest.mark.parametrize("intent", list(Intent))
@pytest.mark.parametrize("posture", list(Posture))
def test_what_is_met_is_met_under_every_posture(intent: Intent, posture: Posture) -> None:
    plan = plan_of(negotiate(backend(capable()), (wanted(intent=intent, posture=posture),)))
    (outcome,) = plan.outcomes
    kind = OutcomeKind.ENFORCED if intent is Intent.PREVENT_BEFORE_EFFECT else OutcomeKind.OBSERVED
    assert (outcome.kind, outcome.timing, outcome.descendants) == (kind, DecisionTiming.PRE, TREE)
    assert outcome.shortfall is None and plan.posture is LaunchPosture.READY


def test_what_is_only_watched_is_never_called_enforced() -> None:
    for mediation, timing, synchrony in itertools.product(Mediation, DecisionTiming, Synchrony):
        item = capable(mediation=mediation, timing=timing, synchrony=synchrony)
        verdict = negotiate(backend(item), (wanted(),))
        holds = (mediation, timing, synchrony) == (Mediation.ENFORCE, DecisionTiming.PRE, Synchrony.SYNC)
        assert isinstance(verdict, EnforcementPlan) is holds, item
        observed = negotiate(backend(item), (wanted(intent=Intent.OBSERVE),))
        kinds = {outcome.kind for outcome in observed.outcomes} if isinstance(observed, EnforcementPlan) else set()
        assert kinds <= {OutcomeKind.OBSERVED}


def test_permission_to_degrade_one_requirement_is_no_permission_for_another() -> None:
    found = backend(unsupported(READ, "none"), unsupported(WRITE, "none"))
    for posture in (Posture.DEGRADE_IF_UNAVAILABLE, Posture.OPTIONAL):
        verdict = negotiate(found, (wanted(READ, posture=posture), wanted(WRITE)))
        assert isinstance(verdict, Refusal) and [item.domain for item in verdict.shortfalls] == [WRITE]


# --- what a plan says ---


def test_the_ceiling_of_every_outcome() -> None:
    assert {kind.value: term for kind, term in OUTCOME_CEILING.items()} == {
        "enforced": ClaimTerm.DENIED_BEFORE_EXECUTION,
        "observed": ClaimTerm.OBSERVED,
        "degraded": ClaimTerm.DEGRADED,
        "unmet": ClaimTerm.UNMEASURED,
    }
    assert set(OUTCOME_CEILING) == set(OutcomeKind)


@pytest.mark.parametrize(
    "item, words",
    [
        (capable(), "a wall around filesystem_read"),
        (capable(mediation=Mediation.OBSERVE), "a wall around filesystem_read"),
        (capable(mechanism=""), ""),
        (unsupported(READ, "no mechanism at all"), "no mechanism at all"),
        (None, ""),
    ],
)
@pytest.mark.parametrize("posture", [Posture.DEGRADE_IF_UNAVAILABLE, Posture.OPTIONAL])
def test_the_backends_own_words_are_kept_for_shortfalls_as_well(
    item: Optional[CapabilityReport], words: str, posture: Posture
) -> None:
    plan = plan_of(negotiate(backend(*[item] if item else []), (wanted(posture=posture),)))
    assert [outcome.lowering for outcome in plan.outcomes] == [words]


def test_a_plan_names_its_backend_its_floor_and_every_requirement_in_order() -> None:
    requirements = (wanted(WRITE), wanted(NETWORK, posture=Posture.OPTIONAL), wanted(READ), wanted(WRITE))
    found = backend(capable(READ), capable(WRITE))
    plan = plan_of(negotiate(found, requirements, ("no kernel modules",)))
    assert plan.backend == found and plan.backend.provenance == PROVENANCE
    assert plan.floor == ("no kernel modules",)
    assert tuple(outcome.requirement for outcome in plan.outcomes) == requirements
    assert [outcome.kind.value for outcome in plan.outcomes] == ["enforced", "unmet", "enforced", "enforced"]


def test_asking_for_nothing_is_a_plan_without_outcomes() -> None:
    plan = plan_of(negotiate(backend(capable()), ()))
    assert plan.outcomes == () and plan.shortfalls == ()


def test_a_plan_is_a_value_that_nothing_can_change() -> None:
    plan = plan_of(negotiate(backend(capable()), (wanted(),)))
    assert hash(plan) == hash(plan_of(negotiate(backend(capable()), (wanted(),))))


# --- narrowed reports ---

SMALL, LARGE = (wanted(RESOURCE, scope=ceilings(ResourceLimits(max_pids=number))) for number in (1, 9))


def test_a_requirement_has_its_own_report_and_sinks_no_sibling() -> None:
    found = narrowed(backend(capable(RESOURCE)), {SMALL: unsupported(RESOURCE, "one is too few")})
    assert found.report_on(SMALL) == unsupported(RESOURCE, "one is too few")
    assert found.report_on(LARGE) == capable(RESOURCE) == found.report_for(RESOURCE)
    assert found.report_on(wanted(NETWORK)) is None
    verdict = negotiate(found, (SMALL, LARGE))
    assert isinstance(verdict, Refusal)
    assert [item.detail for item in verdict.shortfalls] == ["one is too few"]
    assert reasons(negotiate(found, (LARGE,))) == []


def test_what_a_domain_cannot_do_one_requirement_of_it_may() -> None:
    found = narrowed(backend(unsupported(RESOURCE, "not in general")), {SMALL: capable(RESOURCE)})
    optional = LARGE._replace(posture=Posture.OPTIONAL)
    plan = plan_of(negotiate(found, (SMALL, optional)))
    assert [outcome.kind for outcome in plan.outcomes] == [OutcomeKind.ENFORCED, OutcomeKind.UNMET]
