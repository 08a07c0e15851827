# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Ceilings in the native backend: what holds each of them, its own verdict, and the resource limits of an order."""

from __future__ import annotations

import itertools
import resource
from typing import Any, Dict, List, Tuple

import pytest
from support.host import facts_for_abi
from support.runs import PLACES, after, before, resolution, resolved, spawn_spec

from aasm import evidence, launcher
from aasm._sys.probe import LimitFacts
from aasm.backends.native import capability, prepare
from aasm.model.domains import (
    DOMAINS,
    CapabilityDomain as Domain,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Mediation,
    Support,
    Synchrony,
    can_prevent,
)
from aasm.model.evidence import ClaimTerm, EvidenceBasis, EvidenceKind
from aasm.model.plan import EnforcementPlan, OutcomeKind, Refusal, RefusalReason
from aasm.model.report import ControlState, RequestedControl
from aasm.model.requirements import (
    WHOLE,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    ceilings,
)
from aasm.planner import negotiate
from aasm.policy.document import inline
from aasm.policy.load import placed
from aasm.policy.lowering import lower
from aasm.policy.values import Policy

# Each ceiling: what becomes of the requirement that lowering makes of it.
REFUSED, UNMET, OBSERVED, ENFORCED = "refused", OutcomeKind.UNMET, OutcomeKind.OBSERVED, OutcomeKind.ENFORCED
VERDICTS: Dict[str, object] = {
    "max_memory_bytes": REFUSED,
    "max_cpu_seconds": UNMET,
    "max_pids": REFUSED,
    "max_wall_clock_seconds": OBSERVED,
    "max_file_size_bytes": ENFORCED,
    "max_open_files": ENFORCED,
}
HELD = ("max_open_files", "max_file_size_bytes")


def stated(**numbers: int) -> Tuple[Requirement, ...]:
    """Return what lowering makes of these ceilings."""
    return lower(Policy("p.yaml"), ResourceLimits(**numbers)).requirements


def verdict_on(requirements: Tuple[Requirement, ...], abi: int = 7) -> object:
    found = capability.narrow(capability.capabilities_of(facts_for_abi(abi)), requirements)
    return negotiate(found, requirements)


def test_every_ceiling_has_exactly_one_home() -> None:
    homes = [*capability.HELD_BY_LIMIT, *capability.NOT_HELD, capability.BY_SUPERVISOR]
    assert sorted(homes) == sorted(ResourceLimits._fields) == sorted(VERDICTS)
    assert set(capability.HELD_BY_LIMIT) == set(HELD)


def test_what_holds_a_ceiling_is_known_to_the_host_and_tried_by_the_launcher_under_one_name() -> None:
    rows = capability.HELD_BY_LIMIT
    assert {rows[name].limit for name in HELD} == {"RLIMIT_NOFILE", "RLIMIT_FSIZE"}
    assert {ceiling: row.name for ceiling, row in rows.items()} == {
        row.ceiling: name for name, row in evidence._CANARIES.items() if row.ceiling
    }
    tried = {getattr(resource, row.limit): row.name for row in rows.values()}
    assert tried == {number: canary for number, (canary, _, _) in launcher.LIMIT_CANARIES.items()}
    assert sorted(tried.values()) == sorted(LimitFacts._fields)
    for ceiling, row in rows.items():  # the order and the host fact of each are its own
        hard = LimitFacts()._replace(**{row.name: 3})
        assert prepare.limits(stated(**{ceiling: 5}), hard) == [(getattr(resource, row.limit), 3, 3)]
        assert prepare.limits(stated(**{ceiling: 5}), LimitFacts(3, 3)._replace(**{row.name: -1})) == [
            (getattr(resource, row.limit), 5, 5)
        ]


@pytest.mark.parametrize("abi", range(6, 10))
@pytest.mark.parametrize("name", VERDICTS)
def test_each_ceiling_alone_has_its_own_verdict(name: str, abi: int) -> None:
    verdict = verdict_on(stated(**{name: 5}), abi)
    if VERDICTS[name] is REFUSED:
        assert isinstance(verdict, Refusal)
        (lacking,) = verdict.shortfalls
        assert (lacking.domain, lacking.reason) == (Domain.RESOURCE, RefusalReason.DOMAIN_UNSUPPORTED)
        assert lacking.stated_by == "--" + name.replace("_", "-") and lacking.stated_by in verdict.text
        assert lacking.detail == capability.NOT_HELD[name]
    else:
        assert isinstance(verdict, EnforcementPlan)
        assert [outcome.kind for outcome in verdict.outcomes] == [VERDICTS[name]]


