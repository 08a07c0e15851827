# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From a plan and a run record to what may be claimed, and to the report. Pure; decides nothing about a launch."""

from __future__ import annotations

from typing import Mapping

from .model.domains import CapabilityDomain as Domain, DecisionTiming, DescendantCoverage
from .model.evidence import (
    ClaimTerm,
    EnforcementEvidence,
    EvidenceKind,
    EvidenceRecord,
    basis_for,
    claim_for,
    supports_prevention_claim,
)
from .model.plan import OUTCOME_CEILING, Outcome, OutcomeKind, Refusal
from .model.record import RunRecord
from .model.report import (
    CONTROL_STATES,
    ControlState,
    DomainLine,
    IsolationReport,
    ReportedPosture,
    ReportStage,
    UnmeasuredReason,
)
from .model.resolved import Coverage, ResolvedRun, SpawnSpec

NO_EVIDENCE = EnforcementEvidence(())


def planned(run: ResolvedRun) -> EnforcementEvidence:
    """Return the evidence that a plan gives before anything ran: configured, and nothing that asserts coverage."""
    return EnforcementEvidence(tuple(_configured(outcome) for outcome in _outcomes(run)))


def _outcomes(run: ResolvedRun) -> tuple[Outcome, ...]:
    return run.plan.outcomes if run.plan else ()


def _configured(outcome: Outcome) -> EvidenceRecord:
    met = outcome.kind in (OutcomeKind.ENFORCED, OutcomeKind.OBSERVED)
    claim = ClaimTerm.PLANNED if met else OUTCOME_CEILING[outcome.kind]
    detail = f"{outcome.requirement.intent.value}, {outcome.kind.value}"
    return EvidenceRecord(EvidenceKind.CONFIGURED, outcome.requirement.domain, claim, detail)


def collect(run: ResolvedRun, spec: SpawnSpec | None, record: RunRecord) -> EnforcementEvidence:
    """Return all evidence of a run that ended: configured, installed once sealed, exercised by the canaries that held.

    No decision record exists: nothing in this release records single refusals, so prevention is claimed nowhere.
    """
    records = planned(run).records
    if spec is not None and record.sealed:
        records += spec.installed + tuple(_exercised(run, name) for name, r in record.canaries.items() if r == "held")
    return EnforcementEvidence(records)


_CANARY_DOMAIN = {"file_read": Domain.FILESYSTEM_READ, "file_write": Domain.FILESYSTEM_WRITE, "call": Domain.SYSCALL}
_CANARY_TEXT = {
    "file_read": "a file that could be read before the boundary was refused inside it (EACCES)",
    "file_write": "a file that could be written before the boundary was refused inside it (EACCES)",
    "call": "a system call that worked before the boundary was refused inside it (EPERM)",
}


def _exercised(run: ResolvedRun, canary: str) -> EvidenceRecord:
    domain: Domain | None = _CANARY_DOMAIN[canary]
    if domain not in [outcome.requirement.domain for outcome in _outcomes(run)]:
        domain = None  # it exercised the floor, which no policy asked for
    return EvidenceRecord(EvidenceKind.EXERCISED, domain, ClaimTerm.OBSERVED, _CANARY_TEXT[canary])


# --- the report ----------------------------------------------------------------------------------


def report(run: ResolvedRun, evidence: EnforcementEvidence, stage: ReportStage) -> IsolationReport:
    """Return the isolation report of a run before its launch or after its end."""
    posture, detail = _posture(run)
    return IsolationReport(
        stage=stage,
        posture=posture,
        posture_detail=detail,
        identity=run.identity,
        target_program=run.spec.program,
        target_arg_count=len(run.spec.args),
        backend=run.plan.backend if run.plan else None,
        selection_mode=run.selection_mode,
        refusal=None,
        domains=tuple(_line(run, evidence, item) for item in run.coverage),
        credentials=run.spec.credentials,
        floor=run.plan.floor if run.plan else (),
        unmapped=run.policy.unmapped,
        requirement_count=len(run.spec.requirements) if run.plan else 0,
    )


def refused(run_report: IsolationReport, refusal: Refusal) -> IsolationReport:
    """Return the report of the same run when it is refused."""
    return run_report._replace(posture=ReportedPosture.REFUSED, posture_detail=refusal.text, refusal=refusal)


def _posture(run: ResolvedRun) -> tuple[ReportedPosture, str]:
    if run.plan is None:
        return ReportedPosture.NO_BOUNDARY, "no isolation was requested: the program has all of this user's rights"
    short = [outcome for outcome in run.plan.outcomes if outcome.shortfall]
    if short:
        return ReportedPosture.DEGRADED, f"{len(short)} requirement(s) are not met, as permitted"
    if run.spec.credentials.ambient_unremoved:
        return ReportedPosture.DEGRADED, "inherited authority is left to the program"
    return ReportedPosture.READY, "every requirement is held"


def _line(run: ResolvedRun, evidence: EnforcementEvidence, item: Coverage) -> DomainLine:
    state, detail, reason = _state(run, item.domain)
    return DomainLine(
        domain=item.domain,
        requested=item.requested,
        requested_detail=item.detail,
        state=state,
        state_detail=detail,
        unmeasured_reason=reason,
        claim=_claim(evidence, item.domain),
        basis=basis_for(evidence, item.domain),
        prevention_supported=supports_prevention_claim(evidence, item.domain),
        policy_gaps=(),
    )


def _claim(evidence: EnforcementEvidence, domain: Domain) -> ClaimTerm:
    measured = claim_for(evidence, domain)
    if measured is not ClaimTerm.UNMEASURED:
        return measured
    configured = [record.claim for record in evidence.about(domain)]
    return configured[0] if configured else ClaimTerm.UNMEASURED


_STATE_OF_KIND: Mapping[OutcomeKind, ControlState] = {
    OutcomeKind.ENFORCED: ControlState.PREVENTION,
    OutcomeKind.OBSERVED: ControlState.OBSERVE_ONLY,
    OutcomeKind.DEGRADED: ControlState.DEGRADED,
    OutcomeKind.UNMET: ControlState.UNSUPPORTED,
}


def _state(run: ResolvedRun, domain: Domain) -> tuple[ControlState, str, UnmeasuredReason | None]:
    """Return what the plan makes of a domain; several requirements fold to the weakest."""
    if run.plan is None:
        return ControlState.UNMEASURED, "", UnmeasuredReason.NO_BACKEND_SELECTED
    outcomes = [outcome for outcome in run.plan.outcomes if outcome.requirement.domain is domain]
    if not outcomes:
        return ControlState.UNMEASURED, "", UnmeasuredReason.NO_CONTROL_REQUESTED
    weakest = min(outcomes, key=lambda outcome: CONTROL_STATES.index(_STATE_OF_KIND[outcome.kind]))
    return _STATE_OF_KIND[weakest.kind], _state_detail(weakest), None


def _state_detail(outcome: Outcome) -> str:
    if outcome.shortfall is None:
        return f"timing={outcome.timing.value}, descendants={outcome.descendants.value}"
    seen = outcome.timing is not DecisionTiming.NONE or outcome.descendants is not DescendantCoverage.UNMEASURED
    achieved = f"observed({outcome.timing.value}, {outcome.descendants.value})" if seen else "nothing"
    planned_level = outcome.requirement.intent.value
    return f"planned={planned_level}, achieved={achieved}, reason={outcome.shortfall.reason.value}"

