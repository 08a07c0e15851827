# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From a plan and a run record to what may be claimed, and to the report. Pure; decides nothing about a launch.

A claim is the least of three: what the evidence of this run gives, what the state of its domain bears, and what its
stage allows.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple

from .model.domains import CapabilityDomain as Domain, CapabilityReport, DecisionTiming, DescendantCoverage
from .model.evidence import (
    ClaimTerm,
    EnforcementEvidence,
    EvidenceKind,
    EvidenceRecord,
    asserts_coverage,
    basis_for,
    claim_ceiling,
    claim_for,
    supports_prevention_claim,
)
from .model.grants import covers
from .model.plan import OUTCOME_CEILING, EnforcementPlan, LaunchPosture, Outcome, OutcomeKind, Shortfall
from .model.record import Ending, RunRecord
from .model.report import (
    CONTROL_STATES,
    ControlState,
    Coverage,
    DomainLine,
    IsolationReport,
    ReportedPosture,
    ReportStage,
    UnmeasuredReason,
)
from .model.requirements import Requirement, part, stated_ceilings
from .model.resolved import ResolvedRun, SpawnSpec


def planned(run: ResolvedRun) -> EnforcementEvidence:
    """Return the evidence that there is before anything ran: configured, and nothing that asserts coverage."""
    if run.refusal is not None:
        return EnforcementEvidence(tuple(_unsupported(item) for item in run.refusal.shortfalls))
    return EnforcementEvidence(tuple(_configured(outcome) for outcome in _outcomes(run)))


def _unsupported(item: Shortfall) -> EvidenceRecord:
    return EvidenceRecord(EvidenceKind.CONFIGURED, item.domain, ClaimTerm.UNSUPPORTED, item.reason.value)


def _outcomes(run: ResolvedRun, domain: Domain | None = None) -> tuple[Outcome, ...]:
    """Return what the plan makes of each requirement, or of those of one domain."""
    found = run.plan.outcomes if run.plan else ()
    return tuple(item for item in found if domain in (None, item.requirement.domain))


def _configured(outcome: Outcome) -> EvidenceRecord:
    levels = _state_detail(outcome) if outcome.shortfall else outcome.requirement.intent.value
    detail = f"{outcome.kind.value}: {levels}"
    return EvidenceRecord(EvidenceKind.CONFIGURED, outcome.requirement.domain, _planned_claim(outcome), detail)


def _planned_claim(outcome: Outcome) -> ClaimTerm:
    return OUTCOME_CEILING[outcome.kind] if outcome.shortfall else ClaimTerm.PLANNED


def collect(run: ResolvedRun, spec: SpawnSpec | None, record: RunRecord) -> EnforcementEvidence:
    """Return all evidence of a run that ended: configured, installed once sealed, exercised by the canaries that held.

    No decision record exists: nothing in this release records single refusals, so prevention is claimed nowhere.
    """
    records = planned(run).records
    if spec is not None and record.sealed:
        records += (*spec.installed, *_exercised(run, record))
    if record.ending is Ending.WALL_CLOCK:
        records += (_ended_by_the_clock(run),)
    return EnforcementEvidence(records)


def _ended_by_the_clock(run: ResolvedRun) -> EvidenceRecord:
    # detected and not prevented: what the program did until then stays done
    detail = f"the supervisor's clock told the tree to end after {run.ceilings.max_wall_clock_seconds} s"
    return EvidenceRecord(EvidenceKind.EXERCISED, Domain.RESOURCE, ClaimTerm.DETECTED, detail)


class _Canary(NamedTuple):
    domain: Domain | None
    ceiling: str  # the one that it exercises, of `resource`
    text: str


# What each canary exercises. The call canary is refused by the floor whatever a policy says, so it is no evidence of
# any domain that a policy states.
_CANARIES: Mapping[str, _Canary] = {
    "file_read": _Canary(
        Domain.FILESYSTEM_READ, "", "a file that could be read before the boundary was refused inside it (EACCES)"
    ),
    "file_write": _Canary(
        Domain.FILESYSTEM_WRITE, "", "a file that could be written before the boundary was refused inside it (EACCES)"
    ),
    "open_files": _Canary(
        Domain.RESOURCE, "max_open_files", "a descriptor beyond the ceiling, possible before, was refused (EBADF)"
    ),
    "file_size": _Canary(
        Domain.RESOURCE, "max_file_size_bytes", "a byte beyond the ceiling, possible before, was refused (EFBIG)"
    ),
    "call": _Canary(None, "", "a system call that worked before the boundary was refused inside it (EPERM)"),
}