@pytest.mark.parametrize("names", list(itertools.combinations(VERDICTS, 2)), ids="+".join)
def test_no_ceiling_changes_the_verdict_on_another(names: Tuple[str, str]) -> None:
    verdict = verdict_on(stated(**{name: 5 for name in names}))
    refused = [name for name in names if VERDICTS[name] is REFUSED]
    if refused:
        assert isinstance(verdict, Refusal)
        assert [item.stated_by for item in verdict.shortfalls] == ["--" + name.replace("_", "-") for name in refused]
    else:
        assert isinstance(verdict, EnforcementPlan)
        kinds = {outcome.requirement.stated_by: outcome.kind for outcome in verdict.outcomes}
        assert kinds == {"--" + name.replace("_", "-"): VERDICTS[name] for name in names}


@pytest.mark.parametrize("name", VERDICTS)
@pytest.mark.parametrize("intent, posture", list(itertools.product(Intent, Posture)))
def test_no_intent_and_no_posture_gives_a_ceiling_more_than_it_has(name: str, intent: Intent, posture: Posture) -> None:
    requirement = Requirement(Domain.RESOURCE, ceilings(ResourceLimits(**{name: 5})), intent, posture)
    verdict = verdict_on((requirement,))
    enforced = isinstance(verdict, EnforcementPlan) and verdict.outcomes[0].kind is ENFORCED
    assert enforced is (VERDICTS[name] is ENFORCED and intent is Intent.PREVENT_BEFORE_EFFECT)


def test_the_clock_decides_after_the_effect_and_dies_with_the_supervisor() -> None:
    (requirement,) = stated(max_wall_clock_seconds=5)
    found = capability.narrow(capability.capabilities_of(facts_for_abi(7)), (requirement,))
    item = found.report_on(requirement)
    assert item is not None and not can_prevent(item)
    assert (item.mediation, item.timing, item.synchrony) == (
        Mediation.OBSERVE, DecisionTiming.POST, Synchrony.BEST_EFFORT,
    )  # fmt: skip
    assert (item.failure, item.descendants) == (FailurePosture.FAIL_OPEN, DescendantCoverage.PROCESS_TREE)


@pytest.mark.parametrize("names", [HELD[:1], HELD[1:], HELD], ids="+".join)
def test_a_resource_limit_says_which_it_is_and_that_it_counts_each_process_by_itself(names: Tuple[str, ...]) -> None:
    requirement = Requirement(Domain.RESOURCE, ceilings(ResourceLimits(**{name: 5 for name in names})))
    item = capability.narrow(capability.capabilities_of(facts_for_abi(7)), (requirement,)).report_on(requirement)
    assert item is not None and can_prevent(item) and item.support is Support.PARTIAL
    assert all(capability.HELD_BY_LIMIT[name].limit in item.mechanism for name in names)
    tried = [f"canary {capability.HELD_BY_LIMIT[name].name}" for name in names]
    assert sorted(item.witness.split(" and ")) == sorted(tried)
    assert any("each process by itself" in text for text in item.limitations)


@pytest.mark.parametrize(
    "limits",
    [
        ResourceLimits(max_open_files=5, max_memory_bytes=5),
        ResourceLimits(max_open_files=5, max_wall_clock_seconds=5),
        ResourceLimits(max_pids=5, max_wall_clock_seconds=5),
        ResourceLimits(*[5] * 6),
    ],
)
def test_one_requirement_that_mixes_what_is_held_and_what_is_not_is_not_held(limits: ResourceLimits) -> None:
    assert isinstance(verdict_on((Requirement(Domain.RESOURCE, ceilings(limits)),)), Refusal)


def test_the_clock_is_its_own_witness_and_what_nothing_holds_has_none() -> None:
    found = capability.narrow(capability.capabilities_of(facts_for_abi(7)), stated(**{name: 5 for name in VERDICTS}))
    witnesses = {item.stated_by: found.report_on(item) for item in stated(**{name: 5 for name in VERDICTS})}
    for name in VERDICTS:
        item = witnesses["--" + name.replace("_", "-")]
        assert item is not None and bool(item.witness) is (name not in capability.NOT_HELD), name
        assert item.witness.startswith("canary ") is (name in HELD)


def test_a_ceiling_without_a_number_is_unsupported() -> None:
    verdict = verdict_on((Requirement(Domain.RESOURCE, WHOLE),))
    assert isinstance(verdict, Refusal) and "needs a number" in verdict.text


# --- the limits of an order ---

FILES, SIZE = resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE


