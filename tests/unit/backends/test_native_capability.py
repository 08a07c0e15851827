# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the native backend says about itself on hosts of every kind, and what it cannot lower."""

from __future__ import annotations

from typing import Any

import pytest
from support.host import ALL_OF_SECCOMP, facts_for_abi

from aasm import evidence
from aasm._sys import boundary, landlock, probe
from aasm.backends.native import capability
from aasm.model.domains import (
    CapabilityDomain as Domain,
    DecisionTiming,
    DescendantCoverage,
    FailurePosture,
    Maturity,
    Mediation,
    PlatformBoundary,
    Support,
    Synchrony,
    can_prevent,
)
from aasm.model.plan import EnforcementPlan
from aasm.model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    LISTENING,
    UNIX_SOCKETS,
    WHOLE,
    Requirement,
    RequirementIntent as Intent,
    ResourceLimits,
    Scope,
    ceilings,
    none_of,
    permit_only,
)
from aasm.planner import negotiate

HELD = (
    Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE, Domain.NETWORK_EGRESS, Domain.SYSCALL, Domain.PROCESS_CREATION,
    Domain.IPC, Domain.CREDENTIAL, Domain.RESOURCE,
)  # fmt: skip
EXECUTE, READ_FILE, MAKE_SYM, TRUNCATE, REFER = 1 << 0, 1 << 2, 1 << 12, 1 << 14, 1 << 13


def without(fs: int, abi: int = 7) -> probe.HostFacts:
    """Return the facts of a kernel that reports an ABI and refuses some of its rights."""
    facts = facts_for_abi(abi)
    return facts._replace(landlock=facts.landlock._replace(fs=facts.landlock.fs & ~fs))


def lacking(fact: str) -> probe.SeccompFacts:
    """Return the facts of a kernel that filters calls and lacks one thing."""
    changes: Any = {fact: False}
    return ALL_OF_SECCOMP._replace(**changes)


@pytest.mark.parametrize("abi", range(0, landlock.NEWEST_ABI + 1))
def test_a_boundary_exists_from_the_version_that_scopes_signals(abi: int) -> None:
    found = capability.capabilities_of(facts_for_abi(abi))
    assert bool(found.unavailable) == (abi < 6)
    assert found.provenance.id == "aasm-native" and found.boundary is PlatformBoundary.SHARED_HOST_KERNEL
    if abi < 6:
        assert found.reports == ()  # silence, never a promise
        assert all(found.report_for(domain) is None for domain in Domain)
    else:
        assert [item.domain for item in found.reports] == list(Domain)
        assert tuple(item.domain for item in found.reports if item.support is not Support.UNSUPPORTED) == HELD


@pytest.mark.parametrize("abi", [1, 3, 5])
def test_an_old_kernel_is_told_what_it_lacks_and_which_brings_it(abi: int) -> None:
    reason = capability.unavailable(facts_for_abi(abi))
    assert f"ABI {abi} is usable here and 6 is needed (Linux 6.12)" in reason
    assert "signals and abstract unix sockets" in reason


@pytest.mark.parametrize("state", ["not_built", "disabled_at_boot", "filtered", "unmeasured", "unsupported_host"])
def test_without_landlock_the_reason_is_the_one_that_was_found(state: str) -> None:
    facts = facts_for_abi(0)
    facts = facts._replace(landlock=facts.landlock._replace(state=state, detail=f"because of {state}"))
    assert capability.unavailable(facts) == f"because of {state}"


@pytest.mark.parametrize("missing", ["filter", "errno", "kill_process"])
def test_without_a_filter_that_can_refuse_and_kill_there_is_no_boundary(missing: str) -> None:
    seccomp = lacking(missing)
    assert capability.unavailable(facts_for_abi(7, seccomp=seccomp)) == "this kernel cannot filter system calls"
    seccomp = seccomp._replace(detail="as found")
    assert capability.unavailable(facts_for_abi(7, seccomp=seccomp)) == "as found"


@pytest.mark.parametrize("fact", ["user_notif", "wait_killable"])
def test_what_no_boundary_of_this_release_needs_is_not_asked_for(fact: str) -> None:
    assert capability.unavailable(facts_for_abi(7, seccomp=lacking(fact))) == ""


@pytest.mark.parametrize("euid", [0, 1000])
@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "riscv64"])
def test_identity_and_architecture_change_nothing(euid: int, arch: str) -> None:
    found = capability.capabilities_of(facts_for_abi(7, arch, euid=euid))
    assert found == capability.capabilities_of(facts_for_abi(7))


# --- the reports ---


def test_every_domain_is_either_held_with_its_limits_or_missing_with_its_reason() -> None:
    assert set(capability.LIMITATIONS) == set(HELD)
    assert set(capability.LIMITATIONS) | set(capability.MISSING) == set(Domain)
    assert not set(capability.LIMITATIONS) & set(capability.MISSING)
    assert set(capability.MECHANISMS) == set(HELD)
    texts = [text for found in capability.LIMITATIONS.values() for text in found]
    texts += [*capability.MISSING.values(), *capability.MECHANISMS.values(), *capability.NOT_HELD.values()]
    assert all(text and text.isprintable() for text in texts)