def _exercised(run: ResolvedRun, record: RunRecord) -> Iterator[EvidenceRecord]:
    held = [name for name, result in record.canaries.items() if result == "held"]
    for name in held:
        domain = _CANARIES[name].domain
        speaks = domain is not None and all(_tried(item, held) for item in _outcomes(run, domain))
        known = domain if speaks and _outcomes(run, domain) else None
        yield EvidenceRecord(EvidenceKind.EXERCISED, known, ClaimTerm.OBSERVED, _CANARIES[name].text)


def _tried(outcome: Outcome, held: list[str]) -> bool:
    """Say whether all of a requirement was exercised: what was tried of it speaks for nothing else in its domain."""
    limits = outcome.requirement.scope.limits
    wanted = set(stated_ceilings(limits)) if limits else {part(outcome.requirement.scope)}
    tried = {_CANARIES[name].ceiling for name in held if _CANARIES[name].domain is outcome.requirement.domain}
    return outcome.kind is OutcomeKind.ENFORCED and wanted <= tried


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
        selection=run.selection,
        refusal=run.refusal,
        requirements=run.spec.requirements,
        outcomes=_outcomes(run),
        domains=tuple(_line(run, evidence, stage, item) for item in run.coverage),
        credentials=run.spec.credentials,
        descriptors=run.descriptors,
        grants=run.grants,
        limits=_limits(run),
        floor=run.plan.floor if run.plan else (),
        unmapped=run.policy.unmapped,
    )


def _posture(run: ResolvedRun) -> tuple[ReportedPosture, str]:
    if run.refusal is not None:
        return ReportedPosture.REFUSED, run.refusal.text
    if run.plan is None or not run.plan.outcomes:
        return ReportedPosture.NO_BOUNDARY, "no isolation was requested: the program has all of this user's rights"
    if run.plan.posture is LaunchPosture.DEGRADED:
        return ReportedPosture.DEGRADED, f"{len(run.plan.shortfalls)} requirement(s) are not met, as permitted"
    if run.spec.credentials.ambient_unremoved:
        return ReportedPosture.DEGRADED, "inherited authority is left to the program"
    return ReportedPosture.READY, "every requirement has a control that can meet it"


PROC = "while /proc is granted, command lines and states of other processes of this user are visible"


def _limits(run: ResolvedRun) -> tuple[str, ...]:
    """Return what is not held within the domains that are required."""
    if run.plan is None:
        return ()
    found = [run.plan.backend.report_on(outcome.requirement) for outcome in run.plan.outcomes]
    lines = [f"{item.domain.value}: {text}" for item in found if item for text in item.limitations]
    lines += [f"{verb} is granted everywhere" for verb, write in _VERBS if covers(run.grants, "/", write)]
    return tuple(dict.fromkeys(lines)) + ((PROC,) if covers(run.grants, "/proc", write=False) else ())


_VERBS = (("filesystem_read: reading", False), ("filesystem_write: writing", True))


def _line(run: ResolvedRun, evidence: EnforcementEvidence, stage: ReportStage, item: Coverage) -> DomainLine:
    state, detail, reason = _state(run, item.domain)
    return DomainLine(
        domain=item.domain,
        requested=item.requested,
        requested_detail=item.detail,
        state=state,
        state_detail=detail,
        unmeasured_reason=reason,
        claim=bounded(_claim(run, evidence, item.domain), state, stage),
        basis=basis_for(evidence, item.domain),
        prevention_supported=supports_prevention_claim(evidence, item.domain),
        policy_gaps=item.gaps,
        expected=_expected(run, item.domain),
        sources=tuple(dict.fromkeys(_sources(run, item.domain))),
        granularity=item.granularity,
    )


def _expected(run: ResolvedRun, domain: Domain) -> ClaimTerm:
    """Return the claim that the weakest requirement of a domain can come to: nothing here records single decisions."""
    weakest = _weakest(run, domain)
    if weakest is None or run.plan is None:
        return ClaimTerm.UNMEASURED
    if weakest.shortfall:
        return _planned_claim(weakest)
    expected = [_expected_of(run, run.plan, outcome.requirement) for outcome in (weakest, *_outcomes(run, domain))]
    return ClaimTerm.PLANNED if ClaimTerm.PLANNED in expected else expected[0]


