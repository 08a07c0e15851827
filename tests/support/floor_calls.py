# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every call that the floor refuses, in a form that does nothing and that the kernel itself answers differently.

The arguments are wrong on purpose (no pointer, no descriptor, no such command): without the floor a call ends with
the errno of that mistake, even for root with every capability; with it, with the floor's answer. `PRIVILEGED` lists
the calls whose natural answer to an unprivileged user may already be EPERM, so that only root tells the two apart.
"""

from __future__ import annotations

import json
from typing import Callable, Dict, List, Mapping, Tuple

NONE = -1  # no descriptor, no object
BAD = 1  # no address
NOBODY = 0x7FFFFFF0  # no process: above every pid_max

Args = Tuple[int, ...]

OUTRIGHT: Dict[str, Args] = {
    # kernel modules
    "create_module": (),
    "init_module": (0, 0, 0),
    "finit_module": (NONE, 0, 0xFFFF),
    "delete_module": (0, 0),
    "query_module": (),
    # another kernel: a wrong magic number, more segments than there may be, flags that do not exist
    "kexec_load": (0, 0xFFFF, 0, 0xFFFF),
    "kexec_file_load": (NONE, NONE, 0, 0, 0xFFFF),
    "reboot": (0, 0, 0, 0),
    # swap
    "swapon": (0, 0),
    "swapoff": (0,),
    # mounts
    "mount": (0, 0, 0, 0, 0),
    "umount2": (0, 0),
    "pivot_root": (0, 0),
    "chroot": (0,),
    "fsopen": (0, 0xFFFF),
    "fsconfig": (NONE, 0xFFFF, 0, 0, 0),
    "fsmount": (NONE, 0xFFFF, 0),
    "fspick": (NONE, 0, 0xFFFF),
    "open_tree": (NONE, 0, 0),
    "open_tree_attr": (NONE, 0, 0, 0, 0),
    "move_mount": (NONE, 0, NONE, 0, 0xFFFF0000),
    "mount_setattr": (NONE, 0, 0, 0, 0),
    # namespaces
    "setns": (NONE, 0),
    # kernel programs and tracing
    "bpf": (0xFFFF, 0, 0),
    "perf_event_open": (0, 0, NONE, NONE, 0),
    "userfaultfd": (0x40000001,),
    "lookup_dcookie": (0, 0, 0),
    "fanotify_init": (0x40000200, 0),
    # io_uring
    "io_uring_setup": (0, 0),
    "io_uring_enter": (NONE, 0, 0, 0, 0, 0),
    "io_uring_register": (NONE, 0, 0, 0),
    # keyrings
    "keyctl": (0xFFFF, 0, 0, 0, 0),
    "add_key": (0, 0, 0, 0, 0),
    "request_key": (0, 0, 0, 0),
    # other processes
    "ptrace": (0xFFFF, NOBODY, 0, 0),
    "process_vm_readv": (0, 0, 0, 0, 0, 0),
    "process_vm_writev": (0, 0, 0, 0, 0, 0),
    "process_madvise": (NONE, 0, 0, 0, 0),
    "process_mrelease": (NONE, 0),
    "pidfd_getfd": (NONE, NONE, 0),
    "kcmp": (NOBODY, NOBODY, 0, 0, 0),
    "move_pages": (NOBODY, 0, 0, 0, 0, 0),
    "migrate_pages": (NOBODY, 0, 0, 0),
    # files by handle
    "open_by_handle_at": (NONE, 0, 0),
    # host administration
    "quotactl": (0, 0, 0, 0),
    "quotactl_fd": (NONE, 0, 0, 0),
    "acct": (BAD,),
    "syslog": (0xFFFF, 0, 0),
    "vhangup": (),
    "sethostname": (0, NONE),
    "setdomainname": (0, NONE),
    "settimeofday": (BAD, 0),
    "clock_settime": (0xFFFF, 0),
    "clock_adjtime": (0xFFFF, 0),
    "adjtimex": (0,),
    "nfsservctl": (),
    "sysfs": (0xFFFF, 0, 0),
    "_sysctl": (0,),
    "ustat": (0, 0),
    "uselib": (0,),
    # hardware ports
    "iopl": (9,),
    "ioperm": (0xFFFFFF, 0xFFFFFF, 1),
    "modify_ldt": (0xFFFF, 0, 0),
    # System V and POSIX message channels
    "shmget": (0, 0, 0),
    "shmat": (NONE, 0, 0),
    "shmctl": (NONE, 0, 0),
    "shmdt": (BAD,),
    "semget": (0, NONE, 0),
    "semop": (NONE, 0, 1),
    "semctl": (NONE, 0, 0, 0),
    "semtimedop": (NONE, 0, 1, 0),
    "msgget": (0x7E577E57, 0),
    "msgsnd": (NONE, 0, 0, 0),
    "msgrcv": (NONE, 0, 0, 0, 0),
    "msgctl": (NONE, 0, 0),
    "mq_open": (0, 0, 0, 0),
    "mq_unlink": (0,),
    "mq_timedsend": (NONE, 0, 0, 0, 0),
    "mq_timedreceive": (NONE, 0, 0, 0, 0),
    "mq_notify": (NONE, 0),
    "mq_getsetattr": (NONE, 0, 0),
}

ABSENT: Dict[str, Args] = {
    "clone3": (0, 0),
    "openat2": (NONE, 0, 0, 0),
    "setxattrat": (NONE, 0, 0xFFFFFF, 0, 0, 0),
    "removexattrat": (NONE, 0, 0xFFFFFF, 0),
    "file_setattr": (NONE, 0, 0, 0, 0xFFFFFF),
}

PRIVILEGED = frozenset(
    (
        "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff",
        "mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree_attr",
        "move_mount", "mount_setattr", "bpf", "userfaultfd", "fanotify_init", "open_by_handle_at", "quotactl",
        "quotactl_fd", "acct", "syslog", "vhangup", "sethostname", "setdomainname", "settimeofday", "clock_settime",
        "clock_adjtime", "adjtimex", "iopl", "ioperm",
    )
)  # fmt: skip

DIRTY = 0x5A5A << 32  # the kernel does not look at the high half of an int: a comparison must not either


class Row:
    """One call: its arguments, whether the floor refuses it, and (by default) what refusal means."""

    def __init__(self, name: str, *args: int, refused: bool = True, answer: str = "EPERM") -> None:
        self.name, self.args, self.refused, self.answer = name, args, refused, answer


SIGHAND = 0x800  # without CLONE_VM every clone(2) with this bit is EINVAL, so no form below makes a process
NEW = {
    "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000, "NEWIPC": 0x8000000, "NEWUSER": 0x10000000,
    "NEWPID": 0x20000000, "NEWNET": 0x40000000, "PARENT": 0x8000,
}  # fmt: skip
UNKNOWN = 1  # a bit that unshare(2) does not know: EINVAL
TERMINAL = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSETD": 0x5423, "TIOCCONS": 0x541D}
FILE_FLAGS = {
    "FS_IOC_SETFLAGS": 0x40086602,
    "FS_IOC32_SETFLAGS": 0x40046602,
    "FS_IOC_FSSETXATTR": 0x401C5820,
    "FS_IOC_ENABLE_VERITY": 0x40806685,
}
CREATE, TMPFILE = 0o101, 0o20200002  # O_CREAT | O_WRONLY; O_TMPFILE | O_RDWR
SETUID, SETGID, PLAIN = 0o4755, 0o2755, 0o1755


def _rows() -> Dict[str, Row]:
    rows = {"clone harmless": Row("clone", SIGHAND, 0, 0, 0, 0, refused=False)}
    for flag, bit in NEW.items():
        rows[f"clone {flag}"] = Row("clone", SIGHAND | bit, 0, 0, 0, 0)
        rows[f"clone {flag}, dirty"] = Row("clone", DIRTY | SIGHAND | bit, 0, 0, 0, 0)
        if flag != "PARENT":
            rows[f"unshare {flag}"] = Row("unshare", DIRTY | UNKNOWN | bit)
    rows["unshare NEWTIME"] = Row("unshare", UNKNOWN | 0x80)
    rows["unshare harmless"] = Row("unshare", UNKNOWN, refused=False)
    for name, request in {**TERMINAL, **FILE_FLAGS}.items():
        rows[f"ioctl {name}"] = Row("ioctl", NONE, request, 0)
        rows[f"ioctl {name}, dirty"] = Row("ioctl", NONE, DIRTY | request, 0)
    rows["ioctl TIOCGWINSZ"] = Row("ioctl", NONE, 0x5413, 0, refused=False)
    rows["prctl PR_SET_MM"] = Row("prctl", 35, 0, 0, 0, 1)
    rows["prctl PR_SET_MM, dirty"] = Row("prctl", DIRTY | 35, 0, 0, 0, 1)
    rows["prctl PR_SET_PTRACER"] = Row("prctl", 0x59616D61, 0, 0, 0, 0)
    rows["prctl PR_GET_NAME"] = Row("prctl", 16, 0, 0, 0, 0, refused=False)
    return {**rows, **_set_id(), **_processes(), **_sockets()}


def _set_id() -> Dict[str, Row]:
    forms: Dict[str, Callable[[int], Args]] = {
        "chmod": lambda mode: (0, mode), "fchmod": lambda mode: (NONE, mode), "fchmodat": lambda mode: (NONE, 0, mode),
        "fchmodat2": lambda mode: (NONE, 0, mode, 0), "creat": lambda mode: (0, mode),
        "mknod": lambda mode: (0, mode, 0), "mknodat": lambda mode: (NONE, 0, mode, 0),
        "open": lambda mode: (0, CREATE, mode), "openat": lambda mode: (NONE, 0, CREATE, mode),
        "openat O_TMPFILE": lambda mode: (NONE, 0, TMPFILE, mode),
        "openat, dirty": lambda mode: (NONE, 0, DIRTY | CREATE, DIRTY | mode),
    }  # fmt: skip
    rows = {}
    for form, args in forms.items():
        name = form.replace(",", "").split()[0]
        rows[f"{form} set-user-id"] = Row(name, *args(SETUID))
        rows[f"{form} set-group-id"] = Row(name, *args(SETGID))
        rows[f"{form} plain"] = Row(name, *args(PLAIN), refused=False)
    # without O_CREAT the register of the mode holds anything
    rows["openat of what exists"] = Row("openat", NONE, 0, 0, SETUID, refused=False)
    return rows


def _processes() -> Dict[str, Row]:
    return {
        "prlimit64 other": Row("prlimit64", NOBODY, 7, 0, 0),
        "prlimit64 own": Row("prlimit64", 0, 0xFFFF, 0, 0, refused=False),
        "setpriority group": Row("setpriority", 1, NOBODY, 0),
        "setpriority user": Row("setpriority", 2, NOBODY, 0),
        "setpriority user, dirty": Row("setpriority", DIRTY | 2, NOBODY, 0),
        "setpriority other": Row("setpriority", 0, NOBODY, 0),
        "setpriority own": Row("setpriority", 0, 0, 0, refused=False),
        "ioprio_set group": Row("ioprio_set", 2, NOBODY, 0x4004),
        "ioprio_set user": Row("ioprio_set", 3, NOBODY, 0x4004),
        "ioprio_set other": Row("ioprio_set", 1, NOBODY, 0x4004),
        "ioprio_set own": Row("ioprio_set", 1, 0, 0xFFFFFFF, refused=False),
        "sched_setaffinity other": Row("sched_setaffinity", NOBODY, 8, 0),
        "sched_setaffinity own": Row("sched_setaffinity", 0, 8, 0, refused=False),
        "sched_setscheduler other": Row("sched_setscheduler", NOBODY, 0, 0),
        "sched_setscheduler own": Row("sched_setscheduler", 0, 0, 0, refused=False),
        "sched_setparam other": Row("sched_setparam", NOBODY, 0),
        "sched_setparam own": Row("sched_setparam", 0, 0, refused=False),
        "sched_setattr other": Row("sched_setattr", NOBODY, 0, 0),
        "sched_setattr own": Row("sched_setattr", 0, 0, 0, refused=False),
        "personality": Row("personality", 0x0040000),
        "personality, dirty": Row("personality", DIRTY | 0x0400000),
        "personality question": Row("personality", 0xFFFFFFFF, refused=False),
    }


def _sockets() -> Dict[str, Row]:
    family = "EAFNOSUPPORT"
    return {
        "socket AF_UNIX": Row("socket", 1, 1, 0, answer=family),
        "socket AF_UNIX, dirty": Row("socket", DIRTY | 1, 1, 0, answer=family),
        "socketpair datagram": Row("socketpair", 1, 2, 0, 0),
        "socketpair type 3": Row("socketpair", 1, 3, 0, 0),
        "socketpair datagram, flags": Row("socketpair", DIRTY | 1, DIRTY | 0x80802, 0, 0),
        "socketpair AF_TIPC": Row("socketpair", 30, 1, 0, 0),
        "socketpair stream": Row("socketpair", 1, 0x80801, 0, 0, refused=False),
        "socketpair seqpacket": Row("socketpair", 1, 5, 0, 0, refused=False),
    }


CHECKED = _rows()


def rows(numbers: Mapping[str, int]) -> str:
    """Return the whole table for a child: the label, the number to call, the arguments, as JSON."""
    table = {name: (name, args) for name, args in {**OUTRIGHT, **ABSENT}.items()}
    table.update({label: (row.name, row.args) for label, row in CHECKED.items()})
    return json.dumps([(label, numbers[name], args) for label, (name, args) in table.items() if name in numbers])


def answers(numbers: Mapping[str, int]) -> Dict[str, str]:
    """Return what the floor answers to each entry that it refuses."""
    expected = {name: "EPERM" for name in OUTRIGHT if name in numbers}
    expected.update({name: "ENOSYS" for name in ABSENT if name in numbers})
    expected.update({label: row.answer for label, row in CHECKED.items() if row.refused and row.name in numbers})
    return expected


def siblings(numbers: Mapping[str, int]) -> List[str]:
    """Return the entries that the floor lets through: the same calls with harmless arguments."""
    return [label for label, row in CHECKED.items() if not row.refused and row.name in numbers]
