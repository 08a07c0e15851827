# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Negotiation: every reason for a refusal, in its order, and the native backend over every version of the kernel."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict

import pytest
from support.host import facts_for_abi

from aasm._sys import landlock
from aasm.backends.native import capability, floor
from aasm.model.domains import (
    BackendCapabilities,
    CapabilityDomain as Domain,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Mediation,
    PlatformBoundary,
    Prerequisite,
    PrerequisiteStatus,
    Synchrony,
    capabilities,
    report,
    unsupported,
)
from aasm.model.plan import EnforcementPlan, LaunchPosture, OutcomeKind, Refusal, RefusalKind, RefusalReason as Reason
from aasm.model.requirements import (
    WHOLE,
    DescendantRequirement,
    EvidenceMinimum,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    permit_only,
)
from aasm.planner import below_minimum, negotiate

D = Domain.FILESYSTEM_READ
OTHER = Domain.NETWORK_EGRESS


def full(**changes: Any) -> CapabilityReport:
    """Return a report that meets everything, but for the changes."""
    made = report(
        D, Mediation.ENFORCE, DecisionTiming.PRE, Synchrony.SYNC, FailurePosture.FAIL_CLOSED,
        DescendantCoverage.PROCESS_TREE,
    )  # fmt: skip
    return made._replace(**changes)


def backend(*reports: CapabilityReport, unavailable: str = "") -> BackendCapabilities:
    return capabilities(capability.PROVENANCE, PlatformBoundary.SHARED_HOST_KERNEL, reports, unavailable)


def wanted(domain: Domain = D, **changes: Any) -> Requirement:
    return Requirement(domain, WHOLE)._replace(**changes)


def lacking(status: PrerequisiteStatus) -> tuple[Prerequisite, ...]:
    met = Prerequisite("met", PrerequisiteStatus.SATISFIED)
    return met, Prerequisite("a mounted thing", status, "not there")


