# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The named groups of system calls: what is in them, and what never may be."""

from __future__ import annotations

from itertools import combinations
from typing import Set

import pytest
from support import bpf_sim

from aasm._sys import bpf, syscalls
from aasm.backends.native import filters, floor
from aasm.policy.calls import GROUPS, expand, known, spellings
from aasm.policy.vocabulary import SYSCALLS

NAMES = (
    "@files", "@descriptors", "@memory", "@processes", "@identity", "@signals", "@time", "@network", "@program",
)  # fmt: skip
PARTS = NAMES[:-1]
# Beside what the floor answers: calls that change what other processes or the host are given, or the memory of
# everybody. No everyday program was seen to need them, so who needs one names it.
NEVER = {
    "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "unshare", "capset",
    "name_to_handle_at", "memfd_secret", "mbind", "set_mempolicy", "vmsplice", "personality", "rt_sigqueueinfo",
    "rt_tgsigqueueinfo", "pidfd_send_signal", "setuid", "setgid", "setgroups", "mlockall",
}  # fmt: skip


def test_the_groups_are_those_that_a_policy_may_name() -> None:
    assert tuple(GROUPS) == NAMES


@pytest.mark.parametrize("group", NAMES)
def test_a_group_is_sorted_and_names_nothing_twice(group: str) -> None:
    assert list(GROUPS[group]) == sorted(set(GROUPS[group])) and GROUPS[group]


@pytest.mark.parametrize("group", NAMES)
def test_every_name_is_a_call_of_some_architecture(group: str) -> None:
    assert [name for name in GROUPS[group] if not syscalls.known(name)] == []


@pytest.mark.parametrize("group", NAMES)
def test_no_group_names_what_the_floor_answers_by_itself(group: str) -> None:
    refused = {name for names in floor.REFUSED.values() for name in names}
    assert len(refused) > 50 and len(floor.ABSENT) > 2
    assert set(GROUPS[group]) & (refused | set(floor.ABSENT) | NEVER) == set()


def test_what_is_listed_as_never_in_a_group_exists() -> None:
    assert [name for name in NEVER if not syscalls.known(name)] == []


def test_a_call_is_in_one_group_and_all_are_in_the_last() -> None:
    for one, other in combinations(PARTS, 2):
        assert set(GROUPS[one]) & set(GROUPS[other]) == set(), (one, other)
    together: Set[str] = set().union(*(GROUPS[name] for name in PARTS))
    assert set(GROUPS["@program"]) == together


def test_the_last_group_has_the_fifteen_names_and_what_loading_a_program_takes() -> None:
    assert set(SYSCALLS) <= set(GROUPS["@program"])
    assert set(filters.STARTUP_BASELINE) <= set(GROUPS["@program"])


@pytest.mark.parametrize("machine", syscalls.SUPPORTED)
def test_a_filter_that_names_the_last_group_allows_these_calls_and_no_others(machine: str) -> None:
    arch = syscalls.arch(machine)
    program = filters.filter_b(arch, filters.FilterPlan(allowed_calls=expand("@program")))
    allowed = {name for name in arch.numbers if _harmless_use_is_allowed(program, arch, name)}
    assert allowed == set(GROUPS["@program"]) & set(arch.numbers)


# Arguments with which a call passes the floor, where zeros do not.
_ARGUMENTS = {"socket": (floor.AF_INET,), "socketpair": (floor.AF_UNIX, floor.SOCK_STREAM)}


def _harmless_use_is_allowed(program: bytes, arch: syscalls.Arch, name: str) -> bool:
    args = (*_ARGUMENTS.get(name, ()), 0, 0, 0, 0, 0, 0)[:6]
    answer, _ = bpf_sim.simulate(program, arch.numbers[name], arch.audit_arch, args)
    return answer == bpf.ALLOW


@pytest.mark.parametrize("group", NAMES)
def test_a_group_expands_to_its_names(group: str) -> None:
    assert expand(group) == GROUPS[group]


@pytest.mark.parametrize("name", ["read", "sched_setscheduler", "no_such_call", ""])
def test_a_plain_name_is_itself(name: str) -> None:
    assert expand(name) == (name,)


@pytest.mark.parametrize("name", ["@", "@file", "@Files", "@files ", "@read", "@system-service"])
def test_an_unknown_group_is_an_error(name: str) -> None:
    with pytest.raises(KeyError):
        expand(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("@program", True), ("read", True), ("riscv_hwprobe", True), ("ptrace", True), ("clone3", True),
     ("@", False), ("@read", False), ("Read", False), ("read ", False), ("no_such_call", False), ("", False)],
)  # fmt: skip
def test_known_are_groups_and_the_calls_of_every_architecture(name: str, expected: bool) -> None:
    assert known(name) is expected and (name in spellings()) is expected


def test_the_spellings_are_all_that_is_known_once_each() -> None:
    listed = spellings()
    assert listed[: len(NAMES)] == NAMES and len(set(listed)) == len(listed) > 350
    assert list(listed[len(NAMES) :]) == sorted(listed[len(NAMES) :])
    assert all(map(known, listed))
