# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The two filter programs, call by call on three architectures: what the tables say, and what the manuals say."""

from __future__ import annotations

import errno
import itertools
import random
from typing import Dict, Iterator, List, Sequence, Tuple

import pytest
from support import bpf_sim

from aasm._sys import bpf, syscalls
from aasm._sys.bpf import Checked, Rule
from aasm._sys.syscalls import Arch
from aasm.backends.native import filters, floor
from aasm.backends.native.filters import FilterPlan
from aasm.policy.vocabulary import SYSCALLS

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
EPERM, ENOSYS, EAFNOSUPPORT = (0x50000 | number for number in (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT))
WORD = 0xFFFFFFFF
DIRTY = 0xDEADBEEF << 32

ARCHES = [syscalls.arch(name) for name in syscalls.SUPPORTED]
each_arch = pytest.mark.parametrize("arch", ARCHES, ids=lambda arch: arch.name)
PLANS = {
    "floor": FilterPlan(),
    "no network": FilterPlan(no_network=True),
    "no new process": FilterPlan(no_new_process=True),
    "named calls": FilterPlan(allowed_calls=SYSCALLS),
    "bounded size": FilterPlan(bounded_size=True),
    "all of them": FilterPlan(True, True, ("read", "socket", "clone3", "ptrace", "fork", "fallocate"), True),
}
each_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))


def answer(program: bytes, arch: Arch, number: int, *args: int, word: int | None = None) -> int:
    return bpf_sim.simulate(program, number, arch.audit_arch if word is None else word, args)[0]


# --- the decision, read off the tables ---


def rule_of(name: str, plan: FilterPlan) -> Rule:
    """Return what the tables say about a call that exists."""
    rule = _floor_rule(name, plan)
    named = plan.allowed_calls is None or name in (*plan.allowed_calls, *filters.STARTUP_BASELINE)
    return rule if named or rule == ENOSYS else EPERM


def _floor_rule(name: str, plan: FilterPlan) -> Rule:
    if any(name in names for names in floor.REFUSED.values()) or (plan.no_new_process and name in ("fork", "vfork")):
        return EPERM
    if name in floor.ABSENT:
        return ENOSYS
    if name == "clone":
        return floor.clone_rule(plan.no_new_process)
    if name == "socket":
        return floor.NO_NETWORK if plan.no_network else floor.OPEN_NETWORK
    if plan.bounded_size and name in ("fallocate", "ioctl"):
        return {"fallocate": filters.BOUNDED_SIZE, "ioctl": filters.BOUNDED_IOCTL}[name]
    return floor.CHECKED.get(name, ALLOW)


def decision(rule: Rule, args: Sequence[int]) -> int:
    if isinstance(rule, int):
        return rule
    words = [value & WORD for value in args]
    for clause in rule.clauses:
        if all(words[item.arg] & item.mask == item.equals for item in clause.conditions):
            return clause.verdict
    return rule.otherwise


def argument_lists(rule: Rule, seed: str) -> Iterator[List[int]]:
    """Yield arguments that matter to a rule: every value it names, its neighbours, with clean and dirty high halves."""
    yield [0] * 6
    if not isinstance(rule, Checked):
        return
    values: Dict[int, set[int]] = {}
    for item in itertools.chain.from_iterable(clause.conditions for clause in rule.clauses):
        near = {item.equals, item.equals ^ 1, item.mask, item.equals | (~item.mask & WORD), 0, WORD}
        values.setdefault(item.arg, set()).update(near | {1 << bit for bit in range(32) if item.mask >> bit & 1})
    choose = random.Random(seed)
    combinations = list(itertools.product(*(sorted(found) for found in values.values())))
    for combination in choose.sample(combinations, min(len(combinations), 150)):
        for high in (0, DIRTY):
            args = [high] * 6
            for arg, value in zip(values, combination):
                args[arg] = value | high
            yield args


