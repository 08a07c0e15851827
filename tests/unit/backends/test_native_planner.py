# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the native backend plans on every version of the kernel: the rules of negotiation on its own reports."""

from __future__ import annotations

import itertools
from typing import Tuple, Union

import pytest
from support.contract import wanted
from support.host import facts_for_abi

from aasm._sys import landlock
from aasm.backends.native import capability, floor
from aasm.model.domains import CapabilityDomain as Domain, FailurePosture
from aasm.model.plan import EnforcementPlan, LaunchPosture, OutcomeKind, Refusal, RefusalKind, RefusalReason as Reason
from aasm.model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    LISTENING,
    UNIX_SOCKETS,
    EvidenceMinimum,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    RuntimeRequirements,
    ceilings,
    none_of,
    permit_only,
)
from aasm.planner import evaluate, negotiate

ALL_HELD = (
    wanted(Domain.FILESYSTEM_READ, scope=permit_only(("/usr",))),
    wanted(Domain.FILESYSTEM_WRITE),
    wanted(Domain.NETWORK_EGRESS),
    wanted(Domain.SYSCALL, scope=permit_only(("read",))),
    wanted(Domain.PROCESS_CREATION),
    wanted(Domain.RESOURCE, scope=ceilings(ResourceLimits(max_open_files=64))),
)
NEVER_HELD = (
    wanted(Domain.NETWORK_EGRESS, scope=permit_only(("host",))),
    wanted(Domain.SYSCALL),
    wanted(Domain.RESOURCE),
    wanted(Domain.RESOURCE, scope=ceilings(ResourceLimits(max_memory_bytes=1 << 20))),
    wanted(Domain.FILESYSTEM_READ, scope=none_of(EXECUTING)),
    wanted(Domain.NETWORK_EGRESS, scope=none_of(LISTENING)),
    wanted(Domain.NETWORK_EGRESS, scope=permit_only((f"{LISTENING}:80",))),
    wanted(Domain.IPC),
    wanted(Domain.IPC, scope=permit_only((f"{UNIX_SOCKETS}:/run/x",))),
    *(wanted(domain) for domain in capability.MISSING),
)
# What states a part of a domain by itself, and is held.
PARTS_HELD = (
    wanted(Domain.FILESYSTEM_READ, scope=permit_only((f"{EXECUTING}:/usr/bin",))),
    wanted(Domain.IPC, scope=none_of(UNIX_SOCKETS)),
    wanted(Domain.CREDENTIAL, scope=none_of(ENVIRONMENT)),
    wanted(Domain.CREDENTIAL, scope=permit_only((f"{CAPABILITY}:CAP_CHOWN",))),
)
SETS = [
    *(subset for size in range(1, 7) for subset in itertools.combinations(ALL_HELD, size)),
    *(subset for size in (1, 2) for subset in itertools.combinations((*PARTS_HELD, *ALL_HELD), size)),
    (*ALL_HELD, *PARTS_HELD),
]
EVERY_ABI = range(0, landlock.NEWEST_ABI + 2)  # one that the table does not know yet, too


def plan_for(abi: int, requirements: Tuple[Requirement, ...], lost: int = 0) -> Union[EnforcementPlan, Refusal]:
    facts = facts_for_abi(abi)
    facts = facts._replace(landlock=facts.landlock._replace(fs=facts.landlock.fs & ~lost))
    found = capability.narrow(capability.capabilities_of(facts), requirements)
    return negotiate(found, requirements, floor.describe())


@pytest.mark.parametrize("abi", EVERY_ABI)
def test_every_statement_is_either_held_as_a_whole_or_the_launch_is_refused(abi: int) -> None:
    for requirements in SETS:
        verdict = plan_for(abi, requirements)
        if abi < 6:
            assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.SELECTION
            continue
        assert isinstance(verdict, EnforcementPlan) and verdict.posture is LaunchPosture.READY
        assert {outcome.kind for outcome in verdict.outcomes} == {OutcomeKind.ENFORCED}
        assert tuple(outcome.requirement for outcome in verdict.outcomes) == requirements
        assert verdict.floor == floor.describe()
        assert all(outcome.lowering for outcome in verdict.outcomes)


STRENGTH = (OutcomeKind.UNMET, OutcomeKind.DEGRADED, OutcomeKind.OBSERVED, OutcomeKind.ENFORCED)


