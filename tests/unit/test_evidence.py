# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What may be claimed: nothing before a run, setup evidence only once sealed, and prevention nowhere."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from aasm import evidence
from aasm.model.domains import (
    DOMAINS,
    CapabilityDomain as Domain,
    DecisionTiming,
    DescendantCoverage,
    PlatformBoundary,
    Provenance,
    capabilities,
)
from aasm.model.environment import untouched
from aasm.model.evidence import (
    CLAIM_RANK,
    ClaimTerm,
    EnforcementEvidence,
    EvidenceBasis,
    EvidenceKind,
    EvidenceRecord,
    asserts_coverage,
    basis_for,
    claim_for,
    supports_prevention_claim,
)
from aasm.model.plan import EnforcementPlan, Outcome, OutcomeKind, RefusalReason, Shortfall
from aasm.model.record import Ending, RunRecord
from aasm.model.report import ControlState, ReportedPosture, ReportStage, RequestedControl, UnmeasuredReason
from aasm.model.requirements import WHOLE, CredentialPosture, ExecutionSpec, Identity, Requirement
from aasm.model.resolved import Coverage, Place, ResolvedPolicy, ResolvedRun, SpawnSpec

IDENTITY = Identity("agent", None, (), "session", "trace")
BACKEND = capabilities(Provenance("b", "1", "here", "Apache-2.0", False), PlatformBoundary.SHARED_HOST_KERNEL, ())
READ, WRITE = Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE


def outcome(domain: Domain, kind: OutcomeKind = OutcomeKind.ENFORCED) -> Outcome:
    short = None
    if kind in (OutcomeKind.DEGRADED, OutcomeKind.UNMET):
        short = Shortfall(domain, RefusalReason.DOMAIN_UNSUPPORTED, "none")
    timing = DecisionTiming.PRE if kind is not OutcomeKind.UNMET else DecisionTiming.NONE
    return Outcome(Requirement(domain, WHOLE), kind, timing, DescendantCoverage.PROCESS_TREE, short)


def run_of(*outcomes: Outcome, boundary: bool = True) -> ResolvedRun:
    stated = {item.requirement.domain for item in outcomes}
    coverage = tuple(
        Coverage(d, RequestedControl.STATED if d in stated else RequestedControl.NOT_STATED, "") for d in DOMAINS
    )
    requirements = tuple(item.requirement for item in outcomes)
    spec = ExecutionSpec("/bin/true", (), "/", IDENTITY, requirements, CredentialPosture())
    policy = ResolvedPolicy("enforced", "policy.yaml", "", "", ())
    plan = EnforcementPlan(BACKEND, outcomes, ("floor",)) if boundary else None
    return ResolvedRun(
        IDENTITY, "process", policy, coverage, spec, plan, "default", (), Place("/", 1, 2), (b"true",), (b"/bin/true",),
        untouched({}, {}), None, "/state/canary",
    )  # fmt: skip


def record(sealed: bool = True, ending: Ending = Ending.EXITED, **canaries: str) -> RunRecord:
    return RunRecord(ending, 0, None, 0, "exec", 0, sealed, canaries, 1, 2, None, 0)


INSTALLED = EvidenceRecord(EvidenceKind.INSTALLED, READ, ClaimTerm.PLANNED, "rules")
SPEC = SpawnSpec(b"", b"", False, (), (), (INSTALLED,))


def test_a_plan_alone_claims_no_coverage() -> None:
    run = run_of(outcome(READ), outcome(WRITE))
    report = evidence.report(run, evidence.planned(run), ReportStage.PRE_LAUNCH)
    assert [line.domain for line in report.domains] == list(DOMAINS)
    for line in report.domains:
        assert not asserts_coverage(line.claim)
        assert line.basis in (EvidenceBasis.NONE, EvidenceBasis.SETUP_ONLY)
    assert report.posture is ReportedPosture.READY


def test_nothing_counts_as_installed_before_the_seal() -> None:
    run = run_of(outcome(READ))
    found = evidence.collect(run, SPEC, record(sealed=False, file_read="held"))
    assert {item.kind for item in found.records} == {EvidenceKind.CONFIGURED}


@pytest.mark.parametrize("result", ["not_applicable", "inconclusive", "breached"])
def test_only_a_canary_that_held_is_evidence_of_the_run(result: str) -> None:
    run = run_of(outcome(READ))
    without = evidence.collect(run, SPEC, record(file_read=result))
    assert basis_for(without, READ) is EvidenceBasis.SETUP_ONLY
    held = evidence.collect(run, SPEC, record(file_read="held"))
    assert basis_for(held, READ) is EvidenceBasis.RUNTIME_WITHOUT_DECISION
    assert claim_for(held, READ) is ClaimTerm.OBSERVED