def _expected_of(run: ResolvedRun, plan: EnforcementPlan, requirement: Requirement) -> ClaimTerm:
    item = plan.backend.report_on(requirement)
    if item is None or not _exercises(run, item) or not asserts_coverage(claim_ceiling(item)):
        return ClaimTerm.PLANNED
    # what decides after the effect can end a run, and an end is a detection
    return ClaimTerm.DETECTED if item.timing is DecisionTiming.POST else ClaimTerm.OBSERVED


def _exercises(run: ResolvedRun, item: CapabilityReport) -> bool:
    """Say whether a run exercises the control: a canary whose file the grants cover is refused nothing."""
    covered = item.domain in _FILES and covers(run.grants, run.canary_path, _FILES[item.domain])
    return bool(item.witness) and not covered


_FILES = {Domain.FILESYSTEM_READ: False, Domain.FILESYSTEM_WRITE: True}  # whether writing is meant


def _sources(run: ResolvedRun, domain: Domain) -> Iterator[str]:
    for outcome in _outcomes(run, domain):
        item = run.plan.backend.report_on(outcome.requirement) if run.plan else None
        if item is not None and not outcome.shortfall:
            yield f"{EvidenceKind.INSTALLED.value}: {item.mechanism}"
            if _exercises(run, item):
                yield f"{EvidenceKind.EXERCISED.value}: {item.witness}"


def _claim(run: ResolvedRun, evidence: EnforcementEvidence, domain: Domain) -> ClaimTerm:
    """Return what the evidence gives; where nothing was recorded at run time, the weakest that was planned."""
    measured = claim_for(evidence, domain)
    if measured is not ClaimTerm.UNMEASURED:
        return measured
    weakest = _weakest(run, domain)
    if weakest is not None:
        return _planned_claim(weakest)
    claims = [record.claim for record in evidence.about(domain)]
    return claims[0] if claims else ClaimTerm.UNMEASURED


def bounded(claim: ClaimTerm, state: ControlState, stage: ReportStage) -> ClaimTerm:
    """Return `claim`, lowered to what the state of its domain and the stage of the report bear."""
    if asserts_coverage(claim) and (stage is ReportStage.PRE_LAUNCH or state in _SILENT):
        return ClaimTerm.UNMEASURED
    if claim is ClaimTerm.DENIED_BEFORE_EXECUTION and state is not ControlState.PREVENTION:
        return ClaimTerm.EVALUATED  # a decision was made, by a control that does not hold all that was asked
    return claim


_SILENT = (ControlState.UNMEASURED, ControlState.UNSUPPORTED)  # states that assert nothing themselves

_STATE_OF_KIND: Mapping[OutcomeKind, ControlState] = {
    OutcomeKind.ENFORCED: ControlState.PREVENTION,
    OutcomeKind.OBSERVED: ControlState.OBSERVE_ONLY,
    OutcomeKind.DEGRADED: ControlState.DEGRADED,
    OutcomeKind.UNMET: ControlState.UNSUPPORTED,
}


def _weakest(run: ResolvedRun, domain: Domain) -> Outcome | None:
    """Return the outcome that decides about a domain: several requirements fold to the weakest."""
    return min(_outcomes(run, domain), key=lambda item: CONTROL_STATES.index(_STATE_OF_KIND[item.kind]), default=None)


def _state(run: ResolvedRun, domain: Domain) -> tuple[ControlState, str, UnmeasuredReason | None]:
    """Return what the plan makes of a domain."""
    if run.refusal is not None:
        lacking = [item for item in run.refusal.shortfalls if item.domain is domain]
        if lacking:
            return ControlState.UNSUPPORTED, _reasons(lacking), None
    if run.plan is None or run.refusal is not None:
        return ControlState.UNMEASURED, "", UnmeasuredReason.NO_BACKEND_SELECTED
    weakest = _weakest(run, domain)
    if weakest is None:
        return ControlState.UNMEASURED, "", UnmeasuredReason.NO_CONTROL_REQUESTED
    return _STATE_OF_KIND[weakest.kind], _state_detail(weakest), None


def _reasons(lacking: list[Shortfall]) -> str:
    return "; ".join(f"reason={item.reason.value}, {item.detail}" for item in lacking)


def _state_detail(outcome: Outcome) -> str:
    if outcome.shortfall is None:
        return f"timing={outcome.timing.value}, descendants={outcome.descendants.value}"
    seen = outcome.timing is not DecisionTiming.NONE or outcome.descendants is not DescendantCoverage.UNMEASURED
    achieved = f"observed({outcome.timing.value}, {outcome.descendants.value})" if seen else "nothing"
    planned_level = outcome.requirement.intent.value
    return f"planned={planned_level}, achieved={achieved}, reason={outcome.shortfall.reason.value}"