@pytest.mark.parametrize("domain", HELD)
def test_what_is_held_is_held_before_the_effect_in_the_whole_tree(domain: Domain) -> None:
    item = capability.capabilities_of(facts_for_abi(7)).report_for(domain)
    assert item is not None and can_prevent(item)
    assert (item.mediation, item.timing, item.synchrony) == (Mediation.ENFORCE, DecisionTiming.PRE, Synchrony.SYNC)
    assert (item.failure, item.descendants) == (FailurePosture.FAIL_CLOSED, DescendantCoverage.PROCESS_TREE)
    assert item.support is Support.PARTIAL and item.limitations == capability.LIMITATIONS[domain]
    assert item.maturity is Maturity.VALIDATED  # by tests/kernel and tests/adversarial, on the kernel they ran on
    assert item.mechanism == capability.MECHANISMS[domain]


def test_a_control_has_a_witness_exactly_where_a_canary_exercises_it() -> None:
    """The canary of the call is refused by the floor whatever is asked, and so is no domain's witness."""
    found = capability.capabilities_of(facts_for_abi(7))
    witnesses = {item.domain: item.witness for item in found.reports if item.witness}
    assert witnesses == {
        Domain.FILESYSTEM_READ: "canary file_read", Domain.FILESYSTEM_WRITE: "canary file_write",
    } == dict(capability.WITNESSES)  # fmt: skip
    speaks_of = {text.split()[1]: domain for domain, text in witnesses.items()}
    speaks_of.update({row.name: Domain.RESOURCE for row in capability.HELD_BY_LIMIT.values()})
    assert {name: row.domain for name, row in evidence._CANARIES.items()} == {**speaks_of, "call": None}
    assert sorted(evidence._CANARIES) == sorted(boundary.CANARIES)


@pytest.mark.parametrize("domain", [domain for domain in Domain if domain not in HELD])
def test_what_is_missing_promises_nothing(domain: Domain) -> None:
    item = capability.capabilities_of(facts_for_abi(9)).report_for(domain)
    assert item is not None and not can_prevent(item)
    assert item.support is Support.UNSUPPORTED and item.reason == capability.MISSING[domain]


@pytest.mark.parametrize(
    "lost, domain, name",
    [
        (READ_FILE, Domain.FILESYSTEM_READ, "read_file"),
        (EXECUTE, Domain.FILESYSTEM_READ, "execute"),
        (MAKE_SYM, Domain.FILESYSTEM_WRITE, "make_sym"),
        (TRUNCATE, Domain.FILESYSTEM_WRITE, "truncate"),
        (REFER, Domain.FILESYSTEM_WRITE, "refer"),
    ],
)
def test_a_right_that_the_kernel_refuses_takes_its_domain_away(lost: int, domain: Domain, name: str) -> None:
    found = capability.capabilities_of(without(lost))
    item = found.report_for(domain)
    assert item is not None and item.support is Support.UNSUPPORTED
    assert item.reason == f"this kernel refuses the Landlock rights {name}"
    others = [other.domain for other in found.reports if other.support is not Support.UNSUPPORTED]
    assert others == [other for other in HELD if other is not domain]


# --- what cannot be lowered ---

SELECTED = permit_only(("one", "two"))
LOWERING: dict[str, tuple[Domain, Scope, str]] = {
    "hosts": (Domain.NETWORK_EGRESS, SELECTED, "single destinations are not held"),
    "the network": (Domain.NETWORK_EGRESS, WHOLE, ""),
    "some processes": (Domain.PROCESS_CREATION, SELECTED, "only new processes as a whole"),
    "a number of processes": (Domain.PROCESS_CREATION, ceilings(ResourceLimits(max_pids=3)), "only new processes"),
    "all processes": (Domain.PROCESS_CREATION, WHOLE, ""),
    "named calls": (Domain.SYSCALL, SELECTED, ""),
    "no call": (Domain.SYSCALL, WHOLE, "an empty list of permitted calls"),
    "paths": (Domain.FILESYSTEM_READ, SELECTED, ""),
    "no execution at all": (Domain.FILESYSTEM_READ, none_of(EXECUTING), "nothing at all may be executed"),
    "ports to listen on": (Domain.NETWORK_EGRESS, permit_only((f"{LISTENING}:80",)), "ports to listen on are not held"),
    "no port to listen on": (Domain.NETWORK_EGRESS, none_of(LISTENING), "ports to listen on are not held"),
    "unix sockets": (Domain.IPC, permit_only((f"{UNIX_SOCKETS}:/x",)), "single unix sockets are not held"),
    "no unix socket": (Domain.IPC, none_of(UNIX_SOCKETS), ""),
    "all channels": (Domain.IPC, WHOLE, "channels are not refused as a whole"),
    "some channels": (Domain.IPC, SELECTED, "single unix sockets are not held"),
    "variables": (Domain.CREDENTIAL, permit_only((f"{ENVIRONMENT}:A",)), ""),
    "no variable": (Domain.CREDENTIAL, none_of(ENVIRONMENT), ""),
    "capabilities": (Domain.CREDENTIAL, permit_only((f"{CAPABILITY}:CAP_CHOWN",)), ""),
    "no capability": (Domain.CREDENTIAL, none_of(CAPABILITY), ""),
    "no path": (Domain.FILESYSTEM_WRITE, WHOLE, ""),
}


