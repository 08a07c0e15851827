# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of system calls that `syscalls.allow` may name, spelled `@files` and so on. One table; decides nothing.

Each group is what everyday programs and agents were seen to call for one purpose, with the older and newer calls that
other libraries and kernels use for the same. Names that one architecture lacks are skipped there. No group holds a call
that a boundary answers by itself whatever the policy says: a test compares them.
"""

from __future__ import annotations

from typing import Dict, Mapping, Tuple

from .._sys import syscalls

MARK = "@"  # no system call begins with it
PROGRAM = MARK + "program"  # all of the other groups: what everyday programs and agents need

_PARTS: Mapping[str, Tuple[str, ...]] = {
    # contents, names and metadata of files, and being told of their changes
    "@files": (
        "access", "cachestat", "chdir", "chmod", "chown", "close", "copy_file_range", "creat", "faccessat",
        "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
        "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync",
        "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "inotify_add_watch", "inotify_init",
        "inotify_init1", "inotify_rm_watch", "lchown", "lgetxattr", "link", "linkat", "listxattr", "llistxattr",
        "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open",
        "openat", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
        "readlinkat", "readv", "removexattr", "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr",
        "splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee",
        "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "write", "writev",
    ),
    # descriptors of every kind, and waiting for them
    "@descriptors": (
        "close_range", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
        "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "fcntl", "ioctl", "memfd_create", "pipe", "pipe2", "poll",
        "ppoll", "pselect6", "select", "signalfd", "signalfd4", "timerfd_create", "timerfd_gettime", "timerfd_settime",
    ),
    "@memory": (
        "brk", "madvise", "map_shadow_stack", "mincore", "mlock", "mmap", "mprotect", "mremap", "mseal", "msync",
        "munlock", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "riscv_flush_icache",
    ),
    # processes and threads: starting, waiting, scheduling, ending
    "@processes": (
        "arch_prctl", "capget", "clone", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue",
        "futex_wait", "futex_waitv", "futex_wake", "getcpu", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
        "getrlimit", "getrusage", "getsid", "gettid", "kill", "membarrier", "pidfd_open", "prctl", "prlimit64",
        "restart_syscall", "riscv_hwprobe", "rseq", "sched_get_priority_max", "sched_get_priority_min",
        "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_setaffinity", "sched_yield",
        "set_robust_list", "set_tid_address", "setpgid", "setpriority", "setsid", "tgkill", "tkill", "vfork", "wait4",
        "waitid",
    ),
    # who one is, and what the host is
    "@identity": (
        "getegid", "geteuid", "getgid", "getgroups", "getrandom", "getresgid", "getresuid", "getuid", "setresgid",
        "setresuid", "sysinfo", "uname",
    ),
    "@signals": (
        "pause", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
        "sigaltstack",
    ),
    # clocks and timers; none that sets the clock of the host
    "@time": (
        "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep",
        "setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
        "times",
    ),
    # sockets; which of them can be made is decided by the policy's network and by the floor
    "@network": (
        "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
        "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socket", "socketpair",
    ),
}  # fmt: skip


def _with_program(parts: Mapping[str, Tuple[str, ...]]) -> Dict[str, Tuple[str, ...]]:
    together = {name for names in parts.values() for name in names}
    return {**parts, PROGRAM: tuple(sorted(together))}


# Group -> its names, sorted.
GROUPS: Mapping[str, Tuple[str, ...]] = _with_program(_PARTS)


def expand(name: str) -> Tuple[str, ...]:
    """Return the names that `name` stands for: those of a group, or a plain name alone, whether a call has it or not.

    Raises KeyError for a group that is not in GROUPS.
    """
    return GROUPS[name] if name.startswith(MARK) else (name,)


def known(name: str) -> bool:
    """Return whether `name` is a group, or a call that any supported architecture has."""
    return name in GROUPS or syscalls.known(name)


def spellings() -> Tuple[str, ...]:
    """Return everything that is `known`: the groups, then every call by its name."""
    calls = {name for machine in syscalls.SUPPORTED for name in syscalls.arch(machine).numbers}
    return (*GROUPS, *sorted(calls))