@each_arch
@each_plan
def test_every_number_gets_what_the_tables_say(arch: Arch, plan: FilterPlan) -> None:
    program, names = filters.filter_b(arch, plan), syscalls.names(arch)
    for number in range(arch.newest + 1):
        rule = rule_of(names[number], plan) if number in names else ENOSYS
        for args in argument_lists(rule, str(number)):
            assert answer(program, arch, number, *args) == decision(rule, args), (names.get(number, number), args)


@each_arch
@each_plan
def test_foreign_words_and_unknown_numbers(arch: Arch, plan: FilterPlan) -> None:
    program = filters.filter_b(arch, plan)
    for word in (0, 0x40000003, arch.audit_arch ^ 0x80000000, 0xC000003E ^ arch.audit_arch ^ 1, WORD):
        assert answer(program, arch, arch.numbers["read"], word=word) == KILL
    for number in (arch.newest + 1, arch.newest + 1000, 0x3FFFFFFF, 0x40000000, 0x40000000 | 0, 0x7FFFFFFF, -1):
        assert answer(program, arch, number) == ENOSYS
    assert bpf.length(program) < 1000  # far from the kernel's 4096


# --- the same, written down by hand from unistd.h and the manuals ---

X86_64 = syscalls.arch("x86_64")
BY_HAND: Tuple[Tuple[str, int, Tuple[int, ...], int], ...] = (
    ("read", 0, (0, 0, 0), ALLOW),
    ("ptrace", 101, (16, 1, 0, 0), EPERM),
    ("reboot", 169, (0xFEE1DEAD,), EPERM),
    ("init_module", 175, (), EPERM),
    ("mount", 165, (), EPERM),
    ("unshare NEWUSER", 272, (0x10000000,), EPERM),
    ("unshare FILES", 272, (0x400,), ALLOW),
    ("unshare NEWTIME", 272, (0x80,), EPERM),
    ("process_vm_readv", 310, (), EPERM),
    ("bpf", 321, (), EPERM),
    ("userfaultfd", 323, (), EPERM),
    ("io_uring_setup", 425, (), EPERM),
    ("clone3", 435, (), ENOSYS),
    ("openat2", 437, (), ENOSYS),
    ("landlock_create_ruleset", 444, (), ALLOW),
    ("seccomp", 317, (), ALLOW),
    ("clone as fork", 56, (0x1200011,), ALLOW),
    ("clone as a thread", 56, (0x3D0F00,), ALLOW),
    ("clone NEWNS", 56, (0x20011,), EPERM),
    ("clone PARENT", 56, (0x8011,), EPERM),
    ("clone NEWPID, dirty", 56, (DIRTY | 0x20000011,), EPERM),
    ("socket AF_UNIX", 41, (1, 1, 0), EAFNOSUPPORT),
    ("socket AF_INET", 41, (2, 1, 0), ALLOW),
    ("socket AF_INET6, dirty", 41, (DIRTY | 10, 2, 0), ALLOW),
    ("socket AF_NETLINK route", 41, (16, 3, 0), ALLOW),
    ("socket AF_NETLINK audit", 41, (16, 3, 9), EAFNOSUPPORT),
    ("socket AF_NETLINK audit, dirty", 41, (16, 3, DIRTY | 9), EAFNOSUPPORT),
    ("socket AF_PACKET", 41, (17, 3, 0), EAFNOSUPPORT),
    ("socket AF_VSOCK", 41, (40, 1, 0), EAFNOSUPPORT),
    ("socketpair stream, flags", 53, (1, 0x80801, 0), ALLOW),
    ("socketpair datagram", 53, (1, 2, 0), EPERM),
    ("socketpair type 3", 53, (1, 3, 0), EPERM),
    ("socketpair seqpacket", 53, (1, 5, 0), ALLOW),
    ("ioctl TIOCSTI", 16, (0, 0x5412, 0), EPERM),
    ("ioctl TIOCSTI, dirty", 16, (0, DIRTY | 0x5412, 0), EPERM),
    ("ioctl TIOCGWINSZ", 16, (0, 0x5413, 0), ALLOW),
    ("ioctl TIOCLINUX", 16, (0, 0x541C, 0), EPERM),
    ("ioctl TIOCSETD", 16, (0, 0x5423, 0), EPERM),
    ("ioctl FS_IOC_SETFLAGS", 16, (0, 0x40086602, 0), EPERM),
    ("chmod 4755", 90, (0, 0o4755), EPERM),
    ("chmod 2755", 90, (0, 0o2755), EPERM),
    ("chmod 1777", 90, (0, 0o1777), ALLOW),
    ("fchmodat2 4755", 452, (0, 0, 0o4755, 0), EPERM),
    ("openat creating 4755", 257, (0, 0, 0o100, 0o4755), EPERM),
    ("openat of a temporary file 4755", 257, (0, 0, 0o20200002, 0o4755), EPERM),
    ("openat, mode unused", 257, (0, 0, 0, 0o4755), ALLOW),
    ("open creating 644", 2, (0, 0o101, 0o644), ALLOW),
    ("mknod 4644", 133, (0, 0o104644, 0), EPERM),
    ("prctl PR_SET_MM", 157, (35,), EPERM),
    ("prctl PR_SET_PTRACER", 157, (0x59616D61,), EPERM),
    ("prctl PR_SET_NAME", 157, (15,), ALLOW),
    ("personality question", 135, (0xFFFFFFFF,), ALLOW),
    ("personality ADDR_NO_RANDOMIZE", 135, (0x40000,), EPERM),
    ("prlimit64 own", 302, (0, 7), ALLOW),
    ("prlimit64 other", 302, (1, 7), EPERM),
    ("setpriority own", 141, (0, 0, 5), ALLOW),
    ("setpriority user", 141, (2, 0, 5), EPERM),
    ("setpriority other", 141, (0, 1, 5), EPERM),
    ("sched_setaffinity own", 203, (0, 8, 1), ALLOW),
    ("sched_setaffinity other", 203, (1, 8, 1), EPERM),
    ("sched_setattr other", 314, (1, 1, 0), EPERM),
    ("sched_getaffinity other", 204, (1, 8, 1), ALLOW),
    ("shmget", 29, (), EPERM),
    ("mq_open", 240, (), EPERM),
    ("keyctl", 250, (), EPERM),
    ("adjtimex", 159, (), EPERM),
    ("a number between", 400, (), ENOSYS),
)


