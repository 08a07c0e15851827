# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Read-only questions to the kernel, answered once and handed on as a value: `HostFacts`.

Everything above decides from that value alone, so it can be tested for every kernel on any machine. Nothing here
changes this process, decides anything or raises to the user: what is neither a yes nor a clean no becomes a fact that
says what was met. No version number stands in for a measurement: every Landlock right is asked for by itself, since
some enterprise kernels report a version and refuse its rights.

The calls come in as `Kernel`, so that importing this module does not import ctypes.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple

from ..errors import HostError, system_text
from . import bpf, landlock, syscalls

# What stands in LandlockFacts.state.
AVAILABLE = "available"
NOT_BUILT = "not_built"
DISABLED_AT_BOOT = "disabled_at_boot"
FILTERED = "filtered"
UNMEASURED = "unmeasured"  # the kernel answered something that is no answer; `detail` says what
UNSUPPORTED_HOST = "unsupported_host"  # not asked at all: no Linux, or an architecture without a table

_ABSENT = "not built into this kernel"
_ABSENT_OR_FILTERED = "not built into this kernel, or refused by a filter around this process"

SECCOMP_MODE_DISABLED = 0  # <linux/seccomp.h>


class Kernel(Protocol):
    """What the questions need of the module `boundary`; a stand-in for it may answer as any kernel does."""

    PR_GET_NO_NEW_PRIVS: int
    SECCOMP_SET_MODE_FILTER: int
    SECCOMP_GET_ACTION_AVAIL: int
    SECCOMP_FILTER_FLAG_NEW_LISTENER: int
    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: int

    def syscall(self, number: int, /, *args: Any) -> int: ...

    def prctl(self, option: int, /) -> int: ...

    def landlock_abi(self) -> int: ...

    def landlock_errata(self) -> int: ...

    def landlock_create_ruleset(self, fs: int, net: int, scoped: int, /) -> int: ...

    def seccomp_action_available(self, action: int, /) -> bool: ...


class LandlockFacts(NamedTuple):
    """What Landlock can do here. The masks are probed bit by bit; `flags` follow from `abi`, since asking restricts."""

    abi: int  # the version in use: the highest one all of whose rights are there; 0 for none
    errata: int  # the mask of fixed errata; 0 where the kernel cannot tell (before 6.15)
    reported: int  # the version that the kernel states
    state: str
    detail: str  # why it is missing, or what was odd; empty when there is nothing to say
    fs: int
    net: int
    scope: int
    flags: int


class SeccompFacts(NamedTuple):
    """Which answers a filter can give here (SECCOMP_GET_ACTION_AVAIL, Linux 4.14)."""

    filter: bool
    errno: bool
    kill_process: bool
    user_notif: bool
    wait_killable: bool  # SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19
    mode: Optional[int]  # the mode in force around this process, 2 for a filter; None when unmeasured
    detail: str


class CapabilityFacts(NamedTuple):
    """The five sets of this process as masks, capabilities(7)."""

    inheritable: int
    permitted: int
    effective: int
    bounding: int
    ambient: int


class LimitFacts(NamedTuple):
    """The hard limits of this process, getrlimit(2); -1 is unlimited. No launch can have more than these."""

    open_files: int = -1
    file_size: int = -1


class HostFacts(NamedTuple):
    """Everything that a plan depends on and that only the host knows."""

    arch: str  # as uname(2) gives it
    kernel_release: str
    landlock: LandlockFacts
    seccomp: SeccompFacts
    no_new_privs: bool  # the kernel knows the attribute, so that it can be set
    euid: int
    capabilities: Optional[CapabilityFacts]  # None when unmeasured
    yama_scope: Optional[int]  # None where there is no Yama, or when unmeasured
    unmeasured: Tuple[str, ...]  # what could not be asked, and why, one sentence each
    limits: LimitFacts = LimitFacts()


