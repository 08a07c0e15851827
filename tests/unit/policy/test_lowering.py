# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering: states that never collapse, denials that outrank lists, ceilings one by one, and what is said of each."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.report import RequestedControl, ScopeGranularity
from aasm.model.requirements import (
    WHOLE,
    DescendantRequirement,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    ceilings,
    permitted,
)
from aasm.policy.document import Policy
from aasm.policy.hosts import HostEntry
from aasm.policy.lowering import CAPABILITIES, CEILINGS, GAPS, NODES, SHOWN, Lowered, describe, lower, not_derived

READ, WRITE, NET = Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE, Domain.NETWORK_EGRESS


def policy(**fields: object) -> Policy:
    return Policy(source="p.yaml")._replace(**fields)  # type: ignore[arg-type]


def scope_of(lowered: Lowered, domain: Domain) -> object:
    found = [item.scope for item in lowered.requirements if item.domain is domain]
    assert len(found) <= 1
    return found[0] if found else None


def test_absent_empty_and_stated_are_three_things() -> None:
    absent, empty = lower(policy(), {}), lower(policy(), {READ: ()})
    stated = lower(policy(), {READ: ("/a",)})
    assert scope_of(absent, READ) is None
    assert scope_of(empty, READ) == WHOLE
    assert permitted(scope_of(stated, READ)) == ("/a",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("capability", "domain"),
    [
        ("file_read", READ), ("file_write", WRITE), ("network_outbound", NET),
        ("terminal_exec", Domain.PROCESS_CREATION), ("agent_spawn", Domain.PROCESS_CREATION),
    ],
)  # fmt: skip
def test_a_denied_capability_denies_its_whole_domain_and_outranks_a_list(capability: str, domain: Domain) -> None:
    lowered = lower(policy(capabilities_deny=(capability,)), {READ: ("/a",), WRITE: ("/b",)})
    assert scope_of(lowered, domain) == WHOLE
    assert lowered.denied == {domain}


@pytest.mark.parametrize("missing", ["file_read", "file_write", "network_outbound", "terminal_exec"])
def test_an_allow_list_denies_what_it_leaves_out(missing: str) -> None:
    everything = ("file_read", "file_write", "network_outbound", "terminal_exec")
    allowed = tuple(name for name in everything if name != missing)
    lowered = lower(policy(capabilities_allow=allowed), {})
    assert len(lowered.denied) == 1
    assert lower(policy(capabilities_allow=everything), {}).requirements == ()


def test_hosts_are_selectors_and_an_empty_list_denies_all() -> None:
    assert scope_of(lower(policy(network_allowlist=()), {}), NET) == WHOLE
    assert scope_of(lower(policy(), {}), NET) is None


def test_every_domain_is_answered_and_silence_is_never_no_restriction() -> None:
    lowered = lower(policy(), {READ: ("/a",)})
    assert [item.domain for item in lowered.coverage] == list(DOMAINS)
    found = {item.domain: item.requested for item in lowered.coverage}
    assert found[READ] is RequestedControl.STATED
    assert found[WRITE] is RequestedControl.NOT_STATED
    for domain in set(DOMAINS) - set(NODES):
        assert found[domain] is RequestedControl.POLICY_CANNOT_EXPRESS
    assert all(item.detail for item in lowered.coverage)


@pytest.mark.parametrize("changes", [{}, {"capabilities_deny": ("file_delete",)}, {"capabilities_deny": ()}])
def test_what_is_not_stated_says_what_is_missing_and_nothing_that_is_not_so(changes: Dict[str, Any]) -> None:
    """A list of capabilities may well be there and speak of something else."""
    lines = {item.domain: item.detail for item in lower(policy(**changes), {}).coverage if item.domain in NODES}
    assert lines.pop(Domain.PROCESS_CREATION) == (
        "capabilities denies neither terminal_exec nor agent_spawn, and so restricts nothing"
    )
    assert set(CAPABILITIES[Domain.PROCESS_CREATION]) == {"terminal_exec", "agent_spawn"}
    assert lines == {domain: f"{NODES[domain]} is absent, and so restricts nothing" for domain in lines}


