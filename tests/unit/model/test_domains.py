# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of capabilities: every token, what an author may forget, and the predicates over all axes."""

from __future__ import annotations

import itertools
from enum import Enum
from typing import Any, Dict, Iterator, NamedTuple, Tuple, Type

import pytest
from support.contract import PROVENANCE, READ, WRITE, backend, capable

from aasm.errors import InternalError
from aasm.model.domains import (
    DOMAINS,
    CapabilityDomain,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Maturity,
    Mediation,
    PlatformBoundary,
    Prerequisite,
    PrerequisiteStatus,
    Provenance,
    Support,
    Synchrony,
    can_observe,
    can_prevent,
    capabilities,
    report,
    unsatisfied,
    unsupported,
    validation,
)
from aasm.model.evidence import CLAIM_RANK, ClaimTerm, claim_ceiling

# Every axis with its tokens, in the order in which the contract gives them.
TOKENS: Dict[Type[Enum], Tuple[str, ...]] = {
    CapabilityDomain: (
        "filesystem_read", "filesystem_write", "network_egress", "name_resolution", "syscall", "process_creation",
        "ipc", "credential", "resource", "workspace_transaction",
    ),
    Mediation: ("enforce", "observe", "none"),
    DecisionTiming: ("pre", "in_line", "post", "none"),
    Synchrony: ("sync", "best_effort", "none"),
    FailurePosture: ("fail_closed", "fail_open", "fail_open_silent", "silent_truncation", "not_applicable"),
    DescendantCoverage: ("process_tree", "target_process_only", "unmeasured"),
    Support: ("full", "partial", "unsupported"),
    PrerequisiteStatus: ("satisfied", "unsatisfied", "unchecked"),
    Maturity: ("validated", "experimental", "planned"),
    PlatformBoundary: ("shared_host_kernel", "userspace_kernel", "guest_kernel"),
}  # fmt: skip


@pytest.mark.parametrize("axis", TOKENS, ids=lambda axis: str(axis.__name__))
def test_every_axis_has_exactly_the_tokens_of_the_contract(axis: Type[Enum]) -> None:
    assert tuple(item.value for item in axis) == TOKENS[axis]


def test_there_are_ten_domains_and_one_order() -> None:
    assert len(DOMAINS) == 10 and DOMAINS == tuple(CapabilityDomain)


# --- how reports and capabilities are made ---


def test_what_an_author_forgets_is_taken_for_the_weakest() -> None:
    made = report(READ, Mediation.ENFORCE, DecisionTiming.PRE, Synchrony.SYNC)
    assert made.descendants is DescendantCoverage.UNMEASURED
    assert made.failure is FailurePosture.NOT_APPLICABLE
    assert made.support is Support.FULL and made.limitations == ()
    assert made.maturity is Maturity.EXPERIMENTAL
    assert made.prerequisites == () and made.mechanism == made.reason == made.witness == ""
    assert not can_prevent(made) and claim_ceiling(made) is ClaimTerm.EXPERIMENTAL


def test_support_is_partial_exactly_when_limitations_are_stated() -> None:
    axes = (READ, Mediation.ENFORCE, DecisionTiming.PRE, Synchrony.SYNC)
    assert report(*axes, limitations=("not metadata",)).support is Support.PARTIAL
    assert report(*axes, limitations=("not metadata",)).limitations == ("not metadata",)
    assert report(*axes, limitations=()).support is Support.FULL


def test_what_is_only_planned_has_no_report_of_support() -> None:
    with pytest.raises(InternalError, match="only planned"):
        report(READ, Mediation.ENFORCE, DecisionTiming.PRE, Synchrony.SYNC, maturity=Maturity.PLANNED)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: str(domain.value))
