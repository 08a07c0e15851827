# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a report expects is never less than what a run can come to: of every case, and of many drawn policies."""

from __future__ import annotations

import itertools
import random
from typing import Dict, Iterator, List

import pytest
from support.contract import READ, capable, outcome
from support.drawn import draw
from support.reports import CASES, LAUNCHED
from support.runs import before, ended, resolution, run_of

from aasm._sys.boundary import CANARIES
from aasm.model.domains import CapabilityDomain as Domain, DecisionTiming, Maturity, Mediation
from aasm.model.evidence import CLAIM_RANK, ClaimTerm, EvidenceKind, asserts_coverage, claim_ceiling
from aasm.model.plan import EnforcementPlan, OutcomeKind
from aasm.model.record import Ending
from aasm.model.report import DomainLine, IsolationReport, RequestedControl, ScopeGranularity
from aasm.model.requirements import ResourceLimits
from aasm.policy.lowering import NODES, WHOLE_DOMAIN_ONLY
from aasm.run import Resolution

RESULTS = ("held", "inconclusive")
EVERY_RESULT = [dict(zip(CANARIES, results)) for results in itertools.product(RESULTS, repeat=len(CANARIES))]
BOUND = {ClaimTerm.OBSERVED, ClaimTerm.DETECTED, ClaimTerm.PLANNED, ClaimTerm.DEGRADED, ClaimTerm.UNMEASURED}


def endings(found: Resolution) -> Iterator[Ending]:
    """Return the ways in which a run can end: only a clock that runs can end it."""
    yield Ending.EXITED
    if found.run.ceilings.max_wall_clock_seconds is not None and found.run.plan is not None:
        yield Ending.WALL_CLOCK


def ends(found: Resolution) -> Iterator[IsolationReport]:
    for ending, canaries in itertools.product(endings(found), EVERY_RESULT):
        yield ended(found, ending, canaries)


def below(expected: DomainLine, line: DomainLine) -> bool:
    return CLAIM_RANK[line.claim] <= CLAIM_RANK[expected.expected]


@pytest.mark.parametrize("name", LAUNCHED)
def test_no_case_comes_to_more_than_it_expects(name: str) -> None:
    found = LAUNCHED[name]()
    said = before(found.run).domains
    for made in ends(found):
        for expected, line in zip(said, made.domains):
            assert below(expected, line), (line.domain, line.claim, expected.expected)
            assert (line.expected, line.sources, line.granularity) == (
                expected.expected, expected.sources, expected.granularity,
            )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_case_expects_what_nothing_records(name: str) -> None:
    """No release records single decisions yet, so none expects that a denial will be shown."""
    for line in before(CASES[name]().run).domains:
        assert line.expected in BOUND
        exercised = any(text.startswith(f"{EvidenceKind.EXERCISED.value}: ") for text in line.sources)
        assert not asserts_coverage(line.expected) or exercised
        for text in line.sources:
            kind, _, words = text.partition(": ")
            assert kind in (EvidenceKind.INSTALLED.value, EvidenceKind.EXERCISED.value) and words


def test_what_is_expected_can_be_reached() -> None:
    """A bound that nothing comes near would say nothing."""
    reached: Dict[Domain, List[ClaimTerm]] = {}
    limits = ResourceLimits(max_wall_clock_seconds=5)
    for found in (resolution(), resolution(ceilings=ResourceLimits(max_open_files=9)), resolution(ceilings=limits)):
        for expected, *lines in zip(before(found.run).domains, *(made.domains for made in ends(found))):
            if asserts_coverage(expected.expected):
                assert expected.expected in [line.claim for line in lines], expected.domain
                reached.setdefault(expected.domain, []).append(expected.expected)
    assert reached == {
        Domain.FILESYSTEM_READ: [ClaimTerm.OBSERVED] * 3,
        Domain.FILESYSTEM_WRITE: [ClaimTerm.OBSERVED] * 3,
        Domain.RESOURCE: [ClaimTerm.OBSERVED, ClaimTerm.DETECTED],
    }


def drawn_plans(seed: str, number: int) -> Iterator[Resolution]:
    """Return resolutions of drawn policies, those that are launched."""
    rng = random.Random(seed)
    for _ in range(number):
        drawn = draw(rng)
        found = resolution(policy=drawn.text(), ceilings=drawn.ceilings, abi=rng.randrange(6, 10))
        if found.run.plan is not None:
            yield found


def test_no_drawn_policy_comes_to_more_than_it_expects() -> None:
    rng, covered, compared = random.Random("canaries"), 0, 0
    for found in drawn_plans("claims to come", 300):
        said, canaries = before(found.run).domains, rng.choice(EVERY_RESULT)
        for ending in endings(found):
            lines = ended(found, ending, canaries).domains
            assert all(below(expected, line) for expected, line in zip(said, lines)), (found.run, canaries)
            covered, compared = covered + any(asserts_coverage(line.claim) for line in lines), compared + 1
    assert compared > 100 and covered > 50


