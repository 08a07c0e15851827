# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Claims and evidence as tables: terms with their ranks, kinds with their bases, states in their order."""

from __future__ import annotations

import itertools
from enum import Enum
from typing import Dict, Optional, Tuple, Type

import pytest
from support.contract import READ, WRITE

from aasm.model.domains import DOMAINS
from aasm.model.evidence import (
    BASES,
    BASIS_OF_KIND,
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
from aasm.model.plan import CandidateVerdict, LaunchPosture, OutcomeKind, SelectionMode
from aasm.model.report import (
    CONTROL_STATES,
    REPORT_SCHEMA,
    ControlState,
    ReportedPosture,
    ReportStage,
    RequestedControl,
    ScopeGranularity,
    UnmeasuredReason,
)

TOKENS: Dict[Type[Enum], Tuple[str, ...]] = {
    EvidenceKind: ("configured", "installed", "exercised", "decision", "independent_verification"),
    EvidenceBasis: ("none", "setup_only", "runtime_without_decision", "decision"),
    ControlState: ("unsupported", "degraded", "unmeasured", "observe_only", "prevention"),
    UnmeasuredReason: ("no_backend_selected", "no_control_requested", "inconclusive"),
    ReportStage: ("pre_launch", "post_run"),
    ReportedPosture: ("ready", "degraded", "refused", "no_boundary"),
    RequestedControl: ("stated", "not_stated", "policy_cannot_express", "not_derived"),
    ScopeGranularity: ("enumerated", "whole_domain_only"),
    OutcomeKind: ("enforced", "observed", "degraded", "unmet"),
    LaunchPosture: ("ready", "degraded"),
    SelectionMode: ("explicit", "automatic", "default"),
    CandidateVerdict: ("selected", "rejected_unavailable", "rejected_requirements_unmet"),
}


@pytest.mark.parametrize("words", TOKENS, ids=lambda words: str(words.__name__))
def test_every_word_has_exactly_the_tokens_of_the_contract(words: Type[Enum]) -> None:
    assert tuple(item.value for item in words) == TOKENS[words]


def test_the_schema_of_the_report() -> None:
    assert REPORT_SCHEMA == "aasm.isolation.report/1"


# --- terms ---

RANKS = {
    "denied_before_execution": 6, "approval_required": 5, "redacted": 4, "detected": 3, "evaluated": 2, "observed": 1,
    "degraded": 0, "unmeasured": 0, "experimental": 0, "planned": 0, "unsupported": 0,
}  # fmt: skip


def test_every_term_has_its_rank_and_asserts_coverage_exactly_above_nought() -> None:
    assert [item.value for item in ClaimTerm] == list(RANKS)
    assert {term.value: rank for term, rank in CLAIM_RANK.items()} == RANKS
    assert {term.value for term in ClaimTerm if asserts_coverage(term)} == {
        "denied_before_execution", "approval_required", "redacted", "detected", "evaluated", "observed",
    }  # fmt: skip


def test_only_one_term_is_prevention() -> None:
    highest = max(CLAIM_RANK.values())
    assert [term for term in ClaimTerm if CLAIM_RANK[term] == highest] == [ClaimTerm.DENIED_BEFORE_EXECUTION]


# --- kinds and bases ---

BASIS = {
    "configured": "setup_only", "installed": "setup_only", "exercised": "runtime_without_decision",
    "decision": "decision", "independent_verification": "runtime_without_decision",
}  # fmt: skip


def record(kind: EvidenceKind, term: ClaimTerm = ClaimTerm.OBSERVED) -> EvidenceRecord:
    return EvidenceRecord(kind, READ, term, "")


def evidence(*records: EvidenceRecord) -> EnforcementEvidence:
    return EnforcementEvidence(records)


def test_every_kind_has_its_basis_and_the_bases_are_in_order() -> None:
    assert {kind.value: basis.value for kind, basis in BASIS_OF_KIND.items()} == BASIS
    assert BASES == tuple(EvidenceBasis)


@pytest.mark.parametrize("kinds", list(itertools.combinations(EvidenceKind, 2)), ids=lambda kinds: kinds[0].value)
def test_the_basis_of_several_records_is_the_strongest_one(kinds: Tuple[EvidenceKind, EvidenceKind]) -> None:
    expected = max((BASIS[kind.value] for kind in kinds), key=[basis.value for basis in BASES].index)
    for order in (kinds, kinds[::-1]):
        assert basis_for(evidence(*map(record, order)), READ).value == expected
    assert basis_for(evidence(*map(record, kinds)), WRITE) is EvidenceBasis.NONE


def test_without_a_record_there_is_no_basis_and_no_claim() -> None:
    for domain in DOMAINS:
        assert basis_for(evidence(), domain) is EvidenceBasis.NONE
        assert claim_for(evidence(), domain) is ClaimTerm.UNMEASURED
        assert not supports_prevention_claim(evidence(), domain)


# --- claims ---


def claimed(kind: EvidenceKind, term: ClaimTerm) -> ClaimTerm:
    """Return what one record gives: nothing at setup, nothing without coverage, prevention only from a decision."""
    if kind in (EvidenceKind.CONFIGURED, EvidenceKind.INSTALLED) or RANKS[term.value] == 0:
        return ClaimTerm.UNMEASURED
    if term is ClaimTerm.DENIED_BEFORE_EXECUTION and kind is not EvidenceKind.DECISION:
        return ClaimTerm.UNMEASURED
    return term


@pytest.mark.parametrize("kind", list(EvidenceKind), ids=lambda kind: str(kind.value))
def test_what_one_record_gives(kind: EvidenceKind) -> None:
    for term in ClaimTerm:
        assert claim_for(evidence(record(kind, term)), READ) is claimed(kind, term), term
        assert claim_for(evidence(record(kind, term)), WRITE) is ClaimTerm.UNMEASURED


@pytest.mark.parametrize("kind", list(EvidenceKind), ids=lambda kind: str(kind.value))
def test_only_a_decision_that_denied_supports_prevention(kind: EvidenceKind) -> None:
    for term in ClaimTerm:
        found = evidence(record(kind, term))
        denied = (kind, term) == (EvidenceKind.DECISION, ClaimTerm.DENIED_BEFORE_EXECUTION)
        assert supports_prevention_claim(found, READ) is denied
        assert not any(supports_prevention_claim(found, domain) for domain in DOMAINS if domain is not READ)


@pytest.mark.parametrize("other", [*EvidenceKind, None], ids=lambda kind: kind.value if kind else "alone")
def test_outside_confirmation_corroborates_and_never_decides(other: Optional[EvidenceKind]) -> None:
    denial = record(EvidenceKind.INDEPENDENT_VERIFICATION, ClaimTerm.DENIED_BEFORE_EXECUTION)
    beside = (record(other, ClaimTerm.EVALUATED),) if other else ()
    found = evidence(denial, *beside)
    assert not supports_prevention_claim(found, READ)
    assert claim_for(found, READ) is not ClaimTerm.DENIED_BEFORE_EXECUTION


def test_the_strongest_claim_at_run_time_wins_over_all_pairs() -> None:
    for first, second in itertools.product(ClaimTerm, repeat=2):
        found = claim_for(evidence(*(record(EvidenceKind.DECISION, term) for term in (first, second))), READ)
        best = max(RANKS[first.value], RANKS[second.value])
        assert RANKS[found.value] == best
        assert best or found is ClaimTerm.UNMEASURED  # two silences are one


def test_degraded_never_outranks_an_observation() -> None:
    both = (record(EvidenceKind.EXERCISED, ClaimTerm.DEGRADED), record(EvidenceKind.EXERCISED, ClaimTerm.OBSERVED))
    for order in (both, both[::-1]):
        assert claim_for(evidence(*order), READ) is ClaimTerm.OBSERVED
    assert CLAIM_RANK[ClaimTerm.DEGRADED] < CLAIM_RANK[ClaimTerm.OBSERVED]


def test_a_record_about_the_run_as_a_whole_speaks_for_no_domain() -> None:
    whole = EvidenceRecord(EvidenceKind.DECISION, None, ClaimTerm.DENIED_BEFORE_EXECUTION, "")
    for domain in DOMAINS:
        assert basis_for(evidence(whole), domain) is EvidenceBasis.NONE
        assert not supports_prevention_claim(evidence(whole), domain)


def test_states_fold_to_the_weakest_in_the_order_of_the_contract() -> None:
    ranks = {"unsupported": 0, "degraded": 1, "unmeasured": 2, "observe_only": 3, "prevention": 4}
    assert {state.value: rank for rank, state in enumerate(CONTROL_STATES)} == ranks
