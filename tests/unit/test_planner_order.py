# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Negotiation: every reason for which a requirement is refused, and one order of the checks for both intents."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

import pytest
from support.contract import NETWORK, READ, WRITE, backend, capable, wanted

from aasm.model.domains import (
    DecisionTiming,
    DescendantCoverage,
    Maturity,
    Mediation,
    Prerequisite,
    PrerequisiteStatus,
    Support,
    Synchrony,
)
from aasm.model.plan import EnforcementPlan, OutcomeKind, Refusal, RefusalKind, RefusalReason as Reason
from aasm.model.requirements import DescendantRequirement, RequirementIntent as Intent, RequirementPosture as Posture
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


class Step(NamedTuple):
    """One check: what makes it fail, and what it is then called. `words` is what only its detail has."""

    change: Dict[str, Any]
    reason: Reason
    words: str


DESCENDANTS = Step(
    {"descendants": DescendantCoverage.UNMEASURED}, Reason.DESCENDANT_COVERAGE_INSUFFICIENT, "unmeasured is offered"
)
MATURITY = Step({"maturity": Maturity.EXPERIMENTAL}, Reason.PREREQUISITE_UNSATISFIED, "it is experimental")
# In the order of the contract; the second half of each list is what is weak as well when a step is tried.
PREVENTION: Tuple[Step, ...] = (
    Step({"domain": NETWORK}, Reason.NO_CAPABILITY_REPORTED, "says nothing"),
    Step({"support": Support.UNSUPPORTED, "reason": "no such thing"}, Reason.DOMAIN_UNSUPPORTED, "no such thing"),
    Step({"mediation": Mediation.OBSERVE}, Reason.OBSERVE_ONLY_FOR_PREVENTION_REQUIREMENT, "can only observe"),
    Step({"timing": DecisionTiming.POST}, Reason.DECISION_TOO_LATE, "comes post"),
    Step({"synchrony": Synchrony.BEST_EFFORT}, Reason.DECISION_NOT_SYNCHRONOUS, "best_effort"),
    Step({"prerequisites": lacking(UNCHECKED)}, Reason.PREREQUISITE_UNSATISFIED, "a mounted thing: unchecked"),
    MATURITY,
    DESCENDANTS,
)
# Nobody asks an observation for a prerequisite, so one that is not met takes the place of none of these.
OBSERVATION: Tuple[Step, ...] = (
    *PREVENTION[:2],
    Step({"timing": DecisionTiming.NONE}, Reason.NO_EVIDENCE_PRODUCED, "nothing about this domain is recorded"),
    MATURITY._replace(change={**MATURITY.change, "prerequisites": lacking(UNSATISFIED)}, words="validation of the"),
    DESCENDANTS,
)
STEPS = [(Intent.PREVENT_BEFORE_EFFECT, PREVENTION, at) for at in range(len(PREVENTION))]
STEPS += [(Intent.OBSERVE, OBSERVATION, at) for at in range(len(OBSERVATION))]


@pytest.mark.parametrize(
    "intent, steps, at", STEPS, ids=[f"{intent.value}-{at}-{steps[at].reason.value}" for intent, steps, at in STEPS]
)
def test_each_check_gives_its_own_reason_even_when_everything_later_is_weak_too(
    intent: Intent, steps: Tuple[Step, ...], at: int
) -> None:
    requirement, step = wanted(intent=intent), steps[at]
    alone = negotiate(backend(capable(**step.change)), (requirement,))
    everything: Dict[str, Any] = {}
    for later in reversed(steps[at:]):
        everything.update(later.change)
    verdict = negotiate(backend(capable(**everything)), (requirement,))
    assert reasons(verdict) == reasons(alone) == [step.reason]
    assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.NEGOTIATION
    assert verdict.shortfalls[0].domain is READ
    assert step.words in verdict.shortfalls[0].detail and verdict.shortfalls[0].detail in verdict.text
    assert reasons(negotiate(backend(capable()), (requirement,))) == []  # the control: nothing is weak