@pytest.mark.parametrize("number, args, verdict", [row[1:] for row in BY_HAND], ids=[row[0] for row in BY_HAND])
def test_the_floor_as_the_manuals_have_it(number: int, args: Tuple[int, ...], verdict: int) -> None:
    assert answer(filters.filter_b(X86_64, FilterPlan()), X86_64, number, *args) == verdict


@each_arch
def test_a_denied_network_leaves_pairs_alone(arch: Arch) -> None:
    program = filters.filter_b(arch, PLANS["no network"])
    for family, kind, protocol in itertools.product(range(50), (1, 2, 3, 5), (0, 6, 262)):
        assert answer(program, arch, arch.numbers["socket"], family, kind, protocol) == EAFNOSUPPORT
    assert answer(program, arch, arch.numbers["socketpair"], 1, 1) == ALLOW
    assert answer(program, arch, arch.numbers["socketpair"], 1, 2) == EPERM


@each_arch
def test_denied_processes_leave_threads_and_exec_alone(arch: Arch) -> None:
    program = filters.filter_b(arch, PLANS["no new process"])
    call = {name: number for name, number in arch.numbers.items()}
    thread = 0x3D0F00  # what the C library passes for a thread
    assert answer(program, arch, call["clone"], thread) == ALLOW
    assert answer(program, arch, call["clone"], thread | 0x20000) == EPERM  # and a namespace with it
    assert answer(program, arch, call["clone"], thread & ~0x10000) == EPERM
    assert answer(program, arch, call["clone"], 17) == EPERM
    assert answer(program, arch, call["clone3"]) == ENOSYS
    assert answer(program, arch, call["execve"]) == ALLOW
    for name in ("fork", "vfork"):
        if name in call:
            assert answer(program, arch, call[name]) == EPERM


