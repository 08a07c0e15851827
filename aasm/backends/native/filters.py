# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From requirements to the two filters. Pure: compiled and tested for every architecture on any machine."""

from __future__ import annotations

import errno
from typing import Iterable, Mapping, NamedTuple

from ..._sys import bpf, syscalls
from ..._sys.syscalls import Arch
from . import floor

# What the loader and exec need before a program's first line, beyond the names a policy may state. With an
# allow-list, a program still needs the loader's own calls (read, openat, mmap ...) named by the policy.
STARTUP_BASELINE = (
    "access", "arch_prctl", "clone", "dup2", "dup3", "execve", "faccessat", "faccessat2", "fcntl", "futex", "getcwd",
    "getegid", "geteuid", "getgid", "getpgrp", "getpid", "getppid", "getsid", "gettid", "getuid", "ioctl", "lstat",
    "mprotect", "newfstatat", "pread64", "prlimit64", "readlink", "readlinkat", "riscv_flush_icache", "rseq",
    "rt_sigreturn", "set_robust_list", "set_tid_address", "setpgid", "sigaltstack", "stat", "statx", "umask", "vfork",
    "wait4",
)  # fmt: skip


# linux/falloc.h. Some ways of letting a file grow, or take space, ask for no resource limit. Of fallocate(2) are left:
# plain growth, which asks, and punching holes (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE); of the older ioctls none
# (FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE).
PUNCH_HOLE = 0x3
EOPNOTSUPP = bpf.ERRNO(errno.EOPNOTSUPP)
BOUNDED_SIZE = floor.allow_only((floor.equals(1, 0),), (floor.equals(1, PUNCH_HOLE),), otherwise=EOPNOTSUPP)
RESERVING = (0x40305828, 0x4030582A, 0x40305839)
BOUNDED_IOCTL = floor.refuse_values(1, (*floor.IOCTLS.values(), *RESERVING))


class FilterPlan(NamedTuple):
    """What the second filter has to hold beyond the floor."""

    no_network: bool = False
    no_new_process: bool = False
    allowed_calls: tuple[str, ...] | None = None  # None: everything but the floor's refusals
    bounded_size: bool = False  # files grow only in ways that a resource limit bounds


def filter_b(arch: Arch, plan: FilterPlan) -> bytes:
    """Return the program of the last filter."""
    return bpf.assemble(last(arch, plan))


def last(arch: Arch, plan: FilterPlan) -> bpf.Filter:
    """Return the last filter: the floor, the stated denials, and the allow-list where one is stated."""
    rules = {**_unassigned(arch), **_numbered(arch, _rules(plan))}
    known = bpf.ALLOW
    if plan.allowed_calls is not None:
        rules, known = _only(arch, rules, plan.allowed_calls), floor.EPERM
    return bpf.Filter(arch, rules, known=known, newer=floor.ENOSYS, foreign=bpf.KILL_PROCESS, x32=floor.ENOSYS)


def filter_a(arch: Arch, notified: Iterable[str]) -> bytes:
    """Return the program of the first filter: the named calls are asked of the supervisor, all others pass it.

    Nothing in this release needs it; the path through the launcher is tested with it.
    """
    rules = _numbered(arch, {name: bpf.USER_NOTIF for name in notified})
    return bpf.assemble(
        bpf.Filter(arch, rules, known=bpf.ALLOW, newer=bpf.ALLOW, foreign=bpf.KILL_PROCESS, x32=bpf.ALLOW)
    )


def _rules(plan: FilterPlan) -> dict[str, bpf.Rule]:
    rules: dict[str, bpf.Rule] = {name: floor.EPERM for names in floor.REFUSED.values() for name in names}
    rules.update({name: floor.ENOSYS for name in floor.ABSENT})
    rules.update(floor.CHECKED)
    rules["clone"] = floor.clone_rule(plan.no_new_process)
    rules["socket"] = floor.NO_NETWORK if plan.no_network else floor.OPEN_NETWORK
    if plan.bounded_size:
        rules.update({"fallocate": BOUNDED_SIZE, "ioctl": BOUNDED_IOCTL})
    if plan.no_new_process:
        rules.update({"fork": floor.EPERM, "vfork": floor.EPERM})
    return rules


def _numbered(arch: Arch, rules: Mapping[str, bpf.Rule]) -> dict[int, bpf.Rule]:
    # a name that this architecture does not have cannot be called on it
    return {arch.numbers[name]: rule for name, rule in rules.items() if name in arch.numbers}


def _unassigned(arch: Arch) -> dict[int, bpf.Rule]:
    # a later kernel may give such a number to a call that this table knows nothing of
    return {number: floor.ENOSYS for number in syscalls.gaps(arch)}


def _only(arch: Arch, rules: Mapping[int, bpf.Rule], allowed: Iterable[str]) -> dict[int, bpf.Rule]:
    permitted = [arch.numbers[name] for name in (*allowed, *STARTUP_BASELINE) if name in arch.numbers]
    kept: dict[int, bpf.Rule] = {number: bpf.ALLOW for number in permitted}
    kept.update({number: rule for number, rule in rules.items() if number in kept or _absent(rule)})
    return kept


def _absent(rule: bpf.Rule) -> bool:
    return rule == floor.ENOSYS
