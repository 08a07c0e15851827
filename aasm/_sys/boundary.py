# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the launcher needs from the kernel and nothing more: thin calls, and the status page.

Every failure is an OSError. No policy, no logging, no path is judged here.
The supervisor reads the same status page, so its layout and the list of stages live here, once.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct

TYPE_CHECKING = False  # `typing` is not imported here: it costs more than all the rest
if TYPE_CHECKING:
    from typing import Any

# linux/landlock.h; the numbers are the same on every architecture (asm-generic/unistd.h)
NR_LANDLOCK_CREATE_RULESET = 444
NR_LANDLOCK_ADD_RULE = 445
NR_LANDLOCK_RESTRICT_SELF = 446
NR_CLOSE_RANGE = 436
LANDLOCK_CREATE_RULESET_VERSION = 1 << 0
LANDLOCK_CREATE_RULESET_ERRATA = 1 << 1
LANDLOCK_RULE_PATH_BENEATH = 1

# asm/unistd.h per machine: the one number here that differs and that prctl(2) cannot replace
NR_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}

# linux/seccomp.h
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_GET_ACTION_AVAIL = 2
SECCOMP_FILTER_FLAG_NEW_LISTENER = 1 << 3
SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV = 1 << 5

# linux/prctl.h
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

CLOSE_RANGE_CLOEXEC = 1 << 2  # linux/close_range.h
LINUX_CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h
CAP_SETPCAP = 8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *args: Any) -> int:
    """Make the system call `number`; integers travel as 64-bit words, ctypes objects as they are."""
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))


def prctl(option: int, arg2: int = 0, arg3: int = 0, arg4: int = 0, arg5: int = 0) -> int:
    """prctl(2); the unused arguments are zero, as several options demand."""
    return _checked(_libc.prctl(option, arg2, arg3, arg4, arg5))


def set_name(name: bytes) -> None:
    """Set the thread's name (PR_SET_NAME): at most 15 bytes, replaced by the kernel when the program is executed."""
    buffer = ctypes.create_string_buffer(name)
    prctl(PR_SET_NAME, ctypes.addressof(buffer))


# --- Landlock (linux/landlock.h) ---------------------------------------------------------------


def landlock_abi() -> int:
    """Return the ABI version that the kernel reports; ENOSYS not built, EOPNOTSUPP off at boot."""
    return syscall(NR_LANDLOCK_CREATE_RULESET, 0, 0, LANDLOCK_CREATE_RULESET_VERSION)


def landlock_errata() -> int:
    """Return the mask of fixed errata; EINVAL on kernels that cannot tell."""
    return syscall(NR_LANDLOCK_CREATE_RULESET, 0, 0, LANDLOCK_CREATE_RULESET_ERRATA)


def landlock_create_ruleset(fs: int, net: int, scoped: int) -> int:
    """Return the descriptor (close-on-exec) of a ruleset that handles the given rights."""
    attr = struct.pack("<QQQ", fs, net, scoped)
    size = 8 if not net and not scoped else 16 if not scoped else 24  # older kernels know shorter ones
    return syscall(NR_LANDLOCK_CREATE_RULESET, ctypes.c_char_p(attr), size, 0)


def landlock_add_path(ruleset: int, access: int, path_fd: int) -> None:
    """Grant `access` beneath the object that `path_fd` (an O_PATH descriptor) stands for."""
    attr = struct.pack("<Qi", access, path_fd)  # struct landlock_path_beneath_attr is packed
    syscall(NR_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, ctypes.c_char_p(attr), 0)


def landlock_restrict_self(ruleset: int, flags: int) -> None:
    """Bind this thread, and everything it starts, to the ruleset for good."""
    syscall(NR_LANDLOCK_RESTRICT_SELF, ruleset, flags)


# --- seccomp (seccomp(2)) ----------------------------------------------------------------------


class _SockFprog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def seccomp_install(program: bytes, flags: int) -> int:
    """Install the filter `program` (an array of struct sock_filter) on this thread.

    Returns the listener descriptor (close-on-exec) when `flags` ask for one, else 0.
    """
    prog = _SockFprog(len(program) // 8, program)
    return syscall(NR_SECCOMP[os.uname().machine], SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(prog))


def seccomp_action_available(action: int) -> bool:
    """Say whether the kernel knows the filter action; any refusal of the question is a no."""
    word = ctypes.c_uint32(action)
    try:
        syscall(NR_SECCOMP[os.uname().machine], SECCOMP_GET_ACTION_AVAIL, 0, ctypes.byref(word))
    except (OSError, KeyError):
        return False
    return True


# --- capabilities (capabilities(7), capset(2)) --------------------------------------------------


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


_CapData = ctypes.c_uint32 * 6  # effective, permitted, inheritable of the low half, then of the high half


def capability_sets() -> tuple[int, int, int]:
    """Return this thread's effective, permitted and inheritable sets as 64-bit masks."""
    header, data = _CapHeader(LINUX_CAPABILITY_VERSION_3, 0), _CapData()
    _checked(_libc.capget(ctypes.byref(header), ctypes.byref(data)))
    return data[0] | data[3] << 32, data[1] | data[4] << 32, data[2] | data[5] << 32


def keep_capabilities(keep: int) -> None:
    """Drop every capability that is not in the mask `keep`, in all five sets; verify the three that exec uses."""
    _drop_bounding(keep)
    held = capability_sets()[1] & keep
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    low, high = held & 0xFFFFFFFF, held >> 32
    header, data = _CapHeader(LINUX_CAPABILITY_VERSION_3, 0), _CapData(low, low, low, high, high, high)
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref(data)))
    if capability_sets() != (held, held, held):
        raise OSError(errno.EPERM, "capabilities are still held after capset")