def test_selectors_are_counted_and_no_more_than_a_few_are_shown() -> None:
    few = lower(policy(), {READ: ("/a", "/b")}).coverage[0].detail
    assert few.endswith("scope=selectors[2]: permit-only:/a, permit-only:/b")
    names = tuple(f"/place{number:02}" for number in range(30))
    many = lower(policy(), {READ: names}).coverage[0].detail
    assert "scope=selectors[30]: permit-only:/place00, " in many and many.endswith(f" and {30 - SHOWN} more")
    assert [name for name in names if name in many] == list(names[:SHOWN])
    exactly = lower(policy(), {READ: names[:SHOWN]}).coverage[0].detail
    assert "more" not in exactly and names[SHOWN - 1] in exactly


@pytest.mark.parametrize(
    ("stated", "detail"),
    [
        (lower(policy(), {READ: ()}), "scope=whole"),
        (lower(policy(), {}, ResourceLimits(max_pids=3)), "scope=limits: max_pids=3"),
    ],
)
def test_a_requirement_is_described_with_everything_it_states(stated: Lowered, detail: str) -> None:
    (item,) = stated.requirements
    words = "intent=prevent_before_effect, posture=required, descendants=process_tree, "
    assert describe(item) == words + detail
    assert [line.detail for line in stated.coverage if line.domain is item.domain] == [words + detail]


def test_host_entries_keep_the_text_of_the_policy() -> None:
    entry = HostEntry.__new__(HostEntry, *("example.org" for _ in HostEntry._fields))
    lowered = lower(policy(network_allowlist=(entry,)), {})
    assert permitted(scope_of(lowered, NET)) == ("example.org",)  # type: ignore[arg-type]


def test_one_address_of_a_mediator_takes_the_place_of_the_hosts_and_opens_no_denied_network() -> None:
    made = lower(policy(), {}, egress="127.0.0.1:8899")
    assert permitted(scope_of(made, NET)) == ("127.0.0.1:8899",)  # type: ignore[arg-type]
    assert scope_of(lower(policy(capabilities_deny=("network_outbound",)), {}, egress="127.0.0.1:8899"), NET) == WHOLE


# --- every requirement of a policy ---


def test_what_a_policy_states_is_required_prevention_in_the_whole_tree() -> None:
    stated = policy(capabilities_deny=("terminal_exec",), syscalls_allow=("read",), network_allowlist=())
    lowered = lower(stated, {READ: ("/a",), WRITE: ()})
    assert [item.domain for item in lowered.requirements] == list(NODES)
    for item in lowered.requirements:
        assert (item.intent, item.posture) == (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED)
        assert item.descendants is DescendantRequirement.PROCESS_TREE
        assert item.stated_by == NODES[item.domain]


def test_a_domain_that_a_capability_denies_is_stated_by_the_capabilities() -> None:
    lowered = lower(policy(capabilities_deny=("file_read",)), {READ: ("/a",), WRITE: ("/b",)})
    assert {item.domain: item.stated_by for item in lowered.requirements} == {
        READ: "capabilities", WRITE: "filesystem.write.allow",
    }  # fmt: skip


@pytest.mark.parametrize("stated", [policy(), policy(syscalls_allow=None), policy(tools=())])
def test_a_policy_that_states_nothing_lowers_to_nothing(stated: Policy) -> None:
    assert lower(stated, {}).requirements == ()


def test_an_empty_list_of_calls_is_the_whole_domain() -> None:
    assert scope_of(lower(policy(syscalls_allow=()), {}), Domain.SYSCALL) == WHOLE
    assert permitted(scope_of(lower(policy(syscalls_allow=("read",)), {}), Domain.SYSCALL)) == ("read",)  # type: ignore[arg-type]


# --- ceilings ---