# linux/falloc.h: plain growth is bounded by the resource limit, and a hole takes no space; the rest may do otherwise.
FALLOCATE = {
    "grow": (0x00, False), "keep the size": (0x01, True), "punch a hole": (0x03, False), "half of that": (0x02, True),
    "zero": (0x10, True), "zero and keep the size": (0x11, True), "collapse": (0x08, True), "insert": (0x20, True),
    "unshare": (0x40, True), "what is not known yet": (0x80, True), "a hole and more": (0x13, True),
}  # fmt: skip
BOUNDED = FilterPlan(bounded_size=True)


@each_arch
@pytest.mark.parametrize("mode, refused", FALLOCATE.values(), ids=list(FALLOCATE))
def test_where_the_size_of_a_file_has_a_ceiling_no_space_is_taken_that_no_limit_counts(
    arch: Arch, mode: int, refused: bool
) -> None:
    number = arch.numbers["fallocate"]
    for high in (0, DIRTY):
        with_ceiling = answer(filters.filter_b(arch, BOUNDED), arch, number, 3, mode | high, 0, 1 << 30)
        assert with_ceiling == (0x50000 | errno.EOPNOTSUPP if refused else ALLOW)
        assert answer(filters.filter_b(arch, FilterPlan()), arch, number, 3, mode | high, 0, 1 << 30) == ALLOW
    others = FilterPlan(allowed_calls=("read",), bounded_size=True)
    assert answer(filters.filter_b(arch, others), arch, number, 3, mode, 0, 1) == EPERM  # it is not named


@each_arch
@pytest.mark.parametrize("request_number", [0x40305828, 0x4030582A, 0x40305839])  # FS_IOC_RESVSP(64), FS_IOC_ZERO_RANGE
def test_the_older_ways_of_taking_space_are_refused_with_it(arch: Arch, request_number: int) -> None:
    number = arch.numbers["ioctl"]
    for high in (0, DIRTY):
        assert answer(filters.filter_b(arch, BOUNDED), arch, number, 3, request_number | high, 0) == EPERM
        assert answer(filters.filter_b(arch, FilterPlan()), arch, number, 3, request_number | high, 0) == ALLOW
    assert answer(filters.filter_b(arch, BOUNDED), arch, number, 3, 0x4030582B, 0) == ALLOW  # FS_IOC_UNRESVSP64


@each_arch
def test_a_ceiling_of_sizes_opens_nothing_that_the_floor_refuses(arch: Arch) -> None:
    floor_alone, bounded = filters.filter_b(arch, FilterPlan()), filters.filter_b(arch, BOUNDED)
    for name, number in arch.numbers.items():
        for args in argument_lists(rule_of(name, FilterPlan()), name):
            without, with_ceiling = (answer(program, arch, number, *args) for program in (floor_alone, bounded))
            assert with_ceiling == without or (without == ALLOW and name in ("fallocate", "ioctl")), name


@each_arch
def test_a_named_call_is_not_opened_beyond_the_floor(arch: Arch) -> None:
    everything = filters.filter_b(arch, FilterPlan(allowed_calls=tuple(arch.numbers)))
    floor_alone = filters.filter_b(arch, FilterPlan())
    for name, number in arch.numbers.items():
        for args in argument_lists(rule_of(name, FilterPlan()), name):
            assert answer(everything, arch, number, *args) == answer(floor_alone, arch, number, *args), name