def test_an_unsupported_report_advertises_no_decision(domain: CapabilityDomain) -> None:
    made = unsupported(domain, "no mechanism")
    assert (made.domain, made.support, made.reason) == (domain, Support.UNSUPPORTED, "no mechanism")
    axes = (made.mediation, made.timing, made.synchrony, made.failure, made.descendants, made.maturity)
    assert axes == (
        Mediation.NONE, DecisionTiming.NONE, Synchrony.NONE, FailurePosture.NOT_APPLICABLE,
        DescendantCoverage.UNMEASURED, Maturity.PLANNED,
    )  # fmt: skip
    assert not can_prevent(made) and not can_observe(made) and claim_ceiling(made) is ClaimTerm.UNSUPPORTED
    assert (made.mechanism, made.witness) == ("", "")


def test_missing_support_without_a_reason_is_a_defect() -> None:
    with pytest.raises(InternalError, match="needs a reason"):
        unsupported(READ, "")


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: str(domain.value))
@pytest.mark.parametrize("second", ["equal", "weaker", "unsupported"])
def test_two_reports_about_one_domain_are_a_defect_and_never_last_wins(domain: CapabilityDomain, second: str) -> None:
    first = capable(domain)
    seconds = {
        "equal": first,
        "weaker": first._replace(mediation=Mediation.OBSERVE),
        "unsupported": unsupported(domain, "no mechanism"),
    }
    between = capable(READ if domain is not READ else WRITE)
    for reports in ((first, between, seconds[second]), (seconds[second], first)):
        with pytest.raises(InternalError, match=f"two capability reports for the domain {domain.value}"):
            capabilities(PROVENANCE, PlatformBoundary.SHARED_HOST_KERNEL, reports)


def test_one_report_for_each_domain_is_in_order_and_silence_is_no_report() -> None:
    everything = backend(*map(capable, DOMAINS))
    assert [item.domain for item in everything.reports] == list(DOMAINS)
    assert all(everything.report_for(domain) == capable(domain) for domain in DOMAINS)
    assert backend(capable(READ)).report_for(WRITE) is None


def test_provenance_is_complete_and_travels_with_the_capabilities() -> None:
    assert Provenance._fields == ("id", "version", "source", "license", "modified")
    found = capabilities(PROVENANCE, PlatformBoundary.GUEST_KERNEL, (), "no kernel here")
    assert (found.provenance, found.boundary, found.unavailable) == (
        PROVENANCE, PlatformBoundary.GUEST_KERNEL, "no kernel here",
    )  # fmt: skip


# --- the predicates, over everything that can be said ---


class Case(NamedTuple):
    """One combination of the axes that the predicates read, spelled out in tokens."""

    mediation: str
    timing: str
    synchrony: str
    support: str
    prerequisites: Tuple[str, ...]
    maturity: str

    def made(self) -> CapabilityReport:
        changes: Dict[str, Any] = {
            "mediation": Mediation(self.mediation),
            "timing": DecisionTiming(self.timing),
            "synchrony": Synchrony(self.synchrony),
            "support": Support(self.support),
            "limitations": ("not everything",) if self.support == "partial" else (),
            "reason": "no mechanism" if self.support == "unsupported" else "",
            "prerequisites": tuple(Prerequisite("p", PrerequisiteStatus(item)) for item in self.prerequisites),
            "maturity": Maturity(self.maturity),
        }
        return capable(READ, **changes)


PREREQUISITES = (
    (), ("satisfied",), ("unsatisfied",), ("unchecked",), ("satisfied", "satisfied"), ("satisfied", "unchecked"),
    ("unsatisfied", "satisfied"),
)  # fmt: skip


def cases() -> Iterator[Case]:
    axes = (Mediation, DecisionTiming, Synchrony, Support)
    spelled = [[item.value for item in axis] for axis in axes]
    for mediation, timing, synchrony, support in itertools.product(*spelled):
        for prerequisites, maturity in itertools.product(PREREQUISITES, ("validated", "experimental", "planned")):
            yield Case(mediation, timing, synchrony, support, prerequisites, maturity)


def prevents(case: Case) -> bool:
    """The contract's words: enforce, pre, sync, supported, every prerequisite satisfied; and it is validated."""
    rest = (case.mediation, case.timing, case.synchrony, case.maturity) == ("enforce", "pre", "sync", "validated")
    return rest and case.support in ("full", "partial") and set(case.prerequisites) <= {"satisfied"}


