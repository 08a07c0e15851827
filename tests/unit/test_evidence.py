# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What may be claimed: nothing before a run, setup evidence only once sealed, and prevention nowhere."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Optional, Tuple

import pytest
from support.contract import NETWORK, READ, RESOURCE, WRITE, capable, outcome
from support.runs import after, record, resolution, resolved, run_of

from aasm import evidence
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain, capabilities
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
)
from aasm.model.plan import (
    EnforcementPlan,
    Outcome,
    OutcomeKind,
    Refusal,
    RefusalKind,
    RefusalReason,
    Shortfall,
)
from aasm.model.record import Ending
from aasm.model.report import ControlState, DomainLine, ReportStage, UnmeasuredReason
from aasm.model.requirements import Requirement, RequirementPosture as Posture, ResourceLimits, permit_only
from aasm.model.resolved import ResolvedRun, SpawnSpec

PRE, POST = ReportStage.PRE_LAUNCH, ReportStage.POST_RUN
ENFORCED, OBSERVED, DEGRADED, UNMET = OutcomeKind
BASE = resolved()


INSTALLED = EvidenceRecord(EvidenceKind.INSTALLED, READ, ClaimTerm.PLANNED, "rules")
SPEC = SpawnSpec(b"", b"", False, (), (), (INSTALLED,))


def line_of(
    run: ResolvedRun,
    domain: Domain,
    found: Optional[EnforcementEvidence] = None,
    stage: ReportStage = PRE,
) -> DomainLine:
    made = evidence.report(run, evidence.planned(run) if found is None else found, stage)
    return made.domains[DOMAINS.index(domain)]


# --- before the launch ---


def test_a_plan_alone_claims_no_coverage() -> None:
    run = run_of(outcome(READ), outcome(WRITE))
    report = evidence.report(run, evidence.planned(run), PRE)
    assert [line.domain for line in report.domains] == list(DOMAINS)
    for line in report.domains:
        assert not asserts_coverage(line.claim)
        assert line.basis in (EvidenceBasis.NONE, EvidenceBasis.SETUP_ONLY)
        met = line.domain in (READ, WRITE)
        assert line.claim is (ClaimTerm.PLANNED if met else ClaimTerm.UNMEASURED)


@pytest.mark.parametrize("kind", list(OutcomeKind), ids=lambda kind: str(kind.value))
def test_no_evidence_whatever_lets_a_report_before_the_launch_assert_coverage(kind: OutcomeKind) -> None:
    for found_kind, term in itertools.product(EvidenceKind, ClaimTerm):
        found = EnforcementEvidence((EvidenceRecord(found_kind, READ, term, ""),))
        assert CLAIM_RANK[line_of(run_of(outcome(READ, kind)), READ, found, PRE).claim] == 0


def test_the_evidence_of_a_plan_is_configured_and_keeps_every_shortfall_visible() -> None:
    kinds = {READ: ENFORCED, WRITE: OBSERVED, NETWORK: DEGRADED, RESOURCE: UNMET}
    found = evidence.planned(run_of(*(outcome(domain, kind) for domain, kind in kinds.items())))
    assert {item.kind for item in found.records} == {EvidenceKind.CONFIGURED}
    assert [(item.domain, item.claim) for item in found.records] == [
        (READ, ClaimTerm.PLANNED), (WRITE, ClaimTerm.PLANNED), (NETWORK, ClaimTerm.DEGRADED),
        (RESOURCE, ClaimTerm.UNMEASURED),
    ]  # fmt: skip


def test_a_degraded_record_carries_both_levels() -> None:
    (found,) = evidence.planned(run_of(outcome(WRITE, DEGRADED))).records
    for words in ("prevent_before_effect", "observed(pre, process_tree)", "domain_unsupported"):
        assert words in found.detail


def test_the_evidence_of_a_refusal_is_the_refusal() -> None:
    lacking = (
        Shortfall(None, RefusalReason.BACKEND_UNAVAILABLE, "no kernel"),
        Shortfall(NETWORK, RefusalReason.DOMAIN_UNSUPPORTED, "no mechanism"),
    )
    run = BASE._replace(plan=None, refusal=Refusal(RefusalKind.NEGOTIATION, "refused", lacking))
    found = evidence.planned(run)
    assert [(item.kind, item.domain, item.claim) for item in found.records] == [
        (EvidenceKind.CONFIGURED, None, ClaimTerm.UNSUPPORTED),  # an unavailable backend speaks of no domain
        (EvidenceKind.CONFIGURED, NETWORK, ClaimTerm.UNSUPPORTED),
    ]
    assert line_of(run, NETWORK).claim is ClaimTerm.UNSUPPORTED
    assert line_of(run, READ).claim is ClaimTerm.UNMEASURED


# --- after the run ---


def test_nothing_counts_as_installed_before_the_seal() -> None:
    found = evidence.collect(run_of(outcome(READ)), SPEC, record(sealed=False, file_read="held"))
    assert {item.kind for item in found.records} == {EvidenceKind.CONFIGURED}


