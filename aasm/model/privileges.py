# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel's capabilities by name (capabilities(7), <linux/capability.h>), and which of them nobody may be given.

A table and two functions; what a process holds is asked elsewhere.
"""

from __future__ import annotations

from typing import Iterable, Mapping

# In the order of their numbers, from 0.
NAMES = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID",
    "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN",
    "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
)  # fmt: skip

_KERNEL = "it acts on the kernel of the host, which no boundary divides"
_PROCESSES = "it reaches into processes outside the boundary"
_UNDOES = "with it a program could take a control of its own boundary away"

# With these no promise of a boundary could be kept, so naming one is an error.
NEVER: Mapping[str, str] = {
    "CAP_SYS_MODULE": _KERNEL,
    "CAP_SYS_RAWIO": _KERNEL,
    "CAP_SYS_BOOT": _KERNEL,
    "CAP_SYS_TIME": _KERNEL,
    "CAP_SYS_ADMIN": _KERNEL,
    "CAP_SYSLOG": _KERNEL,
    "CAP_BPF": _KERNEL,
    "CAP_PERFMON": _KERNEL,
    "CAP_MKNOD": "a device node reaches past every rule about paths",
    "CAP_SYS_PTRACE": _PROCESSES,
    "CAP_CHECKPOINT_RESTORE": _PROCESSES,
    "CAP_SYS_RESOURCE": _UNDOES,
    "CAP_SETPCAP": _UNDOES,
    "CAP_MAC_OVERRIDE": _UNDOES,
    "CAP_MAC_ADMIN": _UNDOES,
    "CAP_AUDIT_CONTROL": _KERNEL,
    "CAP_SETFCAP": "a file that it marks gives rights to whoever executes it outside",
    "CAP_NET_ADMIN": "it changes the network of the whole host",
}


def mask(names: Iterable[str]) -> int:
    """Return the set of these capabilities, which must be known, as a bit mask."""
    return sum(1 << NAMES.index(name) for name in dict.fromkeys(names))


def missing(names: Iterable[str], held: int) -> tuple[str, ...]:
    """Return those of the names that are not in the mask `held`."""
    return tuple(name for name in names if not held >> NAMES.index(name) & 1)