def host_facts(kernel: Optional[Kernel] = None) -> HostFacts:
    """Ask this host and return the facts, within a millisecond once ctypes is loaded. Changes and raises nothing."""
    host = os.uname()
    try:
        machine = syscalls.host_arch()
    except HostError as problem:
        return _unsupported(host.machine, host.release, str(problem))
    kernel = kernel or _boundary()
    notes: List[str] = []
    status = _status(notes)
    mode = _number(status.get("Seccomp", ""), 10)
    return HostFacts(
        arch=machine.name,
        kernel_release=host.release,
        landlock=_landlock(kernel, mode),
        seccomp=_seccomp(kernel, machine.numbers["seccomp"], mode),
        no_new_privs=_no_new_privs(kernel, notes),
        euid=os.geteuid(),
        capabilities=_capabilities(status, notes),
        yama_scope=_yama_scope(notes),
        unmeasured=tuple(notes),
        limits=_limits(),
    )


def _boundary() -> Kernel:
    from . import boundary  # here, since it loads ctypes and the C library, which only a Linux host has as expected

    return boundary


def _unsupported(machine: str, release: str, why: str) -> HostFacts:
    absent = LandlockFacts(0, 0, 0, UNSUPPORTED_HOST, why, 0, 0, 0, 0)
    silent = SeccompFacts(False, False, False, False, False, None, why)
    return HostFacts(machine, release, absent, silent, False, os.geteuid(), None, None, (why,))


def _said(problem: OSError) -> str:
    """Return an errno with its name: "Operation not permitted (EPERM)"."""
    return f"{system_text(problem)} ({errno.errorcode.get(problem.errno or 0, problem.errno)})"


# --- Landlock -------------------------------------------------------------------------------------------------------


def _landlock(kernel: Kernel, mode: Optional[int]) -> LandlockFacts:
    try:
        reported = kernel.landlock_abi()
    except OSError as problem:
        state, detail = _why_absent(problem, mode)
        return LandlockFacts(0, 0, 0, state, detail, 0, 0, 0, 0)
    odd: Dict[str, None] = {}  # an ordered set: one line for each kind of surprise, not one for each right
    fs = _probe("fs", lambda bit: kernel.landlock_create_ruleset(bit, 0, 0), odd)
    net = _probe("net", lambda bit: kernel.landlock_create_ruleset(0, bit, 0), odd)
    scope = _probe("scope", lambda bit: kernel.landlock_create_ruleset(0, 0, bit), odd)
    errata = _errata(kernel, odd)
    abi = landlock.abi_in_use(reported, fs, net, scope)
    if abi < min(reported, landlock.NEWEST_ABI):
        odd[f"the kernel reports ABI {reported} and refuses rights of ABI {abi + 1}"] = None
    state = AVAILABLE if abi else UNMEASURED
    flags = landlock.rights_known(abi).flags
    return LandlockFacts(abi, errata, reported, state, "; ".join(odd), fs, net, scope, flags)


def _why_absent(problem: OSError, mode: Optional[int]) -> Tuple[str, str]:
    """Return (state, detail) for the errno of the version question, landlock_create_ruleset(2)."""
    if problem.errno == errno.ENOSYS:
        return NOT_BUILT, _ABSENT if mode == SECCOMP_MODE_DISABLED else _ABSENT_OR_FILTERED
    if problem.errno == errno.EOPNOTSUPP:
        return DISABLED_AT_BOOT, "built but switched off at boot (lsm= does not list landlock)"
    if problem.errno in (errno.EPERM, errno.EACCES):
        return FILTERED, f"refused by a filter around this process: {_said(problem)}"
    return UNMEASURED, f"the kernel's answer is not understood: {_said(problem)}"


def _probe(family: str, create: Callable[[int], int], odd: Dict[str, None]) -> int:
    """Return the mask of the rights of `family` with which a ruleset can be created, each asked for by itself.

    A clean no is EINVAL (unknown bit), E2BIG (the kernel's structure is shorter) or ENOMSG (so it sees no right).
    """
    mask = 0
    for _, bit in landlock.bits(family):
        try:
            os.close(create(bit))
        except OSError as problem:
            if problem.errno not in (errno.EINVAL, errno.E2BIG, errno.ENOMSG):
                odd[f"asking for {family} rights: {_said(problem)}"] = None
        else:
            mask |= bit
    return mask