def strengths(verdict: Union[EnforcementPlan, Refusal]) -> "list[int]":
    """Return how strong each outcome is; a refusal is weaker than any plan, since nothing runs."""
    return [STRENGTH.index(item.kind) for item in verdict.outcomes] if isinstance(verdict, EnforcementPlan) else [-1]


@pytest.mark.parametrize("posture", list(Posture))
def test_a_newer_kernel_never_gives_a_weaker_plan(posture: Posture) -> None:
    for requirements in (*SETS, *((item,) for item in NEVER_HELD)):
        asked = tuple(item._replace(posture=posture) for item in requirements)
        found = [strengths(plan_for(abi, asked)) for abi in EVERY_ABI]
        for older, newer in zip(found, found[1:]):
            assert older == [-1] or all(weak <= strong for weak, strong in zip(older, newer)), asked


@pytest.mark.parametrize("bit", range(17))
def test_losing_a_right_never_gives_a_plan_that_needs_it(bit: int) -> None:
    lost = 1 << bit
    if lost & landlock.rights_known(7).fs:
        for domain, needed in (
            (Domain.FILESYSTEM_READ, landlock.READ_RIGHTS | landlock.EXECUTE),
            (Domain.FILESYSTEM_WRITE, landlock.WRITE_RIGHTS | landlock.NEVER_GRANTED),
        ):
            verdict = plan_for(7, (wanted(domain),), lost)
            assert isinstance(verdict, Refusal) == bool(needed & lost), (landlock.names(lost, "fs"), domain)


@pytest.mark.parametrize("requirement", NEVER_HELD, ids=lambda item: str(item.domain.value))
@pytest.mark.parametrize("abi", [6, 9])
def test_what_this_backend_cannot_hold_is_refused_on_every_kernel(requirement: Requirement, abi: int) -> None:
    verdict = plan_for(abi, (requirement._replace(stated_by="a node"),))
    assert isinstance(verdict, Refusal)
    assert [item.reason for item in verdict.shortfalls] == [Reason.DOMAIN_UNSUPPORTED]
    first, second = verdict.text.splitlines()
    assert first == "the `aasm-native` backend cannot meet what is required:"
    assert second.startswith(f"  - {requirement.domain.value} (a node): ")


@pytest.mark.parametrize("requirement", NEVER_HELD, ids=lambda item: str(item.domain.value))
def test_what_is_refused_sinks_no_other_domain(requirement: Requirement) -> None:
    optional = requirement._replace(posture=Posture.OPTIONAL)
    others = tuple(item for item in ALL_HELD if item.domain is not requirement.domain)
    verdict = plan_for(7, (*others, optional))
    assert isinstance(verdict, EnforcementPlan)
    assert [outcome.kind for outcome in verdict.outcomes] == [OutcomeKind.ENFORCED] * len(others) + [OutcomeKind.UNMET]


# --- the minimum of evidence, on its own reports ---

CLOCK = wanted(
    Domain.RESOURCE, scope=ceilings(ResourceLimits(max_wall_clock_seconds=5)), intent=Intent.OBSERVE,
    posture=Posture.OPTIONAL,
)  # fmt: skip


@pytest.mark.parametrize(
    "requirement, minimum, enough",
    [
        (ALL_HELD[0], EvidenceMinimum(FailurePosture.FAIL_CLOSED), True),
        (ALL_HELD[0], EvidenceMinimum(full_support=True), False),  # it states its limitations
        (ALL_HELD[5], EvidenceMinimum(FailurePosture.FAIL_CLOSED), True),
        (CLOCK, EvidenceMinimum(FailurePosture.FAIL_OPEN), True),
        (CLOCK, EvidenceMinimum(FailurePosture.FAIL_CLOSED), False),  # it dies with the supervisor
    ],
)
def test_the_minimum_is_asked_of_what_holds_the_requirement(
    requirement: Requirement, minimum: EvidenceMinimum, enough: bool
) -> None:
    found = capability.narrow(capability.capabilities_of(facts_for_abi(7)), (requirement,))
    verdict = evaluate(found, RuntimeRequirements((requirement,), {requirement.domain: minimum}))
    assert isinstance(verdict, EnforcementPlan) is enough