def weaker(rng: random.Random, plan: EnforcementPlan) -> EnforcementPlan:
    """Return the plan with some outcomes that are not met, by permission."""
    kinds = (OutcomeKind.DEGRADED, OutcomeKind.UNMET)
    short = [outcome(item.requirement.domain, rng.choice(kinds)) for item in plan.outcomes]
    changed = [
        made._replace(requirement=item.requirement) if rng.random() < 0.3 else item
        for item, made in zip(plan.outcomes, short)
    ]
    return plan._replace(outcomes=tuple(changed))


def test_no_plan_that_is_met_in_part_comes_to_more_than_it_expects() -> None:
    rng, lowered, held = random.Random("in part"), 0, dict.fromkeys(CANARIES, "held")
    for found in drawn_plans("in part", 300):
        assert found.run.plan is not None
        part = found._replace(run=found.run._replace(plan=weaker(rng, found.run.plan)))
        said, whole = before(part.run).domains, before(found.run).domains
        lines = ended(part, Ending.EXITED, held).domains  # what a clock ended is detected, whatever stands beside it
        assert all(below(expected, line) for expected, line in zip(said, lines)), part.run
        assert all(CLAIM_RANK[a.expected] <= CLAIM_RANK[b.expected] for a, b in zip(said, whole))
        lowered += said != whole
    assert lowered > 50


# --- of one report ------------------------------------------------------------------------------------


@pytest.mark.parametrize("timing", [DecisionTiming.PRE, DecisionTiming.POST])
@pytest.mark.parametrize("mediation", [Mediation.ENFORCE, Mediation.OBSERVE, Mediation.NONE])
@pytest.mark.parametrize("maturity", list(Maturity))
@pytest.mark.parametrize("witness", ["", "canary file_read"])
def test_only_a_control_that_is_exercised_and_may_be_claimed_at_all_expects_coverage(
    timing: DecisionTiming, mediation: Mediation, maturity: Maturity, witness: str
) -> None:
    item = capable(timing=timing, mediation=mediation, maturity=maturity, witness=witness)
    line = before(run_of(outcome(READ), reports=(item,))).domains[0]
    may = bool(witness) and asserts_coverage(claim_ceiling(item))
    term = ClaimTerm.DETECTED if timing is DecisionTiming.POST else ClaimTerm.OBSERVED
    assert line.expected is (term if may else ClaimTerm.PLANNED)
    assert line.sources == (f"installed: {item.mechanism}", *([f"exercised: {witness}"] if witness else []))


@pytest.mark.parametrize(
    "kind, expected", [(OutcomeKind.DEGRADED, ClaimTerm.DEGRADED), (OutcomeKind.UNMET, ClaimTerm.UNMEASURED)]
)
def test_what_is_not_met_expects_no_coverage_and_has_no_source(kind: OutcomeKind, expected: ClaimTerm) -> None:
    line = before(run_of(outcome(READ, kind), reports=(capable(),))).domains[0]
    assert (line.expected, line.sources) == (expected, ())
    beside = before(run_of(outcome(READ), outcome(READ, kind), reports=(capable(),))).domains[0]
    assert beside.expected is expected and len(beside.sources) == 2  # those of what is met


def test_a_source_of_several_requirements_is_named_once() -> None:
    line = before(run_of(outcome(READ), outcome(READ, path="/b"), reports=(capable(),))).domains[0]
    assert len(line.sources) == 2


def test_a_domain_that_the_backend_says_nothing_about_expects_nothing_of_it() -> None:
    line = before(run_of(outcome(READ), reports=())).domains[0]
    assert (line.expected, line.sources) == (ClaimTerm.PLANNED, ())


# --- granularity --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_how_finely_a_domain_can_be_stated_is_said_of_what_a_policy_states(name: str) -> None:
    run = CASES[name]().run
    for line, coverage in zip(before(run).domains, run.coverage):
        assert line.granularity is coverage.granularity
        if line.requested is not RequestedControl.STATED or line.domain not in NODES:
            assert line.granularity is None


def test_every_granularity_is_that_of_the_policy_format() -> None:
    seen: Dict[Domain, ScopeGranularity] = {}
    for found in drawn_plans("granularity", 100):
        seen.update({line.domain: line.granularity for line in before(found.run).domains if line.granularity})
    assert seen == {
        domain: ScopeGranularity.WHOLE_DOMAIN_ONLY if domain in WHOLE_DOMAIN_ONLY else ScopeGranularity.ENUMERATED
        for domain in NODES
    }
