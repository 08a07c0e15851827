# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering: states that never collapse, denials that outrank lists, ceilings one by one, and what is said of each."""

from __future__ import annotations

from typing import Any, Dict

import pytest
from support.stated import AT, KEYS, policy

from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.report import RequestedControl, ScopeGranularity
from aasm.model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    LISTENING,
    UNIX_SOCKETS,
    WHOLE,
    DescendantRequirement,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    ceilings,
    none_of,
    part,
    permitted,
)
from aasm.policy.lowering import (
    CAPABILITIES,
    CEILINGS,
    GAPS,
    NODES,
    SHOWN,
    Lowered,
    describe,
    effective,
    lower,
    not_derived,
)
from aasm.policy.schema import KEYS as ALL_KEYS
from aasm.policy.values import Entry, Listing, Policy

GRANTING = {key for key, row in ALL_KEYS.items() if row.grants}
READ, WRITE, NET = Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE, Domain.NETWORK_EGRESS
def selected(lowered: Lowered, domain: Domain) -> Any:
    """Return the names that the one requirement about a domain permits."""
    return permitted(scope_of(lowered, domain))  # type: ignore[arg-type]


def scope_of(lowered: Lowered, domain: Domain) -> object:
    found = [item.scope for item in lowered.requirements if item.domain is domain]
    assert len(found) <= 1
    return found[0] if found else None


def test_absent_empty_and_stated_are_three_things() -> None:
    absent, empty = lower(policy()), lower(policy(read=()))
    stated = lower(policy(read=("/a",)))
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
    lists: Dict[str, Any] = {"read": ("/a",), "write": ("/b",), "hosts": ("a.com",)}
    lowered = lower(policy(deny=(capability,), execute=("/c",), ports=(80,), bind=(81,), **lists))
    assert scope_of(lowered, domain) == WHOLE
    assert lowered.denied == {domain}


@pytest.mark.parametrize("missing", ["file_read", "file_write", "network_outbound", "terminal_exec"])
def test_an_allow_list_denies_what_it_leaves_out(missing: str) -> None:
    everything = ("file_read", "file_write", "network_outbound", "terminal_exec")
    allowed = tuple(name for name in everything if name != missing)
    lowered = lower(policy(allow=allowed))
    assert len(lowered.denied) == 1
    assert lower(policy(allow=everything)).requirements == ()


def test_hosts_are_selectors_and_an_empty_list_denies_all() -> None:
    assert scope_of(lower(policy(hosts=())), NET) == WHOLE
    assert scope_of(lower(policy()), NET) is None
    assert selected(lower(policy(hosts=("a.com", "*.b.org"))), NET) == ("a.com", "*.b.org")


def test_every_domain_is_answered_and_silence_is_never_no_restriction() -> None:
    lowered = lower(policy(read=("/a",)))
    assert [item.domain for item in lowered.coverage] == list(DOMAINS)
    found = {item.domain: item.requested for item in lowered.coverage}
    assert found[READ] is RequestedControl.STATED
    for domain in set(NODES) - {READ}:
        assert found[domain] is RequestedControl.NOT_STATED
    for domain in set(DOMAINS) - set(NODES):
        assert found[domain] is RequestedControl.POLICY_CANNOT_EXPRESS
    assert all(item.detail for item in lowered.coverage)


@pytest.mark.parametrize("changes", [{}, {"deny": ("file_delete",)}, {"deny": ()}])
def test_what_is_not_stated_says_what_is_missing_and_nothing_that_is_not_so(changes: Dict[str, Any]) -> None:
    """A list of capabilities may well be there and speak of something else."""
    lines = {item.domain: item.detail for item in lower(policy(**changes)).coverage if item.domain in NODES}
    assert lines.pop(Domain.PROCESS_CREATION) == (
        "capabilities denies neither terminal_exec nor agent_spawn, and so restricts nothing"
    )
    assert set(CAPABILITIES[Domain.PROCESS_CREATION]) == {"terminal_exec", "agent_spawn"}
    assert lines.pop(NET) == (
        "network.allowlist, network.ports and network.bind are absent, and so restrict nothing"
    )
    assert lines.pop(READ) == (
        "filesystem.read.allow and filesystem.execute.allow are absent, and so restrict nothing"
    )
    # these have nothing to restrict: what they do not name a program does not get
    assert lines.pop(Domain.IPC) == "ipc.unix.allow is absent, and so gives nothing"
    assert lines.pop(Domain.CREDENTIAL) == (
        "credentials.environment.allow and credentials.capabilities.allow are absent, and so give nothing"
    )
    for domain in lines:
        assert lines[domain] == f"{NODES[domain][0]} is absent, and so restricts nothing" and len(NODES[domain]) == 1
    assert {KEYS[name] for name in ("unix", "variables", "privileges")} == GRANTING