@pytest.mark.parametrize("result", ["not_applicable", "inconclusive", "breached"])
def test_only_a_canary_that_held_is_evidence_of_the_run(result: str) -> None:
    run = run_of(outcome(READ))
    without = evidence.collect(run, SPEC, record(file_read=result))
    assert basis_for(without, READ) is EvidenceBasis.SETUP_ONLY
    assert line_of(run, READ, without, POST).claim is ClaimTerm.PLANNED
    held = evidence.collect(run, SPEC, record(file_read="held"))
    assert basis_for(held, READ) is EvidenceBasis.RUNTIME_WITHOUT_DECISION
    assert claim_for(held, READ) is line_of(run, READ, held, POST).claim is ClaimTerm.OBSERVED


def test_a_canary_speaks_for_its_own_domain_only() -> None:
    found = evidence.collect(run_of(outcome(READ)), SPEC, record(file_read="held", file_write="held", call="held"))
    assert basis_for(found, WRITE) is EvidenceBasis.NONE
    assert basis_for(found, Domain.SYSCALL) is EvidenceBasis.NONE
    assert len([item for item in found.records if item.domain is None]) == 2  # they exercised the floor


def test_prevention_is_supported_nowhere_in_this_release() -> None:
    run = run_of(*(outcome(domain) for domain in DOMAINS))
    found = evidence.collect(run, SPEC, record(file_read="held", file_write="held", call="held"))
    report = evidence.report(run, found, POST)
    assert not any(line.prevention_supported for line in report.domains)
    assert ClaimTerm.DENIED_BEFORE_EXECUTION not in {line.claim for line in report.domains}


def test_the_clock_that_ended_a_run_is_detected_and_never_prevention() -> None:
    found = resolution(ceilings=ResourceLimits(max_wall_clock_seconds=5))
    gathered = evidence.collect(found.run, SPEC, record(ending=Ending.WALL_CLOCK))
    about = [item for item in gathered.about(RESOURCE) if item.kind is not EvidenceKind.CONFIGURED]
    assert [(item.kind, item.claim) for item in about] == [(EvidenceKind.EXERCISED, ClaimTerm.DETECTED)]
    assert "after 5 s" in about[0].detail
    line = line_of(found.run, RESOURCE, gathered, POST)
    assert (line.state, line.claim) == (ControlState.OBSERVE_ONLY, ClaimTerm.DETECTED)
    assert line_of(found.run, RESOURCE, gathered, PRE).claim is not ClaimTerm.DETECTED
    in_time = evidence.collect(found.run, SPEC, record())
    assert {item.kind for item in in_time.about(RESOURCE)} == {EvidenceKind.CONFIGURED}


def test_a_whole_run_of_the_native_backend_claims_what_its_canaries_showed() -> None:
    lines = after(resolution(), file_read="held", file_write="inconclusive", call="held").domains
    found = {line.domain: (line.claim, line.basis) for line in lines}
    assert found.pop(READ) == (ClaimTerm.OBSERVED, EvidenceBasis.RUNTIME_WITHOUT_DECISION)
    assert found.pop(WRITE) == (ClaimTerm.PLANNED, EvidenceBasis.SETUP_ONLY)
    assert set(found.values()) == {(ClaimTerm.UNMEASURED, EvidenceBasis.NONE)}


# --- folding ---

STATE = {
    ENFORCED: (ControlState.PREVENTION, 4), OBSERVED: (ControlState.OBSERVE_ONLY, 3),
    DEGRADED: (ControlState.DEGRADED, 1), UNMET: (ControlState.UNSUPPORTED, 0),
}  # fmt: skip


PAIRS = list(itertools.product(OutcomeKind, repeat=2))


@pytest.mark.parametrize("kinds", PAIRS, ids=lambda kinds: f"{kinds[0].value}-{kinds[1].value}")
def test_several_requirements_for_one_domain_fold_to_the_weakest(kinds: Tuple[OutcomeKind, OutcomeKind]) -> None:
    weakest, _ = min((STATE[kind] for kind in kinds), key=lambda pair: pair[1])
    line = line_of(run_of(*(outcome(READ, kind, f"/{kind.value}") for kind in kinds)), READ)
    assert line.state is weakest
    if weakest is ControlState.DEGRADED:
        assert "planned=prevent_before_effect" in line.state_detail and "achieved=observed(pre" in line.state_detail
    alone = {line_of(run_of(outcome(READ, kind)), READ).state for kind in kinds}
    assert weakest in alone


def test_a_domain_is_not_lowered_by_another_one() -> None:
    run = run_of(outcome(READ), outcome(WRITE, UNMET))
    assert line_of(run, READ).state is ControlState.PREVENTION
    assert line_of(run, WRITE).state is ControlState.UNSUPPORTED


# --- what a state and a stage bear ---