def _drop_bounding(keep: int) -> None:
    # Without CAP_SETPCAP the bounding set cannot be changed, nor can anything be gained through it:
    # no_new_privs keeps exec from adding capabilities.
    for number in range(64):
        try:
            if not keep >> number & 1 and prctl(PR_CAPBSET_READ, number):
                prctl(PR_CAPBSET_DROP, number)
        except OSError as problem:
            if problem.errno == errno.EINVAL:  # past the last capability that this kernel has
                return
            if problem.errno != errno.EPERM or capability_sets()[0] >> CAP_SETPCAP & 1:
                raise


# --- descriptors and exec -----------------------------------------------------------------------


def close_on_exec_from(first: int) -> None:
    """Mark every open descriptor from `first` up close-on-exec (close_range(2), Linux 5.11)."""
    try:
        syscall(NR_CLOSE_RANGE, first, 0xFFFFFFFF, CLOSE_RANGE_CLOEXEC)
    except OSError as problem:
        if problem.errno not in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
            raise
        _close_on_exec_each(first)


def _close_on_exec_each(first: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= first:
            try:
                os.set_inheritable(int(name), False)
            except OSError as problem:
                if problem.errno != errno.EBADF:  # the listing's own descriptor is gone by now
                    raise


def string_array(items: list[bytes]) -> Any:
    """Return a NULL-terminated array of C strings, made before the filters are in force."""
    return (ctypes.c_char_p * (len(items) + 1))(*items, None)


def execve(path: bytes, argv: Any, environment: Any) -> int:
    """execve(2) with arrays from `string_array`; returns only to say the errno of its failure."""
    _libc.execve(path, argv, environment)
    return ctypes.get_errno()


# --- the status page ----------------------------------------------------------------------------

PAGE_SIZE = 4096
SEALED = 0x5EA1ED01

# What the launcher does, in this order; the number on the page is the index of the step it entered last.
STAGES = (
    "start",
    "order",
    "descriptors",
    "directory",
    "capabilities",
    "no_new_privs",
    "controls",
    "landlock",
    "file_canary",
    "limits",
    "signals",
    "filter_a",
    "handover",
    "filter_b",
    "filter_canary",
    "exec",
)

CANARIES = ("file_read", "file_write", "open_files", "file_size", "call")
CANARY_RESULTS = ("not_applicable", "inconclusive", "held", "breached")
NOT_APPLICABLE, INCONCLUSIVE, HELD, BREACHED = range(4)

_STAGE, _FAILED, _ERRNO, _SEALED, _EXEC_ERRNO, _INDEX, _CANARY = 0, 4, 8, 12, 16, 20, 32


class StatusPage:
    """One page of shared memory: reporting on it needs no system call, so it works inside every filter."""

    def __init__(self, descriptor: int) -> None:
        """Map the page behind `descriptor`; -1 makes a private one, for a launcher that is run by hand."""
        self._map = mmap.mmap(descriptor, PAGE_SIZE)

    def _put(self, offset: int, value: int) -> None:
        struct.pack_into("<I", self._map, offset, value)

    def _get(self, offset: int) -> int:
        return int(struct.unpack_from("<I", self._map, offset)[0])

    def enter(self, stage: int) -> None:
        """Note that the step with this index has begun."""
        self._put(_STAGE, stage)

    def fail(self, number: int) -> None:
        """Note that the current step failed with this errno."""
        self._put(_ERRNO, number)
        self._put(_FAILED, 1)

    def at(self, index: int) -> None:
        """Note which rule of the order is being worked on, so that a failure can name it."""
        self._put(_INDEX, index)

    def canary(self, name: str, result: int) -> None:
        """Note the result of one canary."""
        self._put(_CANARY + 4 * CANARIES.index(name), result)

    def seal(self) -> None:
        """Note that the whole boundary stands. Nothing but exec may come after this."""
        self._put(_SEALED, SEALED)

    def exec_failed(self, number: int) -> None:
        """Note the errno with which the program could not be executed."""
        self._put(_EXEC_ERRNO, number)

    def read(self) -> tuple[str, int, int, bool, int, dict[str, str]]:
        """Return (stage, errno of a failure or 0, index of the rule, sealed, errno of exec or 0, canaries)."""
        stage = self._get(_STAGE)
        results = {
            name: CANARY_RESULTS[min(self._get(_CANARY + 4 * slot), BREACHED)] for slot, name in enumerate(CANARIES)
        }
        failure = self._get(_ERRNO) if self._get(_FAILED) else 0
        name = STAGES[stage] if stage < len(STAGES) else "start"
        return name, failure, self._get(_INDEX), self._get(_SEALED) == SEALED, self._get(_EXEC_ERRNO), results