def test_selectors_are_counted_and_no_more_than_a_few_are_shown() -> None:
    few = lower(policy(read=("/a", "/b"))).coverage[0].detail
    assert few.endswith("scope=selectors[2]: permit-only:/a, permit-only:/b")
    names = tuple(f"/place{number:02}" for number in range(30))
    many = lower(policy(read=names)).coverage[0].detail
    assert "scope=selectors[30]: permit-only:/place00, " in many and many.endswith(f" and {30 - SHOWN} more")
    assert [name for name in names if name in many] == list(names[:SHOWN])
    exactly = lower(policy(read=names[:SHOWN])).coverage[0].detail
    assert "more" not in exactly and names[SHOWN - 1] in exactly


@pytest.mark.parametrize(
    ("stated", "detail"),
    [
        (lower(policy(read=())), "scope=whole"),
        (lower(policy(), ResourceLimits(max_pids=3)), "scope=limits: max_pids=3"),
        (lower(policy(ResourceLimits(max_pids=3))), "scope=limits: max_pids=3"),
        (lower(policy(unix=("/run/x",))), f"scope=selectors[1]: permit-only:{UNIX_SOCKETS}:/run/x"),
        (lower(policy(unix=())), f"scope=selectors[1]: {UNIX_SOCKETS}"),
    ],
)
def test_a_requirement_is_described_with_everything_it_states(stated: Lowered, detail: str) -> None:
    (item,) = stated.requirements
    words = "intent=prevent_before_effect, posture=required, descendants=process_tree, "
    assert describe(item) == words + detail
    assert [line.detail for line in stated.coverage if line.domain is item.domain] == [words + detail]


def test_host_entries_keep_the_text_of_the_policy() -> None:
    assert selected(lower(policy(hosts=("example.org", "[::1]:80"))), NET) == ("example.org", "[::1]:80")


def test_one_address_of_a_mediator_takes_the_place_of_the_hosts_and_opens_no_denied_network() -> None:
    for stated in (policy(), policy(hosts=("a.com",), ports=(80,)), policy(hosts=())):
        assert selected(lower(stated, egress="127.0.0.1:8899"), NET) == ("127.0.0.1:8899",)
    assert scope_of(lower(policy(deny=("network_outbound",)), egress="127.0.0.1:8899"), NET) == WHOLE


@pytest.mark.parametrize(
    ("stated", "names"),
    [
        ({"hosts": ("a.com", "b.com:22"), "ports": (443, 80)}, ("a.com:443", "a.com:80")),
        ({"hosts": ("b.com:80", "*.c.com"), "ports": (80,)}, ("b.com:80", "*.c.com:80")),
        ({"ports": (443,)}, ("*:443",)),
        ({"hosts": ("::1",), "ports": (443,)}, ("[::1]:443",)),
    ],
)
def test_ports_narrow_every_host_and_a_host_with_another_port_is_gone(stated: Dict[str, Any], names: Any) -> None:
    assert selected(lower(policy(**stated)), NET) == names


@pytest.mark.parametrize("stated", [{"ports": ()}, {"hosts": ("a.com:22",), "ports": (80,)}])
def test_no_port_is_no_network(stated: Dict[str, Any]) -> None:
    assert scope_of(lower(policy(**stated)), NET) == WHOLE


