# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The floor: what every boundary of this backend refuses, whatever the policy says. Pure tables.

The floor is reported as the backend's own and never as something that a policy asked for. Answers: EPERM; ENOSYS
where libraries must fall back to an older call; EAFNOSUPPORT for socket families.
"""

from __future__ import annotations

import errno
from typing import Mapping

from ..._sys.bpf import ALLOW, ERRNO, Checked, Clause, Condition, Rule

EPERM = ERRNO(errno.EPERM)
ENOSYS = ERRNO(errno.ENOSYS)
EAFNOSUPPORT = ERRNO(errno.EAFNOSUPPORT)

WORD = 0xFFFFFFFF

# Refused outright. Group -> (names, why); the groups are what a report lists.
REFUSED: Mapping[str, tuple[str, ...]] = {
    "kernel modules": ("create_module", "init_module", "finit_module", "delete_module", "query_module"),
    "another kernel": ("kexec_load", "kexec_file_load", "reboot"),
    "swap": ("swapon", "swapoff"),
    "mounts": (
        "mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree",
        "open_tree_attr", "move_mount", "mount_setattr",
    ),
    "namespaces": ("setns",),
    "kernel programs and tracing": ("bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "fanotify_init"),
    "io_uring": ("io_uring_setup", "io_uring_enter", "io_uring_register"),
    "keyrings": ("keyctl", "add_key", "request_key"),
    "other processes": (
        "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd",
        "kcmp", "move_pages", "migrate_pages",
    ),
    "files by handle": ("open_by_handle_at",),
    "host administration": (
        "quotactl", "quotactl_fd", "acct", "syslog", "vhangup", "sethostname", "setdomainname", "settimeofday",
        "clock_settime", "clock_adjtime", "adjtimex", "nfsservctl", "sysfs", "_sysctl", "ustat", "uselib",
    ),
    "hardware ports": ("iopl", "ioperm", "modify_ldt"),
    "System V and POSIX message channels": (
        "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd",
        "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
    ),
}  # fmt: skip

# Answered as if the kernel did not have them: their flags, modes or paths lie behind pointers that a filter
# cannot read, and every library has an older call to fall back to.
ABSENT = ("clone3", "openat2", "setxattrat", "removexattrat", "file_setattr")

# Whatever a policy allows, none of these gets through.
REFUSED_CALLS = frozenset((*(name for names in REFUSED.values() for name in names), *ABSENT))

# linux/sched.h
CLONE_THREAD = 0x00010000
CLONE_NAMESPACES = 0x7E020000  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
CLONE_NEWTIME = 0x00000080  # in clone(2) these bits are the exit signal, so only unshare(2) knows it
CLONE_PARENT = 0x00008000

SET_ID_BITS = 0o6000  # S_ISUID | S_ISGID, linux/stat.h
O_CREAT, O_TMPFILE = 0o100, 0o20000000  # asm-generic/fcntl.h; O_TMPFILE without O_DIRECTORY

# asm-generic/ioctls.h, linux/fs.h
IOCTLS = {
    "TIOCSTI": 0x5412,  # pushes input to whoever reads the terminal next
    "TIOCLINUX": 0x541C,
    "TIOCSETD": 0x5423,
    "TIOCCONS": 0x541D,
    "FS_IOC_SETFLAGS": 0x40086602,  # works through a read-only descriptor of any file of the same user
    "FS_IOC32_SETFLAGS": 0x40046602,
    "FS_IOC_FSSETXATTR": 0x401C5820,
    "FS_IOC_ENABLE_VERITY": 0x40806685,  # linux/fsverity.h: makes such a file unchangeable for good
}

# linux/prctl.h: PR_SET_MM rewrites what /proc says about the process, PR_SET_PTRACER lets a stranger trace it
PR_SET_MM, PR_SET_PTRACER = 35, 0x59616D61

PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, WORD)  # PER_LINUX, PER_LINUX32, UNAME26, both, the question
PRIO_PROCESS, IOPRIO_WHO_PROCESS = 0, 1  # linux/resource.h, linux/ioprio.h

# linux/socket.h, linux/net.h, linux/netlink.h
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NETLINK_ROUTE = 0
SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPE_MASK = 1, 5, 0xF


def equals(arg: int, value: int) -> Condition:
    """Return the condition that the low word of argument `arg` is `value`."""
    return Condition(arg, WORD, value)


def none_of(arg: int, bits: int) -> Condition:
    """Return the condition that argument `arg` has none of `bits`."""
    return Condition(arg, bits, 0)


def refuse_values(arg: int, values: tuple[int, ...]) -> Checked:
    """Return the rule that refuses the listed values of an argument and allows all others."""
    return Checked(tuple(Clause((equals(arg, value),), EPERM) for value in values), ALLOW)


def allow_only(*conditions: tuple[Condition, ...], otherwise: int = EPERM) -> Checked:
    """Return the rule that allows a call when all conditions of one of the tuples hold."""
    return Checked(tuple(Clause(group, ALLOW) for group in conditions), otherwise)


_NO_SET_ID = {  # the mode is argument 1 or 2; a set-id file would act with this user's rights for others
    "chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2,
}  # fmt: skip


_SCHEDULING = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")


def _open_rule(flags: int, mode: int) -> Checked:
    # the mode counts only when a file is made; without O_CREAT its register holds anything
    return allow_only((none_of(flags, O_CREAT | O_TMPFILE),), (none_of(mode, SET_ID_BITS),))


def clone_rule(no_new_process: bool) -> Rule:
    """Return the rule for clone(2): no namespaces, no CLONE_PARENT; threads only when `no_new_process`."""
    harmless = none_of(0, CLONE_NAMESPACES | CLONE_PARENT)
    return allow_only((harmless, Condition(0, CLONE_THREAD, CLONE_THREAD)) if no_new_process else (harmless,))


# Calls that are refused for some arguments only.
CHECKED: Mapping[str, Rule] = {
    **{name: allow_only((none_of(arg, SET_ID_BITS),)) for name, arg in _NO_SET_ID.items()},
    "open": _open_rule(1, 2),
    "openat": _open_rule(2, 3),
    "unshare": allow_only((none_of(0, CLONE_NAMESPACES | CLONE_NEWTIME),)),
    "ioctl": refuse_values(1, tuple(IOCTLS.values())),
    "prctl": refuse_values(0, (PR_SET_MM, PR_SET_PTRACER)),
    "personality": allow_only(*((equals(0, value),) for value in PERSONALITIES)),
    "prlimit64": allow_only((equals(0, 0),)),  # limits of outsiders, the supervisor among them
    # priorities and processors of outsiders: a number may be anybody's, and only 0 is surely one's own
    "setpriority": allow_only((equals(0, PRIO_PROCESS), equals(1, 0))),
    "ioprio_set": allow_only((equals(0, IOPRIO_WHO_PROCESS), equals(1, 0))),
    **{name: allow_only((equals(0, 0),)) for name in _SCHEDULING},
    "socketpair": allow_only(
        (equals(0, AF_UNIX), Condition(1, SOCK_TYPE_MASK, SOCK_STREAM)),
        (equals(0, AF_UNIX), Condition(1, SOCK_TYPE_MASK, SOCK_SEQPACKET)),
    ),  # a datagram pair can send to any path, and type 3 silently becomes one
}

# With the network left open by the policy: the two internet families, and routing questions to the kernel.
# Never AF_UNIX: a path socket leads to a helper outside that Landlock does not see.
OPEN_NETWORK = allow_only(
    (equals(0, AF_INET),),
    (equals(0, AF_INET6),),
    (equals(0, AF_NETLINK), equals(2, NETLINK_ROUTE)),
    otherwise=EAFNOSUPPORT,
)
NO_NETWORK: Rule = EAFNOSUPPORT


def describe() -> tuple[str, ...]:
    """Return the floor as the lines that a report shows."""
    return (
        *(f"{group}: {', '.join(names)}" for group, names in REFUSED.items()),
        f"answered as absent: {', '.join(ABSENT)}",
        "namespaces through clone and unshare, CLONE_PARENT",
        f"ioctl: {', '.join(IOCTLS)}",
        "set-id bits on files",
        "socket families other than AF_INET, AF_INET6 and AF_NETLINK routing; datagram socket pairs",
        "limits, priority, scheduling and affinity by process number, one's own included; only 0 is allowed",
        "personalities, PR_SET_MM, PR_SET_PTRACER",
        "signals and abstract unix sockets beyond the boundary",
        "foreign and x32 system call numbers, numbers newer than the table",
    )