# Each report lacks what its reason names and everything that comes later in the order as well.
LATER: Dict[str, Any] = {"descendants": DescendantCoverage.UNMEASURED}
TOO_LITTLE: Dict[Reason, Callable[[], tuple[BackendCapabilities, Requirement]]] = {
    Reason.BACKEND_UNAVAILABLE: lambda: (backend(full(), unavailable="no kernel"), wanted()),
    Reason.NO_CAPABILITY_REPORTED: lambda: (backend(full()._replace(domain=OTHER)), wanted()),
    Reason.DOMAIN_UNSUPPORTED: lambda: (backend(unsupported(D, "no mechanism")), wanted()),
    Reason.OBSERVE_ONLY_FOR_PREVENTION_REQUIREMENT: lambda: (
        backend(full(mediation=Mediation.OBSERVE, timing=DecisionTiming.POST, synchrony=Synchrony.NONE, **LATER)),
        wanted(),
    ),
    Reason.DECISION_TOO_LATE: lambda: (
        backend(full(timing=DecisionTiming.IN_LINE, synchrony=Synchrony.BEST_EFFORT, **LATER)), wanted(),
    ),
    Reason.DECISION_NOT_SYNCHRONOUS: lambda: (
        backend(full(synchrony=Synchrony.BEST_EFFORT, prerequisites=lacking(PrerequisiteStatus.UNSATISFIED), **LATER)),
        wanted(),
    ),
    Reason.PREREQUISITE_UNSATISFIED: lambda: (
        backend(full(prerequisites=lacking(PrerequisiteStatus.UNCHECKED), **LATER)), wanted(),
    ),
    Reason.NO_EVIDENCE_PRODUCED: lambda: (
        backend(full(mediation=Mediation.NONE, timing=DecisionTiming.NONE, **LATER)), wanted(intent=Intent.OBSERVE),
    ),
    Reason.DESCENDANT_COVERAGE_INSUFFICIENT: lambda: (
        backend(full(descendants=DescendantCoverage.TARGET_PROCESS_ONLY)), wanted(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", TOO_LITTLE, ids=lambda reason: reason.value)
def test_every_reason_is_given_when_it_is_the_first(reason: Reason) -> None:
    found, requirement = TOO_LITTLE[reason]()
    verdict = negotiate(found, (requirement,))
    assert isinstance(verdict, Refusal)
    assert [item.reason for item in verdict.shortfalls] == [reason]
    unavailable = reason is Reason.BACKEND_UNAVAILABLE
    assert verdict.shortfalls[0].domain is (None if unavailable else D)
    assert verdict.kind is (RefusalKind.SELECTION if unavailable else RefusalKind.NEGOTIATION)
    assert verdict.shortfalls[0].detail and verdict.shortfalls[0].detail in verdict.text


def test_no_reason_is_left_out() -> None:
    assert [*TOO_LITTLE, Reason.EVIDENCE_QUALITY_BELOW_MINIMUM] == list(Reason)


@pytest.mark.parametrize("status", [PrerequisiteStatus.UNSATISFIED, PrerequisiteStatus.UNCHECKED])
def test_a_prerequisite_that_nobody_checked_does_not_hold(status: PrerequisiteStatus) -> None:
    verdict = negotiate(backend(full(prerequisites=lacking(status))), (wanted(),))
    assert isinstance(verdict, Refusal)
    assert verdict.shortfalls[0].detail == f"a mounted thing: {status.value} (not there)"
    met = tuple(item._replace(status=PrerequisiteStatus.SATISFIED) for item in lacking(status))
    assert isinstance(negotiate(backend(full(prerequisites=met)), (wanted(),)), EnforcementPlan)


def test_a_refusal_lists_everything_that_is_unmet() -> None:
    requirements = tuple(wanted(domain) for domain in Domain)
    verdict = negotiate(backend(full()), requirements)
    assert isinstance(verdict, Refusal)
    assert [item.domain for item in verdict.shortfalls] == [domain for domain in Domain if domain is not D]
    assert all(domain.value in verdict.text for domain in Domain if domain is not D)


# --- what may be missing ---


@pytest.mark.parametrize("posture", [Posture.DEGRADE_IF_UNAVAILABLE, Posture.OPTIONAL])
@pytest.mark.parametrize("item", [unsupported(D, "none"), full(mediation=Mediation.OBSERVE)], ids=["none", "observed"])
def test_only_a_requirement_that_says_so_may_go_unmet(posture: Posture, item: CapabilityReport) -> None:
    plan = negotiate(backend(item), (wanted(posture=posture),))
    assert isinstance(plan, EnforcementPlan) and plan.posture is LaunchPosture.DEGRADED
    outcome = plan.outcomes[0]
    degrades = posture is Posture.DEGRADE_IF_UNAVAILABLE
    assert outcome.kind is (OutcomeKind.DEGRADED if degrades else OutcomeKind.UNMET)
    assert outcome.shortfall is not None and outcome.requirement.intent is Intent.PREVENT_BEFORE_EFFECT
    seen = degrades and item.mediation is Mediation.OBSERVE
    assert outcome.timing is (item.timing if seen else DecisionTiming.NONE)
    assert isinstance(negotiate(backend(item), (wanted(),)), Refusal)


def test_an_optional_requirement_never_hides_a_required_one() -> None:
    verdict = negotiate(backend(full()), (wanted(OTHER, posture=Posture.OPTIONAL), wanted(Domain.IPC), wanted()))
    assert isinstance(verdict, Refusal) and [item.domain for item in verdict.shortfalls] == [Domain.IPC]


def test_what_is_only_watched_is_never_called_enforced() -> None:
    item = full(mediation=Mediation.OBSERVE, timing=DecisionTiming.POST)
    plan = negotiate(backend(item), (wanted(intent=Intent.OBSERVE),))
    assert isinstance(plan, EnforcementPlan) and plan.outcomes[0].kind is OutcomeKind.OBSERVED
    assert plan.posture is LaunchPosture.READY


@pytest.mark.parametrize("coverage", list(DescendantCoverage))
@pytest.mark.parametrize("asked", list(DescendantRequirement))
def test_descendants(coverage: DescendantCoverage, asked: DescendantRequirement) -> None:
    verdict = negotiate(backend(full(descendants=coverage)), (wanted(descendants=asked),))
    enough = coverage is DescendantCoverage.PROCESS_TREE or coverage.value == asked.value
    assert isinstance(verdict, EnforcementPlan) == enough


# --- the minimum of evidence ---

CLOSED, OPEN = FailurePosture.FAIL_CLOSED, FailurePosture.FAIL_OPEN
SILENT, CUT, NEVER = FailurePosture.FAIL_OPEN_SILENT, FailurePosture.SILENT_TRUNCATION, FailurePosture.NOT_APPLICABLE
FROM_WORST = (SILENT, CUT, OPEN, CLOSED)


@pytest.mark.parametrize("asked, found", list(itertools.product((*FROM_WORST, NEVER), repeat=2)))
def test_a_failure_posture_below_the_minimum_rejects(asked: FailurePosture, found: FailurePosture) -> None:
    short = below_minimum(backend(full(failure=found)), {D: EvidenceMinimum(failure=asked)})
    comparable = NEVER not in (asked, found)
    enough = asked is found or (comparable and FROM_WORST.index(found) >= FROM_WORST.index(asked))
    assert [item.reason for item in short] == ([] if enough else [Reason.EVIDENCE_QUALITY_BELOW_MINIMUM])


def test_silence_fails_any_minimum_and_full_support_is_full() -> None:
    assert len(below_minimum(backend(), {D: EvidenceMinimum(), OTHER: EvidenceMinimum()})) == 2
    assert below_minimum(backend(full()), {D: EvidenceMinimum(full_support=True)}) == ()
    limited = capability.capabilities_of(facts_for_abi(7))
    assert len(below_minimum(limited, {D: EvidenceMinimum(full_support=True)})) == 1
    assert below_minimum(limited, {D: EvidenceMinimum(failure=CLOSED)}) == ()


# --- the native backend, over every kernel ---

ALL_HELD = (
    wanted(Domain.FILESYSTEM_READ, scope=permit_only(("/usr",))),
    wanted(Domain.FILESYSTEM_WRITE),
    wanted(Domain.NETWORK_EGRESS),
    wanted(Domain.SYSCALL, scope=permit_only(("read",))),
    wanted(Domain.PROCESS_CREATION),
)
NEVER_HELD = (
    wanted(Domain.NETWORK_EGRESS, scope=permit_only(("host",))),
    wanted(Domain.SYSCALL),
    *(wanted(domain) for domain in capability.MISSING),
)
SETS = [subset for size in range(1, 6) for subset in itertools.combinations(ALL_HELD, size)]
EVERY_ABI = range(0, landlock.NEWEST_ABI + 2)  # one that the table does not know yet, too


def plan_for(abi: int, requirements: tuple[Requirement, ...], lost: int = 0) -> EnforcementPlan | Refusal:
    facts = facts_for_abi(abi)
    facts = facts._replace(landlock=facts.landlock._replace(fs=facts.landlock.fs & ~lost))
    found = capability.narrow(capability.capabilities_of(facts), requirements)
    return negotiate(found, requirements, floor.describe())


@pytest.mark.parametrize("abi", EVERY_ABI)
def test_every_statement_is_either_held_as_a_whole_or_the_launch_is_refused(abi: int) -> None:
    for requirements in SETS:
        verdict = plan_for(abi, requirements)
        if abi < 6:
            assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.SELECTION
            continue
        assert isinstance(verdict, EnforcementPlan) and verdict.posture is LaunchPosture.READY
        assert {outcome.kind for outcome in verdict.outcomes} == {OutcomeKind.ENFORCED}
        assert tuple(outcome.requirement for outcome in verdict.outcomes) == requirements
        assert verdict.floor == floor.describe()


STRENGTH = (OutcomeKind.UNMET, OutcomeKind.DEGRADED, OutcomeKind.OBSERVED, OutcomeKind.ENFORCED)


def strengths(verdict: EnforcementPlan | Refusal) -> list[int]:
    """Return how strong each outcome is; a refusal is weaker than any plan, since nothing runs."""
    return [STRENGTH.index(item.kind) for item in verdict.outcomes] if isinstance(verdict, EnforcementPlan) else [-1]


@pytest.mark.parametrize("posture", list(Posture))
def test_a_newer_kernel_never_gives_a_weaker_plan(posture: Posture) -> None:
    for requirements in (*SETS, *((item,) for item in NEVER_HELD)):
        asked = tuple(item._replace(posture=posture) for item in requirements)
        found = [strengths(plan_for(abi, asked)) for abi in EVERY_ABI]
        for older, newer in zip(found, found[1:]):
            assert older == [-1] or all(weak <= strong for weak, strong in zip(older, newer)), asked


@pytest.mark.parametrize("bit", range(16))
def test_losing_a_right_never_gives_a_plan_that_needs_it(bit: int) -> None:
    lost = 1 << bit
    if lost & landlock.rights_known(7).fs:
        for domain, needed in (
            (Domain.FILESYSTEM_READ, landlock.READ_RIGHTS),
            (Domain.FILESYSTEM_WRITE, landlock.WRITE_RIGHTS | landlock.NEVER_GRANTED),
        ):
            verdict = plan_for(7, (wanted(domain),), lost)
            assert isinstance(verdict, Refusal) == bool(needed & lost), (landlock.names(lost, "fs"), domain)


@pytest.mark.parametrize("requirement", NEVER_HELD, ids=lambda item: item.domain.value)
@pytest.mark.parametrize("abi", [6, 9])
def test_what_this_backend_cannot_hold_is_refused_on_every_kernel(requirement: Requirement, abi: int) -> None:
    verdict = plan_for(abi, (requirement,))
    assert isinstance(verdict, Refusal)
    assert [item.reason for item in verdict.shortfalls] == [Reason.DOMAIN_UNSUPPORTED]
    first, second = verdict.text.splitlines()
    assert first == "the `aasm-native` backend cannot meet what the policy requires:"
    assert second.startswith(f"  - {requirement.domain.value}: ")
