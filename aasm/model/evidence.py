# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Evidence and claims: what was recorded about a run, and the strongest thing that may be said of it."""

from __future__ import annotations

from enum import Enum
from typing import Iterable, NamedTuple

from .domains import CapabilityDomain, CapabilityReport, Maturity, Mediation, Support, can_prevent


class ClaimTerm(Enum):
    """What may be claimed about a control. Only the first is prevention."""

    DENIED_BEFORE_EXECUTION = "denied_before_execution"
    APPROVAL_REQUIRED = "approval_required"
    REDACTED = "redacted"
    DETECTED = "detected"
    EVALUATED = "evaluated"
    OBSERVED = "observed"
    DEGRADED = "degraded"
    UNMEASURED = "unmeasured"
    EXPERIMENTAL = "experimental"
    PLANNED = "planned"
    UNSUPPORTED = "unsupported"


# A rank above 0 asserts coverage. Ranks only fold several records of one domain into one.
CLAIM_RANK = {
    ClaimTerm.DENIED_BEFORE_EXECUTION: 6,
    ClaimTerm.APPROVAL_REQUIRED: 5,
    ClaimTerm.REDACTED: 4,
    ClaimTerm.DETECTED: 3,
    ClaimTerm.EVALUATED: 2,
    ClaimTerm.OBSERVED: 1,
    ClaimTerm.DEGRADED: 0,
    ClaimTerm.UNMEASURED: 0,
    ClaimTerm.EXPERIMENTAL: 0,
    ClaimTerm.PLANNED: 0,
    ClaimTerm.UNSUPPORTED: 0,
}


def claim_ceiling(item: CapabilityReport) -> ClaimTerm:
    """Return the most that may ever be claimed on the ground of a capability, before any evidence is asked for."""
    if item.support is Support.UNSUPPORTED:
        return ClaimTerm.UNSUPPORTED
    if item.maturity is not Maturity.VALIDATED:
        return ClaimTerm(item.maturity.value)
    if can_prevent(item):
        return ClaimTerm.DENIED_BEFORE_EXECUTION
    return ClaimTerm.UNMEASURED if item.mediation is Mediation.NONE else ClaimTerm.OBSERVED


def asserts_coverage(term: ClaimTerm) -> bool:
    """Say whether `term` says that something was covered at run time."""
    return CLAIM_RANK[term] > 0


class EvidenceKind(Enum):
    """Where a record comes from, weak to strong."""

    CONFIGURED = "configured"
    INSTALLED = "installed"
    EXERCISED = "exercised"
    DECISION = "decision"
    INDEPENDENT_VERIFICATION = "independent_verification"


class EvidenceBasis(Enum):
    """The strongest kind of record that exists for a domain, in order."""

    NONE = "none"
    SETUP_ONLY = "setup_only"
    RUNTIME_WITHOUT_DECISION = "runtime_without_decision"
    DECISION = "decision"


BASES = tuple(EvidenceBasis)
BASIS_OF_KIND = {
    EvidenceKind.CONFIGURED: EvidenceBasis.SETUP_ONLY,
    EvidenceKind.INSTALLED: EvidenceBasis.SETUP_ONLY,
    EvidenceKind.EXERCISED: EvidenceBasis.RUNTIME_WITHOUT_DECISION,
    EvidenceKind.INDEPENDENT_VERIFICATION: EvidenceBasis.RUNTIME_WITHOUT_DECISION,
    EvidenceKind.DECISION: EvidenceBasis.DECISION,
}


class EvidenceRecord(NamedTuple):
    """One fact about one run. `domain` None means the run as a whole; `detail` never carries values."""

    kind: EvidenceKind
    domain: CapabilityDomain | None
    claim: ClaimTerm
    detail: str


class EnforcementEvidence(NamedTuple):
    """All records of one run."""

    records: tuple[EvidenceRecord, ...]

    def about(self, domain: CapabilityDomain) -> tuple[EvidenceRecord, ...]:
        """Return the records of one domain; a record never speaks for another."""
        return tuple(record for record in self.records if record.domain is domain)


def basis_for(evidence: EnforcementEvidence, domain: CapabilityDomain) -> EvidenceBasis:
    """Return the strongest basis that the records of `domain` give."""
    bases = [BASIS_OF_KIND[record.kind] for record in evidence.about(domain)]
    return max(bases, key=BASES.index, default=EvidenceBasis.NONE)


def claim_for(evidence: EnforcementEvidence, domain: CapabilityDomain) -> ClaimTerm:
    """Return the strongest coverage-asserting claim among the run-time records, else `unmeasured`."""
    strongest = _strongest(record.claim for record in evidence.about(domain) if _at_run_time(record))
    return strongest if asserts_coverage(strongest) else ClaimTerm.UNMEASURED


def supports_prevention_claim(evidence: EnforcementEvidence, domain: CapabilityDomain) -> bool:
    """Say whether a decision record of this very domain shows a refusal before the effect."""
    return any(
        record.kind is EvidenceKind.DECISION and record.claim is ClaimTerm.DENIED_BEFORE_EXECUTION
        for record in evidence.about(domain)
    )


def _at_run_time(record: EvidenceRecord) -> bool:
    if record.claim is ClaimTerm.DENIED_BEFORE_EXECUTION:  # a prevention term needs a decision behind it
        return record.kind is EvidenceKind.DECISION
    return BASIS_OF_KIND[record.kind] is not EvidenceBasis.SETUP_ONLY


def _strongest(terms: Iterable[ClaimTerm]) -> ClaimTerm:
    return max(terms, key=CLAIM_RANK.__getitem__, default=ClaimTerm.UNMEASURED)