# What each ceiling asks for: what ends a run after the fact, or only counts, is never required as prevention.
ASKED = {
    "max_memory_bytes": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_cpu_seconds": (Intent.OBSERVE, Posture.OPTIONAL),
    "max_pids": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_wall_clock_seconds": (Intent.OBSERVE, Posture.OPTIONAL),
    "max_file_size_bytes": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
    "max_open_files": (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED),
}


def test_every_ceiling_has_its_row() -> None:
    assert tuple(ASKED) == ResourceLimits._fields and set(CEILINGS) == set(ASKED)


@pytest.mark.parametrize("name", ASKED)
def test_each_ceiling_is_a_requirement_of_its_own(name: str) -> None:
    (item,) = lower(policy(), {}, ResourceLimits(**{name: 7})).requirements
    assert item == Requirement(
        Domain.RESOURCE, ceilings(ResourceLimits(**{name: 7})), *ASKED[name], stated_by="--" + name.replace("_", "-")
    )


def test_all_ceilings_are_as_many_requirements_after_those_of_the_policy() -> None:
    numbers = {name: at for at, name in enumerate(ASKED, start=1)}
    lowered = lower(policy(), {READ: ("/a",)}, ResourceLimits(**numbers))
    first, *rest = lowered.requirements
    assert first.domain is READ and {item.domain for item in rest} == {Domain.RESOURCE}
    limits = [item.scope.limits for item in rest]
    assert limits == [ResourceLimits(**{name: value}) for name, value in numbers.items()]
    (line,) = [item for item in lowered.coverage if item.domain is Domain.RESOURCE]
    assert line.requested is RequestedControl.STATED
    assert all(f"{name}={value}" in line.detail for name, value in numbers.items())
    assert line.granularity is None  # stated on the command line: no policy node states it


@pytest.mark.parametrize("limits", [ResourceLimits(), ResourceLimits(*[None] * 6)])
def test_without_ceilings_the_policy_still_cannot_express_them(limits: ResourceLimits) -> None:
    lowered = lower(policy(), {READ: ()}, limits)
    (line,) = [item for item in lowered.coverage if item.domain is Domain.RESOURCE]
    assert line.requested is RequestedControl.POLICY_CANNOT_EXPRESS
    assert lowered == lower(policy(), {READ: ()})


# --- what is said of a domain ---


def test_what_no_policy_was_lowered_for_is_a_silence_of_its_own() -> None:
    lowered = not_derived("no policy was lowered")
    assert lowered.requirements == () and lowered.denied == frozenset()
    assert [item.domain for item in lowered.coverage] == list(DOMAINS)
    assert {(item.requested, item.detail) for item in lowered.coverage} == {
        (RequestedControl.NOT_DERIVED, "no policy was lowered")
    }


FINE, WHOLE_ONLY = ScopeGranularity.ENUMERATED, ScopeGranularity.WHOLE_DOMAIN_ONLY


@pytest.mark.parametrize(
    ("domain", "granularity"),
    [(READ, FINE), (WRITE, FINE), (NET, FINE), (Domain.SYSCALL, FINE), (Domain.PROCESS_CREATION, WHOLE_ONLY)],
)
def test_a_stated_domain_says_how_finely_it_can_be_stated_and_what_cannot(
    domain: Domain, granularity: ScopeGranularity
) -> None:
    stated = policy(capabilities_deny=("terminal_exec",), syscalls_allow=("read",), network_allowlist=())
    (line,) = [item for item in lower(stated, {READ: ("/a",), WRITE: ()}).coverage if item.domain is domain]
    assert (line.requested, line.granularity) == (RequestedControl.STATED, granularity)
    assert line.gaps == GAPS[domain] and all(line.gaps)


def test_only_what_is_stated_has_granularity_and_gaps() -> None:
    for item in (*lower(policy(), {}).coverage, *not_derived("why").coverage):
        assert item.granularity is None and item.gaps == ()
    assert set(GAPS) == set(NODES)
