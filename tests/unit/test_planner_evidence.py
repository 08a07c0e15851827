# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The minimum of evidence, a second gate that can only reject; and each axis of a report, weakened by one step."""

from __future__ import annotations

import itertools
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest
from support.contract import NETWORK, READ, RESOURCE, WRITE, backend, capable, narrowed, wanted

from aasm.model.domains import (
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Maturity,
    Mediation,
    PlatformBoundary,
    Prerequisite,
    PrerequisiteStatus,
    Support,
    Synchrony,
    unsupported,
)
from aasm.model.plan import EnforcementPlan, OutcomeKind, Refusal, RefusalKind, RefusalReason as Reason
from aasm.model.requirements import (
    EvidenceMinimum,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    RuntimeRequirements,
    ceilings,
)
from aasm.planner import evaluate, negotiate

CLOSED, OPEN = FailurePosture.FAIL_CLOSED, FailurePosture.FAIL_OPEN
SILENT, CUT, NEVER = FailurePosture.FAIL_OPEN_SILENT, FailurePosture.SILENT_TRUNCATION, FailurePosture.NOT_APPLICABLE
MOST = EvidenceMinimum(CLOSED, full_support=True)


def reasons(verdict: object) -> List[Reason]:
    return [item.reason for item in verdict.shortfalls] if isinstance(verdict, Refusal) else []


# --- each axis, weakened by one step ---


class Weaker(NamedTuple):
    """A change of one axis and the refusal it must lead to; None where the axis is only words."""

    change: Any
    prevention: Optional[Reason]
    observation: Optional[Reason]


ONLY_WATCHED = Reason.OBSERVE_ONLY_FOR_PREVENTION_REQUIREMENT
UNMET_PREREQUISITE, TOO_FEW = Reason.PREREQUISITE_UNSATISFIED, Reason.DESCENDANT_COVERAGE_INSUFFICIENT
BELOW, NO_EVIDENCE = Reason.EVIDENCE_QUALITY_BELOW_MINIMUM, Reason.NO_EVIDENCE_PRODUCED


def prerequisite(status: PrerequisiteStatus) -> Tuple[Prerequisite, ...]:
    return (Prerequisite("a mounted thing", status),)


MUTATIONS: Dict[str, Tuple[Weaker, ...]] = {
    "domain": (Weaker(NETWORK, Reason.NO_CAPABILITY_REPORTED, Reason.NO_CAPABILITY_REPORTED),),
    "mediation": (
        Weaker(Mediation.OBSERVE, ONLY_WATCHED, None),
        Weaker(Mediation.NONE, ONLY_WATCHED, NO_EVIDENCE),
    ),
    "timing": (
        Weaker(DecisionTiming.IN_LINE, Reason.DECISION_TOO_LATE, None),
        Weaker(DecisionTiming.POST, Reason.DECISION_TOO_LATE, None),
        Weaker(DecisionTiming.NONE, Reason.DECISION_TOO_LATE, NO_EVIDENCE),
    ),
    "synchrony": (
        Weaker(Synchrony.BEST_EFFORT, Reason.DECISION_NOT_SYNCHRONOUS, None),
        Weaker(Synchrony.NONE, Reason.DECISION_NOT_SYNCHRONOUS, None),
    ),
    "failure": tuple(Weaker(item, BELOW, BELOW) for item in (OPEN, CUT, SILENT, NEVER)),
    "descendants": (
        Weaker(DescendantCoverage.TARGET_PROCESS_ONLY, TOO_FEW, TOO_FEW),
        Weaker(DescendantCoverage.UNMEASURED, TOO_FEW, TOO_FEW),
    ),
    "support": (
        Weaker(Support.PARTIAL, BELOW, BELOW),
        Weaker(Support.UNSUPPORTED, Reason.DOMAIN_UNSUPPORTED, Reason.DOMAIN_UNSUPPORTED),
    ),
    "limitations": (Weaker(("a gap that support does not admit",), None, None),),
    "reason": (Weaker("a reason for support that is there", None, None),),
    "prerequisites": (
        Weaker(prerequisite(PrerequisiteStatus.UNSATISFIED), UNMET_PREREQUISITE, None),
        Weaker(prerequisite(PrerequisiteStatus.UNCHECKED), UNMET_PREREQUISITE, None),
    ),
    "maturity": (
        Weaker(Maturity.EXPERIMENTAL, UNMET_PREREQUISITE, UNMET_PREREQUISITE),
        Weaker(Maturity.PLANNED, UNMET_PREREQUISITE, UNMET_PREREQUISITE),
    ),
    "mechanism": (Weaker("", None, None),),
    "witness": (Weaker("", None, None),),
}
STRONGEST = capable()