@each_arch
def test_with_named_calls_everything_else_is_refused(arch: Arch) -> None:
    program = filters.filter_b(arch, FilterPlan(allowed_calls=("read",)))
    for name in ("write", "openat", "mkdirat", "socket", "kill", "getdents64", "landlock_create_ruleset", "seccomp"):
        assert answer(program, arch, arch.numbers[name]) == EPERM
    assert answer(program, arch, arch.numbers["read"]) == ALLOW
    assert answer(program, arch, arch.numbers["execve"]) == ALLOW  # the loader's own
    assert answer(program, arch, arch.numbers["clone"], 17) == ALLOW
    assert answer(program, arch, arch.numbers["clone"], 0x10000011) == EPERM
    assert answer(program, arch, arch.numbers["ioctl"], 0, 0x5412) == EPERM
    assert answer(program, arch, arch.numbers["prlimit64"], 1) == EPERM


@each_arch
def test_calls_without_a_rule_are_answered_without_a_look_at_arguments(arch: Arch) -> None:
    # the kernel answers such numbers from a cache, as long as the program reaches its answer from the number alone
    program = filters.filter_b(arch, FilterPlan())
    for name in ("read", "write", "close", "mmap", "futex", "execve", "newfstatat", "fstatat64", "epoll_pwait"):
        if name in arch.numbers:
            loads = _argument_loads(program, arch, arch.numbers[name])
            assert loads == 0, name
    assert _argument_loads(program, arch, arch.numbers["ioctl"]) > 0


def _argument_loads(program: bytes, arch: Arch, number: int) -> int:
    """Return how often the way of this number through the program loads an argument."""
    machine = bpf_sim._Machine(number.to_bytes(4, "little") + arch.audit_arch.to_bytes(4, "little") + bytes(56))
    code, at, loads = bpf_sim.check(program), 0, 0
    while code[at].code not in (bpf_sim.RET_K, bpf_sim.RET_A):
        loads += code[at].code == bpf_sim.LD_ABS and code[at].k >= 16
        at += 1 + machine.step(code[at])
    return loads


@each_arch
def test_only_the_notified_calls_are_asked_about(arch: Arch) -> None:
    program = filters.filter_a(arch, ["connect", "fchmodat", "chmod", "no_such_call"])
    asked = {name for name, number in arch.numbers.items() if answer(program, arch, number) == NOTIFY}
    assert asked == {"connect", "fchmodat", "chmod"} & set(arch.numbers)
    assert {answer(program, arch, number) for number in arch.numbers.values()} == {NOTIFY, ALLOW}
    assert answer(program, arch, arch.newest + 1) == ALLOW  # the last filter answers
    assert answer(program, arch, arch.numbers["connect"], word=0x40000003 ^ 1) == KILL


def test_every_name_of_the_tables_is_a_call() -> None:
    tables = [*floor.REFUSED.values(), floor.ABSENT, tuple(floor.CHECKED), filters.STARTUP_BASELINE, SYSCALLS]
    assert [name for names in tables for name in names if not syscalls.known(name)] == []
    refused = [name for names in floor.REFUSED.values() for name in names]
    assert len(refused) == len(set(refused)) and not set(refused) & {*floor.ABSENT, *floor.CHECKED}


def test_nothing_that_a_policy_may_name_is_refused_by_the_floor() -> None:
    refused = {name for names in floor.REFUSED.values() for name in names}
    assert not refused & {*SYSCALLS, *filters.STARTUP_BASELINE}
    assert not set(floor.ABSENT) & {*SYSCALLS, *filters.STARTUP_BASELINE}


def test_the_description_names_every_group_and_every_call() -> None:
    text = "\n".join(floor.describe())
    for group, names in floor.REFUSED.items():
        assert f"{group}: {', '.join(names)}" in text
    assert all(name in text for name in (*floor.ABSENT, *floor.IOCTLS))