@pytest.mark.parametrize(
    "numbers, hard, expected",
    [
        ({}, LimitFacts(), []),
        ({"max_open_files": 64}, LimitFacts(), [(FILES, 64)]),
        ({"max_open_files": 64}, LimitFacts(1024, 4096), [(FILES, 64)]),
        ({"max_open_files": 64}, LimitFacts(64, 0), [(FILES, 64)]),
        ({"max_open_files": 64}, LimitFacts(32, -1), [(FILES, 32)]),
        ({"max_open_files": 64}, LimitFacts(0, -1), [(FILES, 0)]),
        ({"max_file_size_bytes": 0}, LimitFacts(), [(SIZE, 0)]),
        ({"max_file_size_bytes": 1 << 40}, LimitFacts(1024, 1 << 20), [(SIZE, 1 << 20)]),
        ({"max_file_size_bytes": 7, "max_open_files": 9}, LimitFacts(8, 8), [(SIZE, 7), (FILES, 8)]),
    ],
)
def test_a_limit_is_the_ceiling_and_never_more_than_the_host_gives(
    numbers: Dict[str, int], hard: LimitFacts, expected: List[Tuple[int, int]]
) -> None:
    assert prepare.limits(stated(**numbers), hard) == [(number, value, value) for number, value in expected]


@pytest.mark.parametrize("values", [(64, 32), (32, 64), (32, 32), (32, 64, 48)])
def test_the_smallest_of_several_ceilings_counts(values: Tuple[int, ...]) -> None:
    requirements = [requirement for value in values for requirement in stated(max_open_files=value)]
    assert prepare.limits(tuple(requirements), LimitFacts()) == [(FILES, 32, 32)]
    assert prepare.limits(tuple(requirements), LimitFacts(16)) == [(FILES, 16, 16)]


def test_other_domains_bring_no_limit() -> None:
    requirements = lower(placed(inline(["/a"], [], False), PLACES)).requirements
    assert len(requirements) == 2 and prepare.limits(requirements, LimitFacts()) == []


ORDERED: Dict[str, Tuple[Dict[str, int], Tuple[str, ...]]] = {
    "none": ({}, ()),
    "one": ({"max_open_files": 64}, ("open_files",)),
    "both": ({"max_open_files": 64, "max_file_size_bytes": 1 << 20}, ("open_files", "file_size")),
    "what no limit holds": ({"max_wall_clock_seconds": 5, "max_cpu_seconds": 5}, ()),
}


@pytest.mark.parametrize("case", ORDERED)
def test_an_order_limits_what_the_plan_enforces_and_says_so(case: str) -> None:
    numbers, tried = ORDERED[case]
    found = resolution(ceilings=ResourceLimits(**numbers))
    assert found.run.plan is not None
    reasons = dict(prepare.canaries(found.run))
    assert tuple(name for name in ("open_files", "file_size") if not reasons[name]) == tried
    made = spawn_spec(found)
    assert made is not None
    installed = [item for item in made.installed if item.domain is Domain.RESOURCE]
    assert len(installed) == bool(tried)
    for item in installed:
        assert (item.kind, item.claim) == (EvidenceKind.INSTALLED, ClaimTerm.PLANNED)
        assert item.detail.count("resource limit") == len(tried)


# --- what the report says of them ---


@pytest.mark.parametrize(
    "numbers, state",
    [
        ({"max_open_files": 64}, ControlState.PREVENTION),
        ({"max_wall_clock_seconds": 5}, ControlState.OBSERVE_ONLY),
        ({"max_open_files": 64, "max_wall_clock_seconds": 5}, ControlState.OBSERVE_ONLY),
        ({"max_open_files": 64, "max_cpu_seconds": 5}, ControlState.UNSUPPORTED),
    ],
)
def test_the_domain_folds_to_its_weakest_ceiling(numbers: Dict[str, int], state: ControlState) -> None:
    found = resolution(ceilings=ResourceLimits(**numbers))
    for report in (before(found.run), after(found, open_files="held")):
        (line,) = [item for item in report.domains if item.domain is Domain.RESOURCE]
        assert line.state is state
        assert line.claim is not ClaimTerm.DENIED_BEFORE_EXECUTION


def test_without_a_boundary_a_ceiling_is_stated_and_neither_required_nor_held() -> None:
    everything: Any = {name: 5 for name in VERDICTS}
    run = resolved(isolation="none", ceilings=ResourceLimits(**everything))
    assert run.refusal is None and run.spec.requirements == () and run.plan is None
    assert run.ceilings == ResourceLimits(**everything)  # said, so that a preview can say that nothing keeps them
    (line,) = [item for item in before(run).domains if item.domain is Domain.RESOURCE]
    assert line.requested is RequestedControl.STATED and all(f"{name}=5" in line.requested_detail for name in VERDICTS)
    assert (line.state, line.claim, line.basis) == (
        ControlState.UNMEASURED, ClaimTerm.UNMEASURED, EvidenceBasis.NONE,
    )  # fmt: skip
    assert (line.expected, line.sources) == (ClaimTerm.UNMEASURED, ())
    silent = before(resolved(isolation="none"))
    assert silent.domains[DOMAINS.index(Domain.RESOURCE)].requested is RequestedControl.NOT_STATED