@pytest.mark.parametrize("status", [UNSATISFIED, UNCHECKED])
def test_a_prerequisite_that_nobody_checked_does_not_hold(status: PrerequisiteStatus) -> None:
    verdict = negotiate(backend(capable(prerequisites=lacking(status))), (wanted(),))
    assert isinstance(verdict, Refusal)
    assert verdict.shortfalls[0].detail == f"a mounted thing: {status.value} (not there)"
    met = tuple(item._replace(status=PrerequisiteStatus.SATISFIED) for item in lacking(status))
    assert reasons(negotiate(backend(capable(prerequisites=met)), (wanted(),))) == []


@pytest.mark.parametrize("steps", [PREVENTION, OBSERVATION], ids=["prevention", "observation"])
def test_the_order_of_the_vocabulary_is_the_order_of_the_checks(steps: Tuple[Step, ...]) -> None:
    given = [step.reason for step in steps]
    assert given == sorted(given, key=list(Reason).index)


def test_one_order_has_every_reason_that_a_requirement_can_be_refused_for() -> None:
    """The first is that of a backend, and the last that of the second gate."""
    given = {step.reason for step in (*PREVENTION, *OBSERVATION)}
    assert [reason for reason in Reason if reason not in given] == [
        Reason.BACKEND_UNAVAILABLE, Reason.EVIDENCE_QUALITY_BELOW_MINIMUM,
    ]  # fmt: skip
    assert list(Reason).index(Reason.BACKEND_UNAVAILABLE) == 0
    assert list(Reason)[-1] is Reason.EVIDENCE_QUALITY_BELOW_MINIMUM


@pytest.mark.parametrize("maturity", [Maturity.EXPERIMENTAL, Maturity.PLANNED])
@pytest.mark.parametrize("posture", list(Posture))
def test_an_observation_is_refused_for_its_validation_and_never_for_a_prerequisite(
    maturity: Maturity, posture: Posture
) -> None:
    """What a wall stands on is nothing to whoever only watches; that nobody tried the watching is."""
    for prerequisites in ((), lacking(UNSATISFIED), lacking(UNCHECKED)):
        watched = wanted(intent=Intent.OBSERVE, posture=posture)
        item = capable(prerequisites=prerequisites, maturity=maturity)
        verdict = negotiate(backend(item), (watched,))
        (lacks,) = verdict.shortfalls
        assert lacks.reason is Reason.PREREQUISITE_UNSATISFIED
        assert lacks.detail == f"validation of the control: unsatisfied (it is {maturity.value})"
        met = plan_of(negotiate(backend(item._replace(maturity=Maturity.VALIDATED)), (watched,)))
        assert [outcome.kind for outcome in met.outcomes] == [OutcomeKind.OBSERVED]


def test_a_prevention_names_the_prerequisite_of_the_host_before_the_validation() -> None:
    item = capable(prerequisites=lacking(UNSATISFIED), maturity=Maturity.EXPERIMENTAL)
    verdict = negotiate(backend(item), (wanted(),))
    assert isinstance(verdict, Refusal)
    assert [lacks.detail for lacks in verdict.shortfalls] == ["a mounted thing: unsatisfied (not there)"]


@pytest.mark.parametrize("coverage", list(DescendantCoverage))
@pytest.mark.parametrize("asked", list(DescendantRequirement))
@pytest.mark.parametrize("intent", list(Intent))
def test_descendants_are_judged_for_each_capability(
    coverage: DescendantCoverage, asked: DescendantRequirement, intent: Intent
) -> None:
    found = backend(capable(READ, descendants=coverage), capable(WRITE))
    verdict = negotiate(found, (wanted(intent=intent, descendants=asked), wanted(WRITE)))
    enough = coverage is DescendantCoverage.PROCESS_TREE or coverage.value == asked.value
    assert reasons(verdict) == ([] if enough else [Reason.DESCENDANT_COVERAGE_INSUFFICIENT])
