# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From a plan to an order: what the filter has to hold, which canaries are tried, and what will be in force."""

from __future__ import annotations

import stat
from typing import Dict, Tuple

import pytest
from support.contract import NETWORK, READ, RESOURCE, WRITE, wanted
from support.host import NO_CAPABILITY
from support.runs import resolution, resolved, spawn_spec

from aasm._sys.probe import CapabilityFacts
from aasm.backends.base import LaunchFacts
from aasm.backends.native import prepare
from aasm.backends.native.filters import FilterPlan
from aasm.errors import InternalError
from aasm.model.domains import CapabilityDomain as Domain
from aasm.model.evidence import ClaimTerm, EvidenceKind
from aasm.model.grants import Grant
from aasm.model.requirements import (
    CAPABILITY,
    ENVIRONMENT,
    EXECUTING,
    UNIX_SOCKETS,
    Requirement,
    RequirementPosture as Posture,
    ResourceLimits,
    ceilings,
    none_of,
    permit_only,
)

SYSCALL, PROCESSES, CREDENTIAL = Domain.SYSCALL, Domain.PROCESS_CREATION, Domain.CREDENTIAL
ROOT = Grant("/", 1, 1, stat.S_IFDIR, False, False, "root")


def calls(*names: str) -> Requirement:
    return wanted(SYSCALL, scope=permit_only(names))


def ceiling(**numbers: int) -> Requirement:
    return wanted(RESOURCE, scope=ceilings(ResourceLimits(**numbers)))


@pytest.mark.parametrize(
    "requirements, plan",
    [
        ((), FilterPlan()),
        ((wanted(READ), wanted(WRITE)), FilterPlan()),
        ((wanted(NETWORK),), FilterPlan(no_network=True)),
        ((wanted(PROCESSES),), FilterPlan(no_new_process=True)),
        ((calls("read", "write"),), FilterPlan(allowed_calls=("read", "write"))),
        ((calls("read", "write"), calls("write", "close")), FilterPlan(allowed_calls=("write",))),
        ((calls("read"), calls("write")), FilterPlan(allowed_calls=())),  # nothing that both permit
        ((wanted(NETWORK), wanted(PROCESSES), calls("read")), FilterPlan(True, True, ("read",))),
        ((calls("read"), wanted(NETWORK), wanted(NETWORK)), FilterPlan(True, False, ("read",))),
        ((ceiling(max_open_files=5),), FilterPlan()),
        ((ceiling(max_file_size_bytes=5),), FilterPlan(bounded_size=True)),
        ((wanted(READ), ceiling(max_open_files=5, max_file_size_bytes=5)), FilterPlan(bounded_size=True)),
        ((wanted(READ, scope=permit_only((f"{EXECUTING}:/usr",))), wanted(CREDENTIAL, scope=none_of(ENVIRONMENT))),
         FilterPlan()),
        ((wanted(Domain.IPC, scope=none_of(UNIX_SOCKETS)),), FilterPlan()),  # the floor refuses them in every run
    ],
)
def test_what_the_filter_has_to_hold(requirements: Tuple[Requirement, ...], plan: FilterPlan) -> None:
    assert prepare.filter_plan(requirements) == plan


def test_only_what_the_plan_enforces_is_held() -> None:
    optional = wanted(Domain.IPC, posture=Posture.OPTIONAL)
    degraded = wanted(NETWORK, scope=permit_only(("example.org",)), posture=Posture.DEGRADE_IF_UNAVAILABLE)
    run = resolved([wanted(READ), optional, degraded, wanted(PROCESSES)])
    assert prepare.held(run) == (wanted(READ), wanted(PROCESSES))
    assert prepare.filter_plan(prepare.held(run)) == FilterPlan(no_new_process=True)


def test_each_domain_is_named_once() -> None:
    assert prepare.domains((wanted(READ), calls("read"), wanted(READ), calls("write"))) == (READ, SYSCALL)


def test_a_run_without_a_plan_has_no_order() -> None:
    found = resolution(isolation="none")
    with pytest.raises(InternalError, match="has no order"):
        prepare.build(found.run, LaunchFacts(found.host, 0, b"x"), ROOT)