def observes(case: Case) -> bool:
    return case.support != "unsupported" and case.mediation in ("enforce", "observe") and case.timing != "none"


def ceiling(case: Case) -> str:
    """What may be claimed at most: nothing that is not built, and nothing achieved by what is not validated."""
    if case.support == "unsupported":
        return "unsupported"
    if case.maturity != "validated":
        return case.maturity
    if prevents(case):
        return "denied_before_execution"
    return "observed" if case.mediation in ("enforce", "observe") else "unmeasured"


def test_prevention_needs_every_axis_and_partial_support_does_not_disqualify() -> None:
    found = [case for case in cases() if can_prevent(case.made())]
    assert found == [case for case in cases() if prevents(case)]
    assert {case.support for case in found} == {"full", "partial"}


def test_observation_needs_support_a_control_and_a_decision_at_some_time() -> None:
    assert [case for case in cases() if can_observe(case.made())] == [case for case in cases() if observes(case)]


@pytest.mark.parametrize("maturity", TOKENS[Maturity])
def test_the_ceiling_of_a_claim_over_the_whole_product(maturity: str) -> None:
    wrong = [
        (case, claim_ceiling(case.made()).value)
        for case in cases()
        if case.maturity == maturity and claim_ceiling(case.made()).value != ceiling(case)
    ]
    assert wrong == []


@pytest.mark.parametrize("maturity", ["experimental", "planned"])
def test_what_is_not_validated_is_never_a_claim_of_coverage(maturity: str) -> None:
    for case in cases():
        if case.maturity == maturity:
            assert not can_prevent(case.made())
            assert CLAIM_RANK[claim_ceiling(case.made())] == 0, case


def test_neither_failure_nor_descendants_nor_words_enter_the_predicates() -> None:
    plain = capable(READ)
    for failure, descendants in itertools.product(FailurePosture, DescendantCoverage):
        other = plain._replace(failure=failure, descendants=descendants, mechanism="", reason="x", witness="")
        assert can_prevent(other) and can_observe(other)
        assert claim_ceiling(other) is ClaimTerm.DENIED_BEFORE_EXECUTION


# --- prerequisites ---


def test_the_first_prerequisite_that_is_not_known_to_hold_is_named() -> None:
    met, missing = Prerequisite("a", PrerequisiteStatus.SATISFIED), Prerequisite("b", PrerequisiteStatus.UNSATISFIED)
    unchecked = Prerequisite("c", PrerequisiteStatus.UNCHECKED)
    assert unsatisfied(capable(READ, prerequisites=(met, unchecked, missing))) == unchecked
    assert unsatisfied(capable(READ, prerequisites=(met, missing, unchecked))) == missing
    assert unsatisfied(capable(READ, prerequisites=(met,))) is None


@pytest.mark.parametrize("maturity", [Maturity.EXPERIMENTAL, Maturity.PLANNED])
def test_validation_is_the_last_prerequisite_of_every_control(maturity: Maturity) -> None:
    found = unsatisfied(capable(READ, maturity=maturity))
    assert found is not None and "validation" in found.requirement and maturity.value in found.detail
    assert found.status is PrerequisiteStatus.UNSATISFIED
    stated = Prerequisite("a mounted thing", PrerequisiteStatus.UNCHECKED)
    assert unsatisfied(capable(READ, maturity=maturity, prerequisites=(stated,))) == stated


@pytest.mark.parametrize("maturity", list(Maturity))
def test_validation_is_a_prerequisite_by_itself_and_knows_no_other(maturity: Maturity) -> None:
    unmet = Prerequisite("a mounted thing", PrerequisiteStatus.UNSATISFIED)
    for prerequisites in ((), (unmet,)):
        found = validation(capable(READ, maturity=maturity, prerequisites=prerequisites))
        met = maturity is Maturity.VALIDATED
        assert found.status is (PrerequisiteStatus.SATISFIED if met else PrerequisiteStatus.UNSATISFIED)
        assert found.requirement == "validation of the control" and found.detail == f"it is {maturity.value}"