def test_every_axis_of_a_report_has_its_row() -> None:
    """A field that is added to the report must be added here, with the refusal that its weakening leads to."""
    assert tuple(MUTATIONS) == CapabilityReport._fields


@pytest.mark.parametrize("axis", [name for name in MUTATIONS if isinstance(getattr(STRONGEST, name), Enum)])
def test_every_weaker_token_of_an_axis_is_tried(axis: str) -> None:
    strongest: Enum = getattr(STRONGEST, axis)
    tried = [strongest, *(row.change for row in MUTATIONS[axis])]
    if axis != "domain":  # no domain is weaker than another: one stands for all
        assert sorted(item.value for item in tried) == sorted(item.value for item in type(strongest))


def demanded(intent: Intent) -> RuntimeRequirements:
    return RuntimeRequirements((wanted(intent=intent),), {READ: MOST})


@pytest.mark.parametrize("axis", MUTATIONS)
def test_weakening_one_axis_leads_to_exactly_its_own_refusal(axis: str) -> None:
    for row in MUTATIONS[axis]:
        item = capable()._replace(**{axis: row.change})
        for intent, reason in zip(Intent, (row.prevention, row.observation)):
            verdict = evaluate(backend(item), demanded(intent))
            assert reasons(verdict) == ([reason] if reason else []), (axis, row.change, intent)
            assert isinstance(verdict, Refusal if reason else EnforcementPlan)


@pytest.mark.parametrize("intent", list(Intent))
def test_what_lacks_nothing_is_planned(intent: Intent) -> None:
    verdict = evaluate(backend(capable()), demanded(intent))
    assert isinstance(verdict, EnforcementPlan)
    kind = OutcomeKind.ENFORCED if intent is Intent.PREVENT_BEFORE_EFFECT else OutcomeKind.OBSERVED
    assert [outcome.kind for outcome in verdict.outcomes] == [kind]


@pytest.mark.parametrize("axis", MUTATIONS)
def test_what_is_refused_when_required_is_never_enforced_when_permitted_to_fail(axis: str) -> None:
    for row, posture in itertools.product(MUTATIONS[axis], list(Posture)[1:]):
        item = capable()._replace(**{axis: row.change})
        verdict = negotiate(backend(item), (wanted(posture=posture),))
        assert isinstance(verdict, EnforcementPlan)
        refused = row.prevention not in (None, BELOW)
        assert (verdict.outcomes[0].kind is OutcomeKind.ENFORCED) is not refused, (axis, row.change)


# --- the ladder ---

FROM_WORST = (SILENT, CUT, OPEN, CLOSED)


@pytest.mark.parametrize("asked, found", list(itertools.product((*FROM_WORST, NEVER), repeat=2)))
def test_a_failure_posture_below_the_minimum_rejects(asked: FailurePosture, found: FailurePosture) -> None:
    wants = RuntimeRequirements((wanted(),), {READ: EvidenceMinimum(failure=asked)})
    comparable = NEVER not in (asked, found)
    enough = asked is found or (comparable and FROM_WORST.index(found) >= FROM_WORST.index(asked))
    assert reasons(evaluate(backend(capable(failure=found)), wants)) == ([] if enough else [BELOW])


PARTIAL = capable(support=Support.PARTIAL, limitations=("not metadata",))


@pytest.mark.parametrize(
    "item, minimum, enough",
    [
        (capable(), EvidenceMinimum(full_support=True), True),
        (PARTIAL, EvidenceMinimum(full_support=True), False),
        (PARTIAL, EvidenceMinimum(failure=CLOSED), True),
        (PARTIAL, EvidenceMinimum(), True),
        (PARTIAL, MOST, False),
        (capable(failure=OPEN), MOST, False),
        (capable(), MOST, True),
    ],
)
def test_full_support_is_a_demand_of_its_own(item: CapabilityReport, minimum: EvidenceMinimum, enough: bool) -> None:
    verdict = evaluate(backend(item), RuntimeRequirements((wanted(),), {READ: minimum}))
    assert reasons(verdict) == ([] if enough else [BELOW])