@pytest.mark.parametrize("domain, scope, gap", LOWERING.values(), ids=list(LOWERING))
def test_what_cannot_be_lowered_is_unsupported_for_this_requirement_alone(
    domain: Domain, scope: Scope, gap: str
) -> None:
    found, requirement = capability.capabilities_of(facts_for_abi(7)), Requirement(domain, scope)
    narrowed = capability.narrow(found, (requirement,))
    text = capability.lowering_gap(requirement)
    assert text.startswith(gap) and bool(text) == bool(gap)
    item = narrowed.report_on(requirement)
    assert item is not None and (item.support is Support.UNSUPPORTED) == bool(gap)
    assert not gap or item.reason == text
    assert item.domain is domain
    # no report of a domain changes, and so no sibling
    assert narrowed.reports == found.reports
    other = requirement._replace(stated_by="somebody else")
    assert narrowed.report_on(other) == found.report_for(domain)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("ports", [permit_only((f"{LISTENING}:80",)), none_of(LISTENING)], ids=["some", "none"])
def test_no_port_to_listen_on_is_held_exactly_where_there_is_no_network_at_all(whole: bool, ports: Scope) -> None:
    listening = Requirement(Domain.NETWORK_EGRESS, ports)
    network = Requirement(Domain.NETWORK_EGRESS, WHOLE if whole else permit_only(("a.com",)))
    found = capability.narrow(capability.capabilities_of(facts_for_abi(7)), (network, listening))
    item = found.report_on(listening)
    assert item is not None and can_prevent(item) == (whole and ports == none_of(LISTENING))


def test_executing_by_itself_is_held_with_limits_of_its_own_and_no_canary_speaks_for_it() -> None:
    executing = Requirement(Domain.FILESYSTEM_READ, permit_only((f"{EXECUTING}:/usr/bin",)))
    reading = Requirement(Domain.FILESYSTEM_READ, permit_only(("/usr",)))
    found = capability.narrow(capability.capabilities_of(facts_for_abi(7)), (reading, executing))
    item, other = found.report_on(executing), found.report_on(reading)
    assert item is not None and other is not None and can_prevent(item)
    assert (item.domain, item.support, item.witness) == (Domain.FILESYSTEM_READ, Support.PARTIAL, "")
    assert any("interpreter" in text for text in item.limitations) and "executing" in item.mechanism
    assert other == found.report_for(Domain.FILESYSTEM_READ)


CEILINGS = tuple(Requirement(Domain.RESOURCE, ceilings(ResourceLimits(**{name: 5}))) for name in ResourceLimits._fields)
CONCRETE = (*(Requirement(domain, scope) for domain, scope, _ in LOWERING.values()), *CEILINGS)


@pytest.mark.parametrize("abi", range(0, landlock.NEWEST_ABI + 1))
@pytest.mark.parametrize("lost", [0, READ_FILE, MAKE_SYM])
def test_narrowing_never_widens(abi: int, lost: int) -> None:
    found = capability.capabilities_of(without(lost, abi))
    narrowed = capability.narrow(found, CONCRETE)
    assert narrowed.reports == found.reports and narrowed.unavailable == found.unavailable
    for requirement in CONCRETE:
        before, after = found.report_for(requirement.domain), narrowed.report_on(requirement)
        assert (before is None) == (after is None)  # silence stays silence
        if before is not None and after is not None:
            assert can_prevent(before) or not can_prevent(after)
            assert before.support is not Support.UNSUPPORTED or after.support is Support.UNSUPPORTED


def test_narrowing_to_nothing_changes_nothing() -> None:
    for abi in (5, 7):
        found: Any = capability.capabilities_of(facts_for_abi(abi))
        assert capability.narrow(found, ()) == found


@pytest.mark.parametrize("requirement", CONCRETE, ids=lambda item: str(item.domain.value))
def test_nothing_is_observed_but_what_the_clock_ends(requirement: Requirement) -> None:
    """A rule or a filter that refuses records nothing, so it answers no requirement that asks to observe."""
    watched = requirement._replace(intent=Intent.OBSERVE)
    found = capability.narrow(capability.capabilities_of(facts_for_abi(7)), (watched,))
    verdict = negotiate(found, (watched,))
    limits = watched.scope.limits
    by_clock = limits is not None and limits.max_wall_clock_seconds is not None
    assert isinstance(verdict, EnforcementPlan) is by_clock