READING, BOTH = "filesystem: {read: {allow: [/usr]}}\n", "filesystem: {read: {allow: [/usr]}, write: {allow: [/w]}}\n"
TRIED: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "both verbs": (BOTH, ("file_read", "file_write", "call")),
    "reading alone": (READING, ("file_read", "call")),
    "writing alone": ("filesystem: {write: {allow: []}}\n", ("file_write", "call")),
    "neither": ("network: {allowlist: []}\n", ("call",)),
    "its file may be read": ("filesystem: {read: {allow: [/state]}, write: {allow: []}}\n", ("file_write", "call")),
    "everything may be read": ("filesystem: {read: {allow: [/]}}\n", ("call",)),
    "executing by itself": ("filesystem: {execute: {allow: [/usr]}}\n", ("call",)),
    "executing beside reading": ("filesystem: {read: {allow: [/usr]}, execute: {allow: [/usr]}}\n",
                                 ("file_read", "call")),
}


@pytest.mark.parametrize("case", TRIED)
def test_a_canary_is_tried_where_something_is_to_be_refused_and_says_why_where_not(case: str) -> None:
    policy, tried = TRIED[case]
    found = resolution(policy=policy)
    canaries = prepare.canaries(found.run)
    assert tuple(name for name, reason in canaries if not reason) == tried
    order = prepare.build(found.run, LaunchFacts(found.host, 0, b"x"), ROOT)
    path = found.run.canary_path.encode()
    assert (order.canary_read == path, order.canary_write == path) == ("file_read" in tried, "file_write" in tried)
    assert {order.canary_read, order.canary_write} <= {path, b""}


def test_what_will_be_in_force_is_installed_for_each_domain_and_for_the_floor() -> None:
    spec = spawn_spec(resolution([wanted(READ), wanted(NETWORK), calls("read"), calls("read", "write")]))
    assert spec is not None
    assert [item.domain for item in spec.installed] == [READ, NETWORK, SYSCALL, None]
    assert {(item.kind, item.claim) for item in spec.installed} == {(EvidenceKind.INSTALLED, ClaimTerm.PLANNED)}
    assert RESOURCE not in [item.domain for item in spec.installed]


def privileges(*names: str) -> Requirement:
    return wanted(CREDENTIAL, scope=permit_only(tuple(f"{CAPABILITY}:{name}" for name in names)))


NONE_LEFT = wanted(CREDENTIAL, scope=none_of(CAPABILITY))


@pytest.mark.parametrize(
    ("requirements", "kept"),
    [
        ((wanted(READ),), 0),
        ((wanted(CREDENTIAL, scope=permit_only((f"{ENVIRONMENT}:A",))),), 0),
        ((NONE_LEFT,), 0),
        ((privileges("CAP_CHOWN"),), 0b1),
        ((privileges("CAP_CHOWN", "CAP_FOWNER"),), 0b1001),
        ((privileges("CAP_CHOWN", "CAP_FOWNER"), privileges("CAP_FOWNER", "CAP_KILL")), 0b1000),
        ((privileges("CAP_CHOWN"), NONE_LEFT), 0),
        ((NONE_LEFT, privileges("CAP_CHOWN")), 0),
    ],
)
def test_a_program_of_root_keeps_what_every_statement_permits_and_nobody_gets_what_is_not_there(
    requirements: Tuple[Requirement, ...], kept: int
) -> None:
    all_held = CapabilityFacts(0, (1 << 41) - 1, (1 << 41) - 1, (1 << 41) - 1, 0)
    for euid, facts, expected in ((0, all_held, kept), (1000, all_held, 0), (0, NO_CAPABILITY, 0)):
        found = resolution(requirements, euid=euid, capabilities=facts)
        assert prepare.build(found.run, LaunchFacts(found.host, 0, b"x"), ROOT).capabilities == expected


def test_what_is_installed_of_credentials_is_counted() -> None:
    spec = spawn_spec(resolution([privileges("CAP_CHOWN")], environ={b"LANG": b"C"}))
    assert spec is not None
    (record,) = [item for item in spec.installed if item.domain is CREDENTIAL]
    assert record.detail == "held by an environment of 2 variables, capabilities 0x0"