@pytest.mark.parametrize("minimum", [EvidenceMinimum(), EvidenceMinimum(SILENT), EvidenceMinimum(NEVER), MOST])
def test_silence_fails_every_minimum(minimum: EvidenceMinimum) -> None:
    verdict = evaluate(backend(capable()), RuntimeRequirements((wanted(),), {WRITE: minimum, READ: MOST}))
    assert isinstance(verdict, Refusal)
    assert [(item.domain, item.reason) for item in verdict.shortfalls] == [(WRITE, BELOW)]
    required, offered = verdict.shortfalls[0].detail.split(" is required and ")
    assert required and offered == "nothing is offered"


def test_every_domain_below_its_minimum_is_listed() -> None:
    weak = (capable(READ, failure=OPEN), capable(WRITE, failure=SILENT), capable(NETWORK))
    wants = RuntimeRequirements((), {domain: EvidenceMinimum(CLOSED) for domain in (READ, WRITE, NETWORK, RESOURCE)})
    verdict = evaluate(backend(*weak), wants)
    assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.EVIDENCE_MINIMUM
    assert [item.domain for item in verdict.shortfalls] == [READ, WRITE, RESOURCE]
    for item in verdict.shortfalls:
        assert item.domain is not None and f"  - {item.domain.value}: {item.detail}" in verdict.text


def test_a_shortfall_of_evidence_names_what_is_required_and_what_is_there() -> None:
    item = capable(failure=OPEN, support=Support.PARTIAL, limitations=("a gap",))
    verdict = evaluate(backend(item), RuntimeRequirements((), {READ: MOST}))
    assert isinstance(verdict, Refusal)
    for words in ("fail_closed", "full", "fail_open", "partial"):
        assert words in verdict.shortfalls[0].detail


# --- the gate can only reject ---

REPORTS: Tuple[CapabilityReport, ...] = (
    capable(), PARTIAL, capable(failure=OPEN), capable(failure=NEVER), capable(mediation=Mediation.OBSERVE),
    capable(descendants=DescendantCoverage.UNMEASURED), capable(maturity=Maturity.EXPERIMENTAL),
    unsupported(READ, "none"),
)  # fmt: skip
MINIMUMS = tuple(
    EvidenceMinimum(failure, full) for failure, full in itertools.product((None, *FailurePosture), (False, True))
)


def test_no_minimum_turns_a_refusal_into_a_plan_or_changes_a_plan() -> None:
    for item, minimum, posture in itertools.product(REPORTS, MINIMUMS, Posture):
        found, asked = backend(item), (wanted(posture=posture),)
        before = negotiate(found, asked, ("floor",))
        after = evaluate(found, RuntimeRequirements(asked, {READ: minimum}), ("floor",))
        if isinstance(before, Refusal) or isinstance(after, EnforcementPlan):
            assert after == before
        else:
            assert after.kind is RefusalKind.EVIDENCE_MINIMUM and reasons(after) == [BELOW]


def test_an_unavailable_backend_is_not_judged_by_its_evidence() -> None:
    verdict = evaluate(backend(unavailable="no kernel here"), RuntimeRequirements((wanted(),), {READ: MOST}))
    assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.SELECTION
    assert reasons(verdict) == [Reason.BACKEND_UNAVAILABLE]


def test_the_minimum_judges_what_the_backend_was_narrowed_to() -> None:
    clock = wanted(RESOURCE, scope=ceilings(ResourceLimits(max_wall_clock_seconds=5)), intent=Intent.OBSERVE)
    found = narrowed(backend(capable(RESOURCE)), {clock: capable(RESOURCE, failure=OPEN)})
    minimum = {RESOURCE: EvidenceMinimum(failure=CLOSED)}
    assert reasons(evaluate(found, RuntimeRequirements((clock,), minimum))) == [BELOW]
    pids = clock._replace(scope=ceilings(ResourceLimits(max_pids=5)))
    assert reasons(evaluate(found, RuntimeRequirements((pids,), minimum))) == []


def test_boundaries_are_recorded_and_not_evaluated() -> None:
    wants = RuntimeRequirements((wanted(),), boundaries=(PlatformBoundary.GUEST_KERNEL,))
    assert evaluate(backend(capable()), wants) == negotiate(backend(capable()), (wanted(),))