def bounded_by_the_contract(claim: ClaimTerm, state: ControlState, stage: ReportStage) -> ClaimTerm:
    covers = CLAIM_RANK[claim] > 0
    if not covers:
        return claim
    if stage is PRE or state in (ControlState.UNSUPPORTED, ControlState.UNMEASURED):
        return ClaimTerm.UNMEASURED
    if claim is ClaimTerm.DENIED_BEFORE_EXECUTION and state in (ControlState.DEGRADED, ControlState.OBSERVE_ONLY):
        return ClaimTerm.EVALUATED
    return claim


@pytest.mark.parametrize("stage", list(ReportStage), ids=lambda stage: str(stage.value))
@pytest.mark.parametrize("state", list(ControlState), ids=lambda state: str(state.value))
def test_every_claim_is_lowered_to_what_its_state_and_stage_bear(state: ControlState, stage: ReportStage) -> None:
    for claim in ClaimTerm:
        found = evidence.bounded(claim, state, stage)
        assert found is bounded_by_the_contract(claim, state, stage), claim
        assert CLAIM_RANK[found] <= CLAIM_RANK[claim]  # never raised
        prevention = found is ClaimTerm.DENIED_BEFORE_EXECUTION
        assert not prevention or (state, stage) == (ControlState.PREVENTION, POST)


DECIDED = EvidenceRecord(EvidenceKind.DECISION, READ, ClaimTerm.DENIED_BEFORE_EXECUTION, "one open refused")


@pytest.mark.parametrize("kind", list(OutcomeKind), ids=lambda kind: str(kind.value))
def test_a_decision_shows_prevention_only_where_the_plan_holds_all_that_was_asked(kind: OutcomeKind) -> None:
    line = line_of(run_of(outcome(READ, kind)), READ, EnforcementEvidence((DECIDED,)), POST)
    expected: Dict[OutcomeKind, ClaimTerm] = {
        ENFORCED: ClaimTerm.DENIED_BEFORE_EXECUTION, OBSERVED: ClaimTerm.EVALUATED, DEGRADED: ClaimTerm.EVALUATED,
        UNMET: ClaimTerm.UNMEASURED,
    }  # fmt: skip
    assert line.claim is expected[kind] and line.basis is EvidenceBasis.DECISION
    others = evidence.report(run_of(outcome(READ, kind)), EnforcementEvidence((DECIDED,)), POST).domains
    assert not any(item.prevention_supported or CLAIM_RANK[item.claim] for item in others if item.domain is not READ)


# --- what is not held within what is required ---


def test_limits_are_those_of_the_required_domains_alone() -> None:
    assert BASE.plan is not None
    reports = (capable(READ, limitations=("r1", "r2")), capable(WRITE, limitations=("w",)), capable(NETWORK))
    found = capabilities(BASE.plan.backend.provenance, BASE.plan.backend.boundary, reports)

    def limits(*outcomes: Outcome) -> Tuple[str, ...]:
        run = run_of(*outcomes)
        return evidence._limits(run._replace(plan=EnforcementPlan(found, outcomes), grants=()))

    assert limits(outcome(READ), outcome(READ, path="/b")) == ("filesystem_read: r1", "filesystem_read: r2")
    assert limits(outcome(WRITE), outcome(NETWORK)) == ("filesystem_write: w",)
    assert limits() == ()


@pytest.mark.parametrize("path, said", [("/proc", True), ("/", True), ("/proc/self", False), ("/process", False)])
def test_a_grant_of_proc_is_said_to_show_other_processes(path: str, said: bool) -> None:
    run = run_of(outcome(READ))
    granted: Any = run.grants[0]._replace(path=path, read=True)
    found = evidence.report(run._replace(grants=(granted,)), EnforcementEvidence(()), PRE).limits
    assert (evidence.PROC in found) is said


EVERYWHERE = ("filesystem_read: reading is granted everywhere", "filesystem_write: writing is granted everywhere")


@pytest.mark.parametrize(
    "path, read, write, said",
    [
        ("/", True, False, EVERYWHERE[:1]),
        ("/", False, True, EVERYWHERE[1:]),
        ("/", True, True, EVERYWHERE),
        ("/", False, False, ()),
        ("/usr", True, True, ()),
    ],
)
def test_a_grant_of_everything_is_said_to_hold_nothing(
    path: str, read: bool, write: bool, said: Tuple[str, ...]
) -> None:
    run = run_of(outcome(READ), outcome(WRITE))
    granted = run.grants[0]._replace(path=path, read=read, write=write)
    found = evidence._limits(run._replace(grants=(granted,)))
    assert tuple(text for text in found if text in EVERYWHERE) == said


def test_unmet_optional_requirements_have_a_reason_in_their_line() -> None:
    optional = Requirement(NETWORK, permit_only(("example.org",)), posture=Posture.OPTIONAL)
    run = resolved([Requirement(READ, permit_only(("/a",))), optional])
    line = line_of(run, NETWORK)
    assert line.state is ControlState.UNSUPPORTED and line.claim is ClaimTerm.UNMEASURED
    assert line.unmeasured_reason is None and "reason=domain_unsupported" in line.state_detail
    assert line_of(run, WRITE).unmeasured_reason is UnmeasuredReason.NO_CONTROL_REQUESTED