def test_a_canary_speaks_for_its_own_domain_only() -> None:
    found = evidence.collect(run_of(outcome(READ)), SPEC, record(file_read="held", file_write="held", call="held"))
    assert basis_for(found, WRITE) is EvidenceBasis.NONE
    assert basis_for(found, Domain.SYSCALL) is EvidenceBasis.NONE
    assert len([item for item in found.records if item.domain is None]) == 2  # they exercised the floor


def test_prevention_is_supported_nowhere_in_this_release() -> None:
    run = run_of(*(outcome(domain) for domain in DOMAINS))
    found = evidence.collect(run, SPEC, record(file_read="held", file_write="held", call="held"))
    report = evidence.report(run, found, ReportStage.POST_RUN)
    assert not any(line.prevention_supported for line in report.domains)
    assert ClaimTerm.DENIED_BEFORE_EXECUTION not in {line.claim for line in report.domains}


@pytest.mark.parametrize(
    ("kind", "term", "supported"),
    [
        (kind, term, kind is EvidenceKind.DECISION and term is ClaimTerm.DENIED_BEFORE_EXECUTION)
        for kind, term in itertools.product(EvidenceKind, ClaimTerm)
    ],
)
def test_only_a_decision_that_denied_supports_prevention(kind: EvidenceKind, term: ClaimTerm, supported: bool) -> None:
    found = EnforcementEvidence((EvidenceRecord(kind, READ, term, ""),))
    assert supports_prevention_claim(found, READ) is supported
    assert not supports_prevention_claim(found, WRITE)
    if term is ClaimTerm.DENIED_BEFORE_EXECUTION and not supported:
        assert claim_for(found, READ) is ClaimTerm.UNMEASURED


def test_the_strongest_run_time_claim_wins_and_degraded_never_outranks_an_observation() -> None:
    def both(*terms: ClaimTerm) -> ClaimTerm:
        records = tuple(EvidenceRecord(EvidenceKind.EXERCISED, READ, term, "") for term in terms)
        return claim_for(EnforcementEvidence(records), READ)

    assert both(ClaimTerm.OBSERVED, ClaimTerm.DETECTED) is ClaimTerm.DETECTED
    assert both(ClaimTerm.DEGRADED, ClaimTerm.OBSERVED) is ClaimTerm.OBSERVED
    assert both(ClaimTerm.DEGRADED) is ClaimTerm.UNMEASURED
    assert both() is ClaimTerm.UNMEASURED
    assert CLAIM_RANK[ClaimTerm.DEGRADED] < CLAIM_RANK[ClaimTerm.OBSERVED]


def test_no_boundary_is_said_and_is_never_ready() -> None:
    run = run_of(boundary=False)
    report = evidence.report(run, evidence.collect(run, None, record(sealed=False)), ReportStage.POST_RUN)
    assert report.posture is ReportedPosture.NO_BOUNDARY
    assert report.backend is None and report.requirement_count == 0 and not report.least_authority
    assert {line.unmeasured_reason for line in report.domains} == {UnmeasuredReason.NO_BACKEND_SELECTED}


def test_a_shortfall_degrades_and_carries_both_levels() -> None:
    run = run_of(outcome(READ), outcome(WRITE, OutcomeKind.DEGRADED))
    report = evidence.report(run, evidence.planned(run), ReportStage.PRE_LAUNCH)
    line = report.domains[DOMAINS.index(WRITE)]
    assert report.posture is ReportedPosture.DEGRADED
    assert line.state is ControlState.DEGRADED and line.claim is ClaimTerm.DEGRADED
    assert "planned=prevent_before_effect" in line.state_detail and "achieved=observed" in line.state_detail


def test_several_requirements_for_one_domain_fold_to_the_weakest() -> None:
    run = run_of(outcome(READ), outcome(READ, OutcomeKind.OBSERVED))
    line = evidence.report(run, evidence.planned(run), ReportStage.PRE_LAUNCH).domains[0]
    assert line.state is ControlState.OBSERVE_ONLY


def test_authority_left_to_the_program_makes_a_run_degraded() -> None:
    run = run_of(outcome(READ))
    left: Any = run.spec._replace(credentials=CredentialPosture(ambient_unremoved=("TOKEN",)))
    report = evidence.report(run._replace(spec=left), evidence.planned(run), ReportStage.PRE_LAUNCH)
    assert report.posture is ReportedPosture.DEGRADED and not report.least_authority