# Nodes that state a part of a domain: what they state says nothing about the rest of it.
PARTS: Dict[str, Any] = {
    "execute": (READ, EXECUTING, "/usr/bin"),
    "bind": (NET, LISTENING, 8080),
    "unix": (Domain.IPC, UNIX_SOCKETS, "/run/x"),
    "variables": (Domain.CREDENTIAL, ENVIRONMENT, "TOKEN"),
    "privileges": (Domain.CREDENTIAL, CAPABILITY, "CAP_CHOWN"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_domain_is_a_requirement_of_its_own_and_no_empty_list_is_the_whole(name: str) -> None:
    domain, kind, one = PARTS[name]
    listed, empty = lower(policy(**{name: (one,)})), lower(policy(**{name: ()}))
    assert selected(listed, domain) == (f"{kind}:{one}",)
    assert scope_of(empty, domain) == none_of(kind) and selected(empty, domain) == ()
    for lowered in (listed, empty):
        (item,) = lowered.requirements
        assert (item.stated_by, part(item.scope), item.scope.whole) == (KEYS[name], kind, False)
        assert (item.intent, item.posture) == (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED)
        assert lowered.denied == frozenset()


@pytest.mark.parametrize("name", ["execute", "bind", "listen", "unix", "environment", "capability"])
def test_a_host_that_is_called_like_a_part_is_a_host(name: str) -> None:
    for text in (name, f"{name}:80"):
        (item,) = lower(policy(hosts=(text,))).requirements
        assert part(item.scope) == "" and permitted(item.scope) == (text,)


def test_a_part_stands_beside_the_domain_itself() -> None:
    made = lower(policy(read=("/a",), execute=("/b",), hosts=("a.com",), bind=()))
    assert [(item.domain, part(item.scope), permitted(item.scope)) for item in made.requirements] == [
        (READ, "", ("/a",)),
        (READ, EXECUTING, (f"{EXECUTING}:/b",)),
        (NET, "", ("a.com",)),
        (NET, LISTENING, ()),
    ]
    (line,) = [item for item in made.coverage if item.domain is READ]
    assert line.detail.count("intent=") == 2 and f"permit-only:{EXECUTING}:/b" in line.detail


# --- every requirement of a policy ---


def test_what_a_policy_states_is_required_prevention_in_the_whole_tree() -> None:
    stated = policy(
        ResourceLimits(max_pids=1), deny=("terminal_exec",), calls=("read",), hosts=(), read=("/a",), write=(),
        unix=(), variables=(),
    )  # fmt: skip
    lowered = lower(stated)
    assert [item.domain for item in lowered.requirements] == list(NODES)
    for item in lowered.requirements:
        assert (item.intent, item.posture) == (Intent.PREVENT_BEFORE_EFFECT, Posture.REQUIRED)
        assert item.descendants is DescendantRequirement.PROCESS_TREE
        assert item.stated_by == {Domain.RESOURCE: "resources.max_pids"}.get(item.domain, NODES[item.domain][0])


def test_a_domain_that_a_capability_denies_is_stated_by_the_capabilities() -> None:
    lowered = lower(policy(deny=("file_read",), read=("/a",), write=("/b",)))
    assert {item.domain: item.stated_by for item in lowered.requirements} == {
        READ: "capabilities", WRITE: "filesystem.write.allow",
    }  # fmt: skip


@pytest.mark.parametrize("stated", [policy(), policy()._replace(leases=()), policy()._replace(tools={})])
def test_a_policy_that_states_nothing_lowers_to_nothing(stated: Policy) -> None:
    assert lower(stated).requirements == ()


def test_an_empty_list_of_calls_is_the_whole_domain() -> None:
    assert scope_of(lower(policy(calls=())), Domain.SYSCALL) == WHOLE
    assert selected(lower(policy(calls=("read",))), Domain.SYSCALL) == ("read",)


def test_a_group_of_calls_is_its_calls_each_once() -> None:
    entries = tuple(Entry(text, names, AT) for text, names in (("@a", ("read", "write")), ("write", ("write",))))
    stated = Policy("p.yaml", values={KEYS["calls"]: Listing(entries, AT)})
    assert selected(lower(stated), Domain.SYSCALL) == ("read", "write")


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
    limits = ResourceLimits(**{name: 7})
    for stated, option, stated_by in (
        (policy(), limits, "--" + name.replace("_", "-")),
        (policy(limits), ResourceLimits(), f"resources.{name}"),
    ):
        (item,) = lower(stated, option).requirements
        assert item == Requirement(Domain.RESOURCE, ceilings(limits), *ASKED[name], stated_by=stated_by)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(("in_policy", "as_option"), [(7, 8), (8, 7), (7, 7)])
def test_of_two_ceilings_the_smaller_counts_and_the_policy_where_they_are_the_same(
    name: str, in_policy: int, as_option: int
) -> None:
    stated, limits = policy(ResourceLimits(**{name: in_policy})), ResourceLimits(**{name: as_option})
    (item,) = lower(stated, limits).requirements
    assert item.scope.limits == effective(stated, limits) == ResourceLimits(**{name: 7})
    assert item.stated_by == (f"resources.{name}" if in_policy == 7 else "--" + name.replace("_", "-"))


def test_all_ceilings_are_as_many_requirements_after_those_of_the_policy() -> None:
    numbers = {name: at for at, name in enumerate(ASKED, start=1)}
    lowered = lower(policy(read=("/a",)), ResourceLimits(**numbers))
    first, *rest = lowered.requirements
    assert first.domain is READ and {item.domain for item in rest} == {Domain.RESOURCE}
    limits = [item.scope.limits for item in rest]
    assert limits == [ResourceLimits(**{name: value}) for name, value in numbers.items()]
    (line,) = [item for item in lowered.coverage if item.domain is Domain.RESOURCE]
    assert line.requested is RequestedControl.STATED
    assert all(f"{name}={value}" in line.detail for name, value in numbers.items())
    assert line.granularity is ScopeGranularity.ENUMERATED  # a policy states each ceiling by itself as well
    assert line.gaps == ()


@pytest.mark.parametrize("limits", [ResourceLimits(), ResourceLimits(*[None] * 6)])
def test_without_ceilings_nothing_is_stated_of_them(limits: ResourceLimits) -> None:
    lowered = lower(policy(read=()), limits)
    (line,) = [item for item in lowered.coverage if item.domain is Domain.RESOURCE]
    assert line.requested is RequestedControl.NOT_STATED
    assert line.detail == "resources is absent, and so restricts nothing"
    assert lowered == lower(policy(read=()))


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
    [
        (READ, FINE), (WRITE, FINE), (NET, FINE), (Domain.SYSCALL, FINE), (Domain.PROCESS_CREATION, WHOLE_ONLY),
        (Domain.IPC, FINE), (Domain.CREDENTIAL, FINE),
    ],
)
def test_a_stated_domain_says_how_finely_it_can_be_stated_and_what_cannot(
    domain: Domain, granularity: ScopeGranularity
) -> None:
    stated = policy(
        deny=("terminal_exec",), calls=("read",), hosts=(), read=("/a",), write=(), unix=(), variables=("A",),
        privileges=(),
    )  # fmt: skip
    (line,) = [item for item in lower(stated).coverage if item.domain is domain]
    assert (line.requested, line.granularity) == (RequestedControl.STATED, granularity)
    assert line.gaps == GAPS[domain] and all(line.gaps)


@pytest.mark.parametrize(
    ("name", "silent"),
    [
        ("execute", (KEYS["read"],)), ("bind", (KEYS["hosts"], KEYS["ports"])), ("variables", (KEYS["privileges"],)),
        ("privileges", (KEYS["variables"],)), ("unix", ()),
    ],
)  # fmt: skip
def test_where_only_a_part_is_stated_what_is_left_open_is_a_gap_too(name: str, silent: Any) -> None:
    lowered = lower(policy(**{name: ()}))
    (line,) = [item for item in lowered.coverage if item.requested is RequestedControl.STATED]
    means = "gives" if line.domain is Domain.CREDENTIAL else "restricts"
    assert line.gaps == (*GAPS[line.domain], *(f"{node} is absent, and so {means} nothing" for node in silent))


def test_only_what_is_stated_has_granularity_and_gaps() -> None:
    for item in (*lower(policy()).coverage, *not_derived("why").coverage):
        assert item.granularity is None and item.gaps == ()
    assert set(GAPS) == set(NODES) - {Domain.RESOURCE}  # every ceiling that there is can be stated