def _errata(kernel: Kernel, odd: Dict[str, None]) -> int:
    try:
        return kernel.landlock_errata()
    except OSError as problem:
        if problem.errno != errno.EINVAL:
            odd[f"asking for errata: {_said(problem)}"] = None
        return 0


# --- seccomp --------------------------------------------------------------------------------------------------------


def _seccomp(kernel: Kernel, number: int, mode: Optional[int]) -> SeccompFacts:
    usable = kernel.seccomp_action_available(bpf.SECCOMP_RET_ALLOW)
    return SeccompFacts(
        filter=usable,
        errno=kernel.seccomp_action_available(bpf.SECCOMP_RET_ERRNO),
        kill_process=kernel.seccomp_action_available(bpf.SECCOMP_RET_KILL_PROCESS),
        user_notif=kernel.seccomp_action_available(bpf.SECCOMP_RET_USER_NOTIF),
        wait_killable=_wait_killable(kernel, number),
        mode=mode,
        detail="" if usable else _why_no_filter(kernel, number),
    )


def _why_no_filter(kernel: Kernel, number: int) -> str:
    """Ask with a null pointer: EFAULT would mean that the question itself works."""
    try:
        kernel.syscall(number, kernel.SECCOMP_GET_ACTION_AVAIL, 0, 0)
    except OSError as problem:
        if problem.errno == errno.ENOSYS:
            return _ABSENT_OR_FILTERED
        if problem.errno in (errno.EPERM, errno.EACCES):
            return f"refused by a filter around this process: {_said(problem)}"
        return f"the kernel has no filter mode: {_said(problem)}"
    return "the kernel's answer is not understood: success for a null pointer"


def _wait_killable(kernel: Kernel, number: int) -> bool:
    """Ask with no program at all: EFAULT says that the flags are known, seccomp(2), and nothing can be installed."""
    flags = kernel.SECCOMP_FILTER_FLAG_NEW_LISTENER | kernel.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
    try:
        kernel.syscall(number, kernel.SECCOMP_SET_MODE_FILTER, flags, 0)
    except OSError as problem:
        return problem.errno == errno.EFAULT
    return False


# --- the process ----------------------------------------------------------------------------------------------------


def _no_new_privs(kernel: Kernel, notes: List[str]) -> bool:
    try:
        kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS)
    except OSError as problem:
        notes.append(f"no_new_privs cannot be asked for: {_said(problem)}")
        return False
    return True


def _limits() -> LimitFacts:
    hard = [resource.getrlimit(number)[1] for number in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)]
    return LimitFacts(*hard)


def _read(path: str) -> str:
    with open(path, "rb") as stream:
        return stream.read().decode("ascii", "replace")  # this way without a codec, which a Python may lack


def _status(notes: List[str]) -> Dict[str, str]:
    """Return the fields of /proc/self/status, proc(5); nothing, and a note, where /proc is missing."""
    try:
        text = _read("/proc/self/status")
    except OSError as problem:
        notes.append(f"/proc/self/status cannot be read: {_said(problem)}")
        return {}
    rows = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in rows}


def _number(text: str, base: int) -> Optional[int]:
    try:
        return int(text, base)
    except ValueError:
        return None


def _capabilities(status: Dict[str, str], notes: List[str]) -> Optional[CapabilityFacts]:
    sets = [_number(status.get(name, ""), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
    found = [value for value in sets if value is not None]
    if len(found) < len(sets):
        notes.append("the capability sets are unmeasured: /proc/self/status does not give them")
        return None
    return CapabilityFacts(*found)


def _yama_scope(notes: List[str]) -> Optional[int]:
    path = "/proc/sys/kernel/yama/ptrace_scope"
    try:
        scope = _number(_read(path), 10)
    except FileNotFoundError:
        if not os.path.isdir("/proc/sys/kernel"):  # not a kernel without Yama: nobody can say
            notes.append(f"{path} cannot be read: /proc/sys is not there")
        return None
    except OSError as problem:
        notes.append(f"{path} cannot be read: {_said(problem)}")
        return None
    if scope is None:
        notes.append(f"{path} does not hold a number")
    return scope
