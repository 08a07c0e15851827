# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Lowering: three states that never collapse, and denials that outrank lists."""

from __future__ import annotations

import pytest

from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.report import RequestedControl
from aasm.model.requirements import WHOLE, permitted
from aasm.policy.document import Policy
from aasm.policy.hosts import HostEntry
from aasm.policy.lowering import NODES, Lowered, lower

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


def test_selectors_are_counted_in_a_report_and_not_shown() -> None:
    lowered = lower(policy(), {READ: ("/very/secret/place",)})
    assert "scope=selectors[1]" in lowered.coverage[0].detail
    assert not any("secret" in item.detail for item in lowered.coverage)


def test_host_entries_keep_the_text_of_the_policy() -> None:
    entry = HostEntry.__new__(HostEntry, *("example.org" for _ in HostEntry._fields))
    lowered = lower(policy(network_allowlist=(entry,)), {})
    assert permitted(scope_of(lowered, NET)) == ("example.org",)  # type: ignore[arg-type]


def test_one_address_of_a_mediator_takes_the_place_of_the_hosts_and_opens_no_denied_network() -> None:
    made = lower(policy(), {}, egress="127.0.0.1:8899")
    assert permitted(scope_of(made, NET)) == ("127.0.0.1:8899",)  # type: ignore[arg-type]
    assert scope_of(lower(policy(capabilities_deny=("network_outbound",)), {}, egress="127.0.0.1:8899"), NET) == WHOLE
